"""The checker of histories finds each kind of fault, and finds none where there is none."""

from __future__ import annotations

import random

import pytest
from tests.support.cluster.histories import REFUSED, UNKNOWN, Held, Read, Stored, Write, faults, pauses

STORED = {"s": ("", "a", "b", "c")}
"""Version 1 is the session's beginning, by nobody."""


def write(token: str, version: int, at: float, **more: object) -> Write:
    return Write("w", "s", token, at, at + 1, version=version, **more)  # type: ignore[arg-type]


WHOLE = [write("a", 2, 0), write("b", 3, 2), write("c", 4, 4)]


def kinds(*operations: Write | Read | Held, stored: Stored = STORED) -> list[str]:
    return [fault.kind for fault in faults(operations, stored)]


def test_a_history_of_a_store_that_keeps_everything_has_no_fault() -> None:
    reads = [Read("r", "s", 0, 5, ("", "a")), Read("r", "s", 5.5, 6, ("", "a", "b", "c"))]
    holds = [Held("x", "s", 0, 1, 1), Held("y", "s", 1, 2, 2)]
    assert faults([*WHOLE, *reads, *holds], STORED) == []


def test_a_write_that_was_acknowledged_and_is_not_there_is_lost() -> None:
    assert kinds(*WHOLE, write("d", 5, 6)) == ["lost write"]


def test_a_write_that_is_there_twice_is_doubled() -> None:
    assert kinds(*WHOLE, stored={"s": ("", "a", "b", "c", "b")}) == ["doubled write"]


def test_a_write_at_another_version_than_its_client_was_told_has_moved() -> None:
    moved = [write("a", 3, 0), write("b", 2, 0.5), write("c", 4, 4)]
    assert kinds(*moved) == ["moved write", "moved write"]


def test_a_write_of_nobody_is_a_fault() -> None:
    assert kinds(*WHOLE[:2]) == ["unknown write"]


def test_a_write_that_was_refused_and_is_there_is_a_fault() -> None:
    assert kinds(*WHOLE[:2], write("c", 0, 4, outcome=REFUSED)) == ["refused write"]


@pytest.mark.parametrize("token", ["c", "never"])
def test_a_write_of_unknown_outcome_may_be_there_or_not(token: str) -> None:
    stored = {"s": ("", "a", "b", "c") if token == "c" else ("", "a", "b")}
    assert kinds(*WHOLE[:2], write(token, 0, 4, outcome=UNKNOWN), stored=stored) == []


def test_a_write_of_unknown_outcome_must_not_be_there_twice() -> None:
    stored = {"s": ("", "a", "b", "c", "c")}
    assert kinds(*WHOLE[:2], write("c", 0, 4, outcome=UNKNOWN), stored=stored) == ["doubled write"]


def test_a_read_of_less_than_was_seen_before_goes_back() -> None:
    reads = [Read("r", "s", 3.5, 4, ("", "a", "b")), Read("q", "s", 4.5, 5, ("", "a"))]
    assert kinds(*WHOLE, *reads) == ["version going back"]


def test_reads_at_the_same_time_may_see_different_versions() -> None:
    reads = [Read("r", "s", 2, 4, ("", "a", "b")), Read("q", "s", 2, 4.5, ("", "a"))]
    assert kinds(*WHOLE, *reads) == []


def test_a_write_that_is_not_behind_what_was_seen_goes_back() -> None:
    late = [write("a", 2, 6), write("b", 3, 2), write("c", 4, 4)]
    assert kinds(*late) == ["version going back"]


def test_a_read_of_tokens_that_were_never_there_is_a_state_that_never_was() -> None:
    assert kinds(*WHOLE, Read("r", "s", 5, 6, ("", "a", "x", "c"))) == ["state that never was"]
    assert kinds(*WHOLE, Read("r", "s", 5, 6, ("", "a", "b", "c", "d"))) == ["state that never was"]


def test_two_who_hold_at_the_same_time_are_two_holders() -> None:
    assert kinds(*WHOLE, Held("x", "s", 0, 2, 1), Held("y", "s", 1, 3, 2)) == ["two holders"]


def test_a_fence_that_comes_again_is_a_fault() -> None:
    assert kinds(*WHOLE, Held("x", "s", 0, 1, 2), Held("y", "s", 1, 2, 2)) == ["fence going back"]


def test_of_many_made_histories_each_with_one_fault_every_one_is_found() -> None:
    """A store of one writer a version, from which one write is taken, doubled or put elsewhere."""
    for seed in range(200):
        drawn = random.Random(seed)
        tokens = [f"t{n}" for n in range(drawn.randint(3, 40))]
        writes = [Write(f"w{n % 5}", "s", token, n, n + 0.9, version=n + 1) for n, token in enumerate(tokens)]
        reads = [Read("r", "s", n + 0.91, n + 0.95, tuple(tokens[: n + 1])) for n in range(0, len(tokens), 3)]
        assert faults([*writes, *reads], {"s": tokens}) == []
        place = drawn.randrange(len(tokens))
        broken = drawn.choice([
            tokens[:place] + tokens[place + 1 :], [*tokens, tokens[place]],
            [*tokens[:place], "other", *tokens[place + 1 :]],
        ])  # fmt: skip
        assert faults([*writes, *reads], {"s": broken}), f"seed {seed}"


def test_pauses_are_from_the_moment_to_the_first_acknowledged_write_of_each_client() -> None:
    writes = [Write("a", "s", "1", 0, 1), Write("a", "s", "2", 4, 7), Write("b", "s", "3", 4, 6, UNKNOWN)]
    assert pauses(writes, 5.0) == {"a": 2.0}
