"""Adding up what runs used: by day, run, model, project, agent or session.

What an agent itself said that a response cost counts; of the others, the tokens at list prices. A model
without a known price adds tokens and no cost: sums that lack something say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from msgspec.structs import replace

from ..base.values import Value
from .counted_responses import DAY_SECONDS, PROMPT_SIZES, RunUsage, UsageRow, copy_ids, without_copies
from .prices import TokenPrice

By = Literal["day", "run", "model", "project", "agent", "session"]
WEEK_DAYS = 7


class UsedRun(Value):
    """A run, and what it used."""

    key: str
    id: str
    agent: str
    usage: RunUsage
    project: str = ""
    project_name: str = ""
    session: str = ""
    about: str = ""
    """What it was about."""
    parent: str = ""
    side: bool = False
    began: str = ""
    last: str = ""


class UsageSum(Value):
    """What was used of one thing: on a day, in a run, of a model …"""

    name: str
    """The day as YYYY-MM-DD, the id of a run or a session, the name of a model, an agent or a project; empty
    if that is not known."""
    about: str = ""
    """What a run was about; the short name of a project."""
    agent: str = ""
    """Of a run, its agent."""
    input: int = 0
    """Tokens that were sent, neither read from a cache nor written to one."""
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    tokens: int = 0
    """All of them together."""
    cost: float = 0.0
    """In US dollars."""
    cost_known: bool = True
    """Whether the cost covers all tokens; else some are of models without a known price."""
    cost_said: float = 0.0
    """The part of the cost that agents themselves said; the rest are tokens at list prices."""
    responses: int = 0
    runs: int = 0
    fullness: float = 0.0
    """The highest share of a context window that was full, up to 1; 0 if unknown."""


class UsageReport(Value):
    """What was used, added up."""

    by: str
    since: str
    """The first day that counts (UTC); empty: from the beginning."""
    until: str
    """The last day that counts; empty: up to now."""
    rows: list[UsageSum]
    """Days and runs with the newest first, others with the dearest first."""
    total: UsageSum
    today: UsageSum
    week: UsageSum
    """The last seven days, today included. Like ``today`` it does not depend on ``since``."""
    unpriced: list[str]
    """The models without a known price, which no cost covers."""
    prices_as_of: str = ""
    not_read: int = 0
    """How many runs are left out because they could not be read."""
    last: str = ""
    """The last day on which anything was used, whether or not it counts here; empty if there is none."""


class Valuation(NamedTuple):
    """How tokens become dollars, and windows shares."""

    price: Callable[[str], TokenPrice | None]
    window: Callable[[str, int, int], int]
    """The size of a window, from the model, what its agent said of the size, and what was in it."""
    prices_as_of: str = ""


class Period(NamedTuple):
    """Days since the epoch; 0 for no limit."""

    first: int = 0
    last: int = 0

    def holds(self, day: int) -> bool:
        return (not self.first or day >= self.first) and (not self.last or day <= self.last)


def day_name(day: int) -> str:
    """A day as YYYY-MM-DD; empty for 0."""
    return datetime.fromtimestamp(day * DAY_SECONDS, UTC).strftime("%Y-%m-%d") if day > 0 else ""


class GrowingSum:
    """A sum that grows."""

    def __init__(self) -> None:
        self.input = self.cache_read = self.cache_write = self.output = self.responses = 0
        self.cost = self.cost_said = self.fullness = 0.0
        self.known = True
        self.runs: set[str] = set()
        self.newest: UsedRun | None = None

    def add(self, run: UsedRun, row: UsageRow, cost: float | None, fullness: float) -> None:
        self.input += row.input
        self.cache_read += row.cache_read
        self.cache_write += row.cache_write
        self.output += row.output
        self.responses += row.responses
        self.cost += cost or 0.0
        self.cost_said += row.cost if row.is_cost_said else 0.0
        self.known = self.known and cost is not None
        self.fullness = max(self.fullness, fullness)
        self.runs.add(run.key)
        if self.newest is None or run.last > self.newest.last:
            self.newest = run

    def merge(self, other: GrowingSum) -> None:
        """Add what another one has added up."""
        self.input += other.input
        self.cache_read += other.cache_read
        self.cache_write += other.cache_write
        self.output += other.output
        self.responses += other.responses
        self.cost += other.cost
        self.cost_said += other.cost_said
        self.known = self.known and other.known
        self.fullness = max(self.fullness, other.fullness)
        self.runs |= other.runs
        if other.newest is not None and (self.newest is None or other.newest.last > self.newest.last):
            self.newest = other.newest

    def sum(self, name: str, by: str = "") -> UsageSum:
        run = self.newest
        about = (
            "" if run is None else run.about if by == "run" else run.project_name if by == "project" else ""
        )
        return UsageSum(
            name, about, run.agent if run is not None and by == "run" else "", self.input, self.cache_read,
            self.cache_write, self.output, self.input + self.cache_read + self.cache_write + self.output,
            round(self.cost, 6), self.known, round(self.cost_said, 6), self.responses, len(self.runs),
            round(self.fullness, 4),
        )  # fmt: skip


def usage_report(
    runs: Iterable[UsedRun], by: By, period: Period, today: int, valuation: Valuation, not_read: int = 0
) -> UsageReport:
    """What these runs used in a period, added up."""
    sums: dict[str, GrowingSum] = {}
    total, of_today, of_week = GrowingSum(), GrowingSum(), GrowingSum()
    unpriced: set[str] = set()
    last = 0
    for run, row, model in used_rows(runs):
        last = max(last, row.day)
        cost, fullness = cost_of(row, model, valuation), fullness_of(row, model, valuation)
        if row.day == today:
            of_today.add(run, row, cost, fullness)
        if today - WEEK_DAYS < row.day <= today:
            of_week.add(run, row, cost, fullness)
        if not period.holds(row.day):
            continue
        if cost is None:
            unpriced.add(model)
        total.add(run, row, cost, fullness)
        sums.setdefault(_key(by, run, row, model), GrowingSum()).add(run, row, cost, fullness)
    rows = list(sums.items())
    if by == "day":
        rows.sort(key=lambda pair: pair[0], reverse=True)
    elif by == "run":
        rows.sort(key=lambda pair: (pair[1].newest.last if pair[1].newest else "", pair[0]), reverse=True)
    else:
        rows.sort(key=lambda pair: (-pair[1].cost, -pair[1].input - pair[1].output, pair[0]))
    names = {run.key: run.id for run in (one.newest for one in sums.values()) if run is not None}
    return UsageReport(
        by, day_name(period.first), day_name(period.last),
        [one.sum(names.get(key, key) if by == "run" else key, by) for key, one in rows],
        total.sum("total"), of_today.sum(day_name(today)), of_week.sum("week"), sorted(unpriced),
        valuation.prices_as_of, not_read, day_name(last),
    )  # fmt: skip


def used_rows(runs: Iterable[UsedRun]) -> Iterator[tuple[UsedRun, UsageRow, str]]:
    """What each run used, with the names of the models."""
    for run in runs:
        models = run.usage.models
        for row in run.usage.rows:
            if row.responses > 0 or row.context:
                yield run, row, models[row.model] if 0 <= row.model < len(models) else ""


def _key(by: By, run: UsedRun, row: UsageRow, model: str) -> str:
    match by:
        case "day":
            return day_name(row.day)
        case "run":
            return run.key
        case "model":
            return model
        case "project":
            return run.project
        case "agent":
            return run.agent
        case "session":
            return run.session


def cost_of(row: UsageRow, model: str, valuation: Valuation) -> float | None:
    """What a row cost; None if that is not known."""
    if row.is_cost_said:
        return row.cost
    if not (row.input or row.cache_read or row.cache_write or row.output):
        return 0.0
    price = valuation.price(model)
    if price is None:
        return None
    if 0 < row.size <= len(PROMPT_SIZES):
        price = price.of_prompt(PROMPT_SIZES[row.size - 1])
    return price.cost(row.input, row.cache_read, row.cache_write, row.cache_write_1h, row.output)


def fullness_of(row: UsageRow, model: str, valuation: Valuation) -> float:
    if row.context <= 0:
        return 0.0
    window = valuation.window(model, row.window, row.context)
    return min(1.0, row.context / window) if window > 0 else 0.0


# -- responses that several runs have --------------------------------------------------------------


def counted_once(runs: list[UsedRun], load: Callable[[UsedRun], RunUsage | None]) -> list[UsedRun]:
    """The runs, each without the responses that another one has: agents copy them into forks, into resumed
    conversations and into sub-agents. They count in the run that is neither, or else in the oldest. ``load``
    reads all that is known of a run's responses; only runs with a copy of a beginning are loaded."""
    starts: dict[int, list[UsedRun]] = {}
    for run in runs:
        for head in run.usage.heads[:1]:
            starts.setdefault(head, []).append(run)
    related: dict[str, UsedRun] = {}
    for run in runs:
        for head in run.usage.heads:
            others = [one for one in starts.get(head, ()) if one.key != run.key]
            related |= {one.key: one for one in (run, *others)} if others else {}
    own: dict[str, RunUsage] = {}
    known: set[int] = set()
    for run in sorted(
        related.values(), key=lambda run: (run.side, bool(run.parent), run.began, run.last, run.key)
    ):
        usage = load(run)
        if usage is not None:
            own[run.key] = without_copies(usage, known)
            known |= copy_ids(usage)
    return [replace(run, usage=own[run.key]) if run.key in own else run for run in runs]
