"""Items and questions that were named and not there: what was probably meant."""

from __future__ import annotations

import time

import pytest

from segue import Segue
from segue.core.sessions import commands as do
from segue.core.sessions.command import Command, Refusal
from segue.core.sessions.near_miss import CANDIDATES_MAX, DONE_MAX, OPEN_MAX, NearMiss, candidates, closest
from segue.core.sessions.state import SessionState
from segue.errors import MisspeltItem

PLAN = ["user model", "auth middleware", "port part B of the billing module", "OAuth"]


@pytest.fixture
def state(seg: Segue) -> SessionState:
    session = seg.start("Refactor auth", items=PLAN)
    session.ask("Who owns the OAuth app?")
    return session.state


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("usr model", [1]), ("User Modle", [1]), ("auth midleware", [2]), ("middleware", [2]),
        ("the user model", [1]), ("billing module", [3]), ("port part b of billing modul", [3]),
        ("aouth", [4]),
        ("3", [3]), (" 2 ", [2]), ("#1=no key", [1]), ("# 2", [2]), ("#4 OAuth", [4]), ("#2.", []),
        ("port part C of the billing module", []), ("user model 2", [1]), ("write the docs", []), ("9", []),
        ("#9 is another issue", []), ("x", []), ("…", []),
    ],
)  # fmt: skip
def test_a_name_is_near_to_an_item_by_its_letters_its_words_or_its_number(
    state: SessionState, name: str, numbers: list[int]
) -> None:
    assert [one.number for one in candidates(state, name)] == numbers


@pytest.mark.parametrize(
    ("name", "other", "near"),
    [
        ("step 1", "step 2", False), ("part A", "part B", False), ("step", "step 2", True),
        ("fix #12", "fix #13", False), ("fix issue #12", "fix isue #12", True),
        ("v1.2 release", "v1.3 release", False),
    ],
)  # fmt: skip
def test_numbers_and_single_letters_tell_items_apart(seg: Segue, name: str, other: str, near: bool) -> None:
    assert bool(candidates(seg.start("g", items=[other]).state, name)) is near


@pytest.mark.parametrize(("text", "close"), [("abcdefghxx", True), ("abcdefgxxx", False)])
def test_texts_are_close_if_four_fifths_of_their_letters_are_the_same(
    seg: Segue, text: str, close: bool
) -> None:
    assert bool(candidates(seg.start("g", items=["abcdefghij"]).state, text)) is close


def test_open_items_come_before_finished_ones_and_few_are_named(seg: Segue) -> None:
    session = seg.start("g", items=[f"{letters} parser" for letters in ("aa", "bb", "cc", "dd", "ee", "ff")])
    session.done("aa parser")
    found = candidates(session.state, "parser")
    assert len(found) == CANDIDATES_MAX and "aa parser" not in [one.item for one in found]
    session.done("bb parser", "cc parser", "dd parser", "ee parser", "ff parser")
    assert {one.status for one in candidates(session.state, "parser")} == {"done"}


@pytest.mark.parametrize(
    "command", [do.Done("usr model"), do.Begin("usr model"), do.Block("usr model"), do.Drop("usr model")]
)
def test_a_misspelt_item_is_refused_with_the_candidates_unless_it_is_said_to_be_new(
    state: SessionState, command: do.Done | do.Begin | do.Block | do.Drop
) -> None:
    refused = do.decide(state, command)
    assert isinstance(refused, Refusal) and refused.code == "misspelt_item"
    assert refused.facts["candidates"] == [{"number": 1, "item": "user model", "status": "next"}]
    taken = do.decide(state, type(command)(item="usr model", new=True))
    assert not isinstance(taken, Refusal) and len(taken) == 1


@pytest.mark.parametrize(
    "command",
    [do.Add("usr model"), do.Done("User  Model"), do.Done("#1"), do.Begin("write the docs"), do.Drop("7")],
)
def test_what_is_there_plainly_new_or_added_is_taken(state: SessionState, command: Command) -> None:
    assert not isinstance(do.decide(state, command), Refusal)


def test_an_item_that_the_same_batch_added_is_no_misspelt_one(seg: Segue) -> None:
    session = seg.start("g", items=["grammar"])
    saved = session.checkpoint(add="grammer", done="grammer")
    assert saved.events == 2 and saved.new == ()


def test_the_library_raises_with_the_candidates_and_says_what_is_new(seg: Segue) -> None:
    session = seg.start("g", items=["grammar", "docs"])
    with pytest.raises(MisspeltItem) as raised:
        session.done("grammer")
    assert raised.value.facts()["item"] == "grammer" and "#1 'grammar'" in raised.value.message
    assert session.status().done == [] and session.done("docs").new == ()
    assert session.done("grammer", new=True).new == ("grammer",)
    assert session.checkpoint(begin="release", drop="licence").new == ("licence", "release")
    assert session.begin("release").new == ()


def test_a_goal_that_is_replaced_is_said(seg: Segue) -> None:
    session = seg.start("Refactor auth")
    assert session.describe(goal="JWT").replaced_goal == "Refactor auth"
    assert session.describe(goal="JWT").replaced_goal == "" == session.note("x").replaced_goal


def test_naming_an_unplanned_item_takes_no_longer_in_a_long_plan(seg: Segue) -> None:
    session = seg.start("g", items=[f"write chapter {n} of the {n % 7} book" for n in range(OPEN_MAX + 500)])
    session.done(*(f"#{n}" for n in range(1, DONE_MAX + 100)))
    state, start = session.state, time.perf_counter()
    assert candidates(state, "an item that nobody planned") == []
    assert time.perf_counter() - start < 0.5


@pytest.mark.parametrize(("name", "number"), [("usr model", 1), ("2", 2), ("write the docs", 0), ("9", 0)])
def test_an_added_item_that_is_close_to_one_is_remarked(state: SessionState, name: str, number: int) -> None:
    found = closest(name, state.items.flat())
    assert (found.number if found else 0) == number


def test_a_question_that_nobody_asked_is_remarked_and_one_that_was_asked_is_not(state: SessionState) -> None:
    asked = state.questions.flat()
    near = closest("Who owns the OAuth ap?", asked, question=True)
    assert near == NearMiss("Who owns the OAuth ap?", 1, 1, "Who owns the OAuth app?", True)
    assert closest("Why?", asked, question=True) == NearMiss("Why?", 1, question=True)
    assert closest("who owns the  oauth app?", asked, question=True) is None
