"""Figures over time add up, whatever they are grouped by."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.usage.test_report import AT, DAY, TODAY, VALUATION, opus, report, run

from segue.core.base.values import iso
from segue.core.runs.steps import Usage
from segue.core.usage.figures import GROUPS_MAX, CheckOutcome, Figures, Observed, figures
from segue.core.usage.report import UsedRun

DAYS = [TODAY - 2, TODAY - 1, TODAY]


def shown(*runs: UsedRun, by: Any = "", checks: tuple[CheckOutcome, ...] = ()) -> Figures:
    return figures(Observed(runs, checks, VALUATION), by, DAYS)


RUNS = (
    run("1", opus(), project="shop", project_name="the shop", session="s1", began=iso(AT)),
    run("2", Usage(AT - DAY, "b", 90_000, 5, 100_000, input=4, model="pro"), agent="opencode",
        project="bakery", session="s1", began=iso(AT - DAY)),
    run("3", Usage(AT - DAY, "c", 9, 5, input=4, model="unknown"), agent="opencode", project="bakery",
        began=iso(AT - 40 * DAY)),
    run("4", Usage(AT - 3 * DAY, "d", 9, 5, input=4, model="pro"), project="bakery", began=iso(AT - 3 * DAY)),
    run("5", opus(AT, "e"), project="shop", side=True, parent="id-1", began=iso(AT)),
)  # fmt: skip
CHECKS = (
    CheckOutcome(TODAY, True, "codex", "id-1", "shop"), CheckOutcome(TODAY, False, "user", "", "shop"),
    CheckOutcome(TODAY - 9, False, "user", "", "shop"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("", [""]), ("agent", ["codex", "opencode", "user"]), ("model", ["opus", "pro", "unknown", ""]),
        ("project", ["shop", "bakery"]),
    ],
)  # fmt: skip
def test_groups_and_days_add_up_to_the_whole_and_to_the_report(by: str, names: list[str]) -> None:
    found = shown(*RUNS, by=by, checks=CHECKS)
    assert [group.name for group in found.groups] == names
    total = report(*RUNS, first=DAYS[0]).total
    assert found.whole.total.used.tokens == total.tokens and found.unpriced == ["unknown"]
    assert found.whole.total.used.cost == pytest.approx(total.cost) and not found.whole.total.used.cost_known
    for parts in ([group.total for group in found.groups], found.whole.days):
        assert sum(one.used.tokens for one in parts) == total.tokens
        assert sum(one.used.cost for one in parts) == pytest.approx(total.cost)
        assert max(one.used.fullness for one in parts) == total.fullness == 0.9
        for field, wanted in (("began", 2), ("restarts", 1), ("passed", 1), ("failed", 1)):
            assert sum(getattr(one, field) for one in parts) == wanted, field
    for group in found.groups:
        assert len(group.days) == len(DAYS)
        assert sum(one.used.tokens for one in group.days) == group.total.used.tokens


def test_the_later_runs_of_a_session_are_restarts() -> None:
    first, second, alone = RUNS[1], RUNS[0], RUNS[3]
    found = shown(first, second, alone, by="project")
    assert {group.name: group.total.restarts for group in found.groups} == {"shop": 1, "bakery": 0}
    assert [group.about for group in found.groups] == ["the shop", ""]


def test_what_is_not_told_apart_is_one_group_at_the_end() -> None:
    many = [run(str(n), opus(AT, str(n), n * 1000), project=f"p{n:02}") for n in range(1, GROUPS_MAX + 4)]
    found = shown(*many, by="project")
    assert [group.is_rest for group in found.groups] == [False] * GROUPS_MAX + [True]
    assert found.groups[0].name == f"p{GROUPS_MAX + 3:02}"
    assert found.groups[-1].total.used.tokens == 1000 + 2000 + 3000 and found.groups[-1].total.used.runs == 3


def test_nothing_gives_no_groups_and_days_of_nothing() -> None:
    found = shown()
    assert found.groups == [] and [day.used.tokens for day in found.whole.days] == [0, 0, 0]
