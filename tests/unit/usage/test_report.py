"""What runs used is added up by day, run, model, project, agent or session; what is not known is said."""

from __future__ import annotations

from typing import Any

import pytest

from segue.core.runs.digest import fold
from segue.core.runs.steps import Step, Usage
from segue.core.usage.counted_responses import RunUsage
from segue.core.usage.prices import TokenPrice
from segue.core.usage.report import By, Period, UsageReport, UsedRun, Valuation, counted_once, usage_report
from segue.errors import UsageError
from segue.services.usage.report import day_of

DAY = 86_400
TODAY = 20_000
AT = TODAY * DAY + 60.0
PRICES = {
    "opus": TokenPrice(5, 25, 0.5, 6.25, 10),
    "pro": TokenPrice(1, 2, long=TokenPrice(2, 4, prompt_above=200_000)),
}
VALUATION = Valuation(PRICES.get, lambda model, said, used: said or 200_000, "2026-08-08")


def run(key: str, *steps: Step, agent: str = "codex", **more: Any) -> UsedRun:
    return UsedRun(key, f"id-{key}", agent, fold(steps).usage, **{"last": key, **more})


def report(*runs: UsedRun, by: By = "day", first: int = 0, last: int = 0) -> UsageReport:
    return usage_report(runs, by, Period(first, last), TODAY, VALUATION)


def opus(at: float = AT, key: str = "a", tokens: int = 1_000_000, **more: Any) -> Usage:
    return Usage(at, key, 100_000, 0, input=tokens, model="opus", **more)


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("day", ["2024-10-04", "2024-10-03"]), ("run", ["id-2", "id-1"]), ("model", ["opus", "pro"]),
        ("project", ["shop", "bakery"]), ("agent", ["codex", "opencode"]), ("session", ["s1", ""]),
    ],
)  # fmt: skip
def test_rows_are_named_by_what_they_are_about_and_add_up_to_the_total(by: By, names: list[str]) -> None:
    runs = [
        run("1", opus(), project="shop", session="s1"),
        run("2", Usage(AT - DAY, "b", 9, 5, input=4, model="pro"), agent="opencode", project="bakery"),
    ]
    found = report(*runs, by=by)
    assert [row.name for row in found.rows] == names
    for field in ("input", "output", "tokens", "responses", "runs"):
        assert sum(getattr(row, field) for row in found.rows) == getattr(found.total, field), field
    assert found.total.tokens == 1_000_009 and found.total.cost == pytest.approx(5.000014)


def test_a_run_counts_once_in_each_row_and_once_in_all() -> None:
    found = report(run("1", opus(), opus(AT - DAY, "b"), opus(AT - DAY, "c")))
    assert [(row.runs, row.responses) for row in found.rows] == [(1, 1), (1, 2)]
    assert found.total.runs == 1


def test_what_the_agent_said_that_it_cost_wins_over_the_list() -> None:
    found = report(run("1", opus(cost=0.25), opus(key="b")))
    assert (found.total.cost, found.total.cost_said, found.total.cost_known) == (5.25, 0.25, True)


def test_a_model_without_a_price_adds_tokens_and_no_cost_and_the_sums_say_so() -> None:
    found = report(run("1", opus(), Usage(AT, "b", 9, 1, input=9, model="mystery")), by="model")
    known, unknown = found.rows
    assert (known.cost, known.cost_known) == (5, True)
    assert (unknown.name, unknown.tokens, unknown.cost, unknown.cost_known) == ("mystery", 10, 0, False)
    assert (found.total.cost, found.total.cost_known, found.unpriced) == (5, False, ["mystery"])


def test_a_long_prompt_costs_what_long_prompts_cost() -> None:
    short, long = (
        run(key, Usage(AT, "a", 1, 0, input=size, model="pro"))
        for key, size in (("1", 200_000), ("2", 200_001))
    )
    assert report(short).total.cost == 0.2
    assert report(long).total.cost == pytest.approx(0.400002)


def test_today_and_the_last_seven_days_do_not_depend_on_the_period() -> None:
    days = [opus(AT - n * DAY, f"r{n}", 1_000) for n in range(10)]
    found = report(run("1", *days), first=TODAY - 20, last=TODAY - 8)
    assert (found.today.responses, found.week.responses, found.total.responses) == (1, 7, 2)
    assert (found.since, found.until) == ("2024-09-14", "2024-09-26")


def test_responses_without_a_time_count_only_where_there_is_no_beginning() -> None:
    timeless = run("1", Usage(0, "a", 9, 1, input=9, model="opus"))
    assert report(timeless).rows[0].name == ""
    assert report(timeless, first=1).rows == []


def test_the_fullest_window_is_a_share_of_its_size() -> None:
    found = report(run("1", Usage(AT, "a", 150_000, 1, input=1), Usage(AT, "b", 50_000, 1, 400_000, input=1)))
    assert found.total.fullness == 0.75
    assert report(run("1", Usage(AT, "a", 900_000, 1, 200_000, input=1))).total.fullness == 1.0


def test_what_forks_and_sub_agents_copied_counts_in_the_run_that_it_was_copied_from() -> None:
    history = [opus(AT + n, f"r{n}", 1_000) for n in range(3)]
    lead = run("3", *history, opus(AT + 9, "own", 10))
    fork = run("1", *history, opus(AT + 8, "after", 7), parent="id-3")
    side = run("2", *history[:2], opus(AT + 7, "side", 5), side=True, parent="id-3")
    other = run("4", opus(AT + 20, "x", 3))
    whole = {one.key: one.usage for one in (lead, fork, side, other)}
    loaded: list[str] = []

    def load(one: UsedRun) -> RunUsage:
        loaded.append(one.key)
        return whole[one.key]

    counted = counted_once([_short(one) for one in (lead, fork, side, other)], load)
    tokens = {one.key: sum(row.input for row in one.usage.rows) for one in counted}
    assert tokens == {"3": 3_010, "1": 7, "2": 5, "4": 3}
    assert "4" not in loaded, "a run that shares no beginning is not looked into"


def test_without_its_original_a_copy_counts() -> None:
    history = [opus(AT + n, f"r{n}", 1_000) for n in range(3)]
    fork = run("1", *history, parent="gone")
    assert counted_once([_short(fork)], _never)[0].usage.rows[0].input == 3_000


def _short(one: UsedRun) -> UsedRun:
    """A run as its row has it, without single responses."""
    from msgspec.structs import replace

    return replace(one, usage=replace(one.usage, recent=[], recent_keys=[], responses=[]))


def _never(_: UsedRun) -> RunUsage | None:
    raise AssertionError("nothing is to be loaded")


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("", 0), ("all", 0), ("today", TODAY), ("yesterday", TODAY - 1), ("1d", TODAY), ("7d", TODAY - 6),
        ("2w", TODAY - 13), ("1970-01-11", 10), ("12h", TODAY - 1),
    ],
)  # fmt: skip
def test_a_day_is_told_by_a_date_or_by_how_many_there_are_up_to_today(words: str, day: int) -> None:
    assert day_of(words, now=AT) == day


def test_a_day_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError):
        day_of("soon", now=AT)


def test_a_row_of_a_model_that_is_not_named_counts_without_its_name() -> None:
    usage = fold([opus()]).usage
    usage.rows[0].model = 77
    found = report(UsedRun("1", "id", "codex", usage), by="model")
    assert [(row.name, row.tokens) for row in found.rows] == [("", 1_000_000)]
