"""Figures over time: what was used, how full windows were, runs, restarts and checks, by day and in groups.

The largest groups are told apart; what the others did is added up in one of its own, so that all groups
together are always everything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from ..base.values import Value, seconds_of
from .counted_responses import DAY_SECONDS
from .report import GrowingSum, UsageSum, UsedRun, Valuation, cost_of, fullness_of, used_rows

GroupedBy = Literal["agent", "model", "project"]
GROUPS_MAX = 5
"""How many groups are told apart."""


class CheckOutcome(Value):
    """A check that ran, and how it ended."""

    day: int
    """In days since the epoch (UTC)."""
    passed: bool
    actor: str = ""
    run: str = ""
    """The id of the run in which it ran, if any."""
    project: str = ""
    project_name: str = ""


class Figure(Value):
    """What happened on a day, or on several."""

    used: UsageSum
    began: int = 0
    """Runs that began, without sub-agents'."""
    restarts: int = 0
    """Those of them that went on with a session in which there had been a run before."""
    passed: int = 0
    failed: int = 0
    """Checks that ran."""


class FigureGroup(Value):
    """The figures of one agent, model or project, or of all that are not told apart."""

    name: str
    """Empty if it is not known."""
    about: str
    """The short name of a project."""
    total: Figure
    days: list[Figure]
    """One for each day of the span, the oldest first."""
    is_rest: bool = False
    """Whether it is what remains beside the groups that are told apart."""


class Figures(Value):
    """Figures over a span of days."""

    by: str
    days: list[int]
    """The days since the epoch (UTC), the oldest first."""
    groups: list[FigureGroup]
    """The largest first. None if nothing happened."""
    whole: FigureGroup
    unpriced: list[str]
    """The models without a known price, which no cost covers."""
    prices_as_of: str = ""
    not_read: int = 0


class Observed(NamedTuple):
    """What figures are made of."""

    runs: Sequence[UsedRun]
    checks: Sequence[CheckOutcome]
    valuation: Valuation
    not_read: int = 0


class _Counts:
    """A figure that grows."""

    def __init__(self, parts: Iterable[_Counts] = ()) -> None:
        self.used = GrowingSum()
        self.began = self.restarts = self.passed = self.failed = 0
        for part in parts:
            self.used.merge(part.used)
            self.began += part.began
            self.restarts += part.restarts
            self.passed += part.passed
            self.failed += part.failed

    def figure(self) -> Figure:
        return Figure(self.used.sum(""), self.began, self.restarts, self.passed, self.failed)


class _Group:
    """The figures of a group while they grow, by day."""

    def __init__(self, parts: Iterable[_Group] = ()) -> None:
        self.about = ""
        self.days: defaultdict[int, _Counts] = defaultdict(_Counts)
        cells = defaultdict[int, list[_Counts]](list)
        for part in parts:
            for day, counts in part.days.items():
                cells[day].append(counts)
        self.days |= {day: _Counts(some) for day, some in cells.items()}

    def done(self, name: str, days: Sequence[int], *, is_rest: bool = False) -> FigureGroup:
        total = _Counts(self.days.values()).figure()
        shown = [self.days[day].figure() if day in self.days else _NOTHING for day in days]
        return FigureGroup(name, self.about, total, shown, is_rest)


_NOTHING = _Counts().figure()


def figures(observed: Observed, by: GroupedBy | Literal[""], days: Sequence[int]) -> Figures:
    """The figures of these days, the oldest first; without a ``by`` in a single group."""
    groups, unpriced = _grouped(observed, by, frozenset(days))
    made = [(name, group, group.done(name, days)) for name, group in groups.items()]
    made.sort(key=lambda one: (one[0] == "", *_rank(one[2].total), one[0]))
    shown = [done for _, _, done in made[:GROUPS_MAX]]
    if len(made) > GROUPS_MAX:
        shown.append(_Group(group for _, group, _ in made[GROUPS_MAX:]).done("", days, is_rest=True))
    whole = _Group(groups.values()).done("", days)
    return Figures(
        by, list(days), shown, whole, sorted(unpriced), observed.valuation.prices_as_of, observed.not_read
    )


def _rank(total: Figure) -> tuple[float, int, int, int]:
    """The dearest comes first, then who used, ran and checked most."""
    return -total.used.cost, -total.used.tokens, -total.began, -total.passed - total.failed


def _grouped(observed: Observed, by: str, days: frozenset[int]) -> tuple[dict[str, _Group], set[str]]:
    """What happened on these days, by group, and the models without a price."""
    groups: defaultdict[str, _Group] = defaultdict(_Group)
    unpriced: set[str] = set()
    main_models: dict[str, str] = {}
    most: dict[str, int] = {}
    for run, row, model in used_rows(observed.runs):
        if row.responses > most.get(run.key, 0):
            most[run.key], main_models[run.key] = row.responses, model
        if row.day not in days:
            continue
        cost = cost_of(row, model, observed.valuation)
        if cost is None:
            unpriced.add(model)
        group = groups[model if by == "model" else _name(run, by, "")]
        group.about = run.project_name if by == "project" else ""
        group.days[row.day].used.add(run, row, cost, fullness_of(row, model, observed.valuation))
    again = _restarts(observed.runs)
    for run in observed.runs:
        day = _day(run.began)
        if not run.side and day in days:
            group = groups[_name(run, by, main_models.get(run.key, ""))]
            group.about = run.project_name if by == "project" else ""
            group.days[day].began += 1
            group.days[day].restarts += run.key in again
    ids = {run.id: run for run in observed.runs}
    for check in observed.checks:
        if check.day in days:
            ran_in = ids.get(check.run)
            model = main_models.get(ran_in.key, "") if ran_in is not None else ""
            named = {"agent": ran_in.agent if ran_in is not None else check.actor, "project": check.project}
            group = groups[model if by == "model" else named.get(by, "")]
            group.about = group.about or (check.project_name if by == "project" else "")
            group.days[check.day].passed += check.passed
            group.days[check.day].failed += not check.passed
    return groups, unpriced


def _name(run: UsedRun, by: str, model: str) -> str:
    return {"agent": run.agent, "project": run.project, "model": model}.get(by, "")


def _day(moment: str) -> int:
    return int(seconds_of(moment)) // DAY_SECONDS


def _restarts(runs: Iterable[UsedRun]) -> set[str]:
    """The keys of the runs that went on with a session in which there had been a run before."""
    sessions: defaultdict[str, list[UsedRun]] = defaultdict(list)
    for run in runs:
        if run.session and not run.side:
            sessions[run.session].append(run)
    later = [sorted(some, key=lambda run: (run.began, run.key))[1:] for some in sessions.values()]
    return {run.key for some in later for run in some}
