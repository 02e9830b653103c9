"""What a run used is counted by day and model, each response once, in bounded space."""

from __future__ import annotations

import pytest

from segue.core.runs.digest import encode, fold
from segue.core.runs.steps import Compact, Model, Step, Usage
from segue.core.usage.counted_responses import (
    HEADS_MAX,
    MODELS_MAX,
    RECENT_MAX,
    RESPONSES_MAX,
    ROWS_MAX,
    RunUsage,
    copy_ids,
    without_copies,
)

DAY = 86_400
AT = 20_000 * DAY + 100.0


def used(*steps: Step) -> RunUsage:
    return fold(steps).usage


def rows(usage: RunUsage) -> list[tuple[int, str, int, int]]:
    """Day, model, responses and all tokens of each row."""
    return [
        (row.day, usage.models[row.model], row.responses,
         row.input + row.cache_read + row.cache_write + row.output)
        for row in usage.rows
    ]  # fmt: skip


def test_tokens_are_counted_by_the_day_in_utc_and_by_the_model_that_answered() -> None:
    usage = used(
        Model(AT, "opus"), Usage(AT, "a", 110, 5, input=10, cache_read=80, cache_write=20),
        Usage(AT + DAY - 101, "b", 1, 1, input=1), Usage(AT + DAY - 100, "c", 1, 1, input=1),
        Model(AT + DAY, "haiku"), Usage(AT + DAY, "d", 7, 2, input=7),
        Usage(AT + DAY, "e", 9, 1, input=9, model="opus"),
    )  # fmt: skip
    assert rows(usage) == [
        (20_000, "opus", 2, 117), (20_001, "opus", 2, 12), (20_001, "haiku", 1, 9),
    ]  # fmt: skip
    assert (usage.rows[0].input, usage.rows[0].cache_read, usage.rows[0].cache_write) == (11, 80, 20)


def test_of_a_response_that_is_told_several_times_the_highest_numbers_count() -> None:
    digest = fold([
        Usage(AT, "a", 100, 1, input=100), Usage(AT + 1, "b", 120, 4, input=120),
        Usage(AT + 2, "a", 100, 30, input=100), Usage(AT + 3, "a", 100, 30, input=100),
    ])  # fmt: skip
    assert rows(digest.usage) == [(20_000, "", 2, 254)]
    assert digest.output == 34


def test_a_history_that_a_transcript_repeats_counts_once() -> None:
    steps = [Usage(AT + n, f"r{n}", 10, 1, input=10) for n in range(96)]
    assert rows(used(*steps, *steps)) == rows(used(*steps)) == [(20_000, "", 96, 1056)]


def test_a_response_without_a_key_counts_each_time() -> None:
    assert rows(used(*[Usage(AT, "", 10, 1, input=10)] * 3)) == [(20_000, "", 3, 33)]


def test_what_only_fills_the_window_is_no_response() -> None:
    usage = used(Usage(AT, "a", 150_000, window=200_000))
    assert rows(usage) == [(20_000, "", 0, 0)]
    assert (usage.rows[0].context, usage.rows[0].window) == (150_000, 200_000)


def test_the_highest_fullness_of_a_day_is_kept_with_the_window_of_that_time() -> None:
    [row] = used(
        Usage(AT, "a", 50_000, 1, window=200_000, input=1), Usage(AT, "b", 180_000, 1, input=1),
        Usage(AT, "c", 20_000, 1, window=400_000, input=1),
    ).rows  # fmt: skip
    assert (row.context, row.window) == (180_000, 200_000)


def test_long_prompts_and_costs_that_the_agent_said_are_counted_apart() -> None:
    usage = used(
        Usage(AT, "a", 1, 1, input=1), Usage(AT, "b", 1, 1, input=100, cache_read=200_000),
        Usage(AT, "c", 1, 1, input=300_000), Usage(AT, "d", 1, 1, input=1, cost=0.5),
    )  # fmt: skip
    assert [(row.size, row.is_cost_said, row.cost) for row in usage.rows] == [
        (0, False, 0), (1, False, 0), (2, False, 0), (0, True, 0.5),
    ]  # fmt: skip


def test_a_cost_that_is_said_later_moves_the_response() -> None:
    usage = used(Usage(AT, "a", 9, 1, input=9), Usage(AT, "a", 9, 1, input=9, cost=0.25))
    assert [(row.is_cost_said, row.responses, row.cost) for row in usage.rows] == [
        (False, 0, 0),
        (True, 1, 0.25),
    ]


def test_days_long_gone_are_added_up_without_their_date_and_lose_no_token() -> None:
    days = ROWS_MAX + 50
    usage = used(Model(AT, "opus"), *(Usage(AT + n * DAY, f"r{n}", 10, 1, input=10) for n in range(days)))
    assert len(usage.rows) == ROWS_MAX
    assert sum(row.input for row in usage.rows) == days * 10
    [gone] = [row for row in usage.rows if not row.day]
    assert usage.models[gone.model] == "opus" and gone.responses == 51
    assert max(row.day for row in usage.rows) == 20_000 + days - 1


def test_a_transcript_of_endless_models_and_responses_stays_small() -> None:
    steps = [Usage(AT + n * DAY, f"r{n}", 10, 1, input=10, model=f"m{n}") for n in range(RESPONSES_MAX + 500)]
    digest = fold(steps)
    usage = digest.usage
    assert len(usage.models) <= MODELS_MAX and len(usage.rows) <= ROWS_MAX
    assert len(usage.responses) == RESPONSES_MAX and len(usage.recent) == RECENT_MAX
    assert sum(row.input for row in usage.rows) == 10 * len(steps)
    assert len(encode(digest)) < 250_000


@pytest.mark.parametrize("tokens", [-5, 1 << 80])
def test_numbers_that_are_no_tokens_do_no_harm(tokens: int) -> None:
    [row] = used(Usage(AT, "a", 10, 1, input=tokens)).rows
    assert 0 <= row.input <= 1 << 40


def test_a_fork_has_only_what_came_after_the_copy() -> None:
    first = [Usage(AT + n, f"r{n}", 10, 1, input=10, cache_read=5) for n in range(40)]
    own = [Usage(AT + 100, "own", 7, 2, input=7)]
    lead, fork = used(*first), used(*first[:33], *own)
    assert fork.heads[0] == lead.heads[0]
    assert rows(without_copies(fork, copy_ids(lead))) == [(20_000, "", 1, 9)]
    assert rows(fork) == [(20_000, "", 34, 33 * 16 + 9)], "the fork itself stays as it is"


def test_equal_keys_at_other_times_are_other_responses() -> None:
    assert not copy_ids(used(Usage(AT, "9000/9000", 9, 1, input=9))) & copy_ids(
        used(Usage(AT + 60, "9000/9000", 9, 1, input=9))
    )


def test_the_first_response_and_those_after_compactions_are_heads() -> None:
    steps: list[Step] = []
    for n in range(HEADS_MAX * 2):
        steps += [Usage(AT + 9 * n, f"a{n}", 1, 1, input=1), Usage(AT + 9 * n, f"b{n}", 1, 1, input=1)]
        steps.append(Compact(AT + 9 * n + 1))
    heads = used(*steps).heads
    assert len(heads) == HEADS_MAX
    assert heads[0] == used(steps[0]).heads[0]
    assert heads[-1] == used(Usage(AT + 9 * 15, "a15", 1, 1, input=1)).heads[0]
