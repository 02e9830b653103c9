"""What agents used: tokens, cost and how full their windows were, by day, run, model, project, agent or
session."""

from __future__ import annotations

import time
from functools import cache
from typing import get_args

from ...agents import agent as agent_of, agent_name
from ...core.base.lazy import regex
from ...core.base.values import Progress
from ...core.runs.window_pressure import window_of
from ...core.search.query import since_of
from ...core.usage import report as core
from ...core.usage.counted_responses import DAY_SECONDS, RunUsage
from ...core.usage.report import By, Period, UsageReport, UsageSum, UsedRun, Valuation
from ...errors import UsageError
from ..runs.model_windows import known_windows, windows_of_settings
from ..workspace.workspace import Workspace
from .prices import prices_of
from .used_runs import UsedRuns

WAYS: tuple[By, ...] = get_args(By)
SINCE_DEFAULT = "30d"
EVERYTHING = "all"
_DAYS = regex(r"(\d{1,5})\s*(d|days?|w|weeks?)")


def usage_report(
    workspace: Workspace, *, by: str = "day", since: str = SINCE_DEFAULT, until: str = "", agent: str = "",
    everywhere: bool = False, progress: Progress | None = None,
) -> UsageReport:  # fmt: skip
    """What the runs of the project used, or those of all. Days are those of UTC, and whole ones: ``7d`` are
    the last seven, today included, and ``all`` has no beginning. Raises UsageError, and BadSettings if the
    prices that were set are none."""
    way = next((one for one in WAYS if one == by), None)
    if way is None:
        raise UsageError(f"usage cannot be shown by {by[:40]!r}", hint=f"use one of {', '.join(WAYS)}")
    if agent:
        agent = agent_of(agent_name(agent)).name
    now = time.time()
    period = Period(day_of(since, now=now), day_of(until, now=now))
    valuation = valuation_of(workspace)
    runs, not_read = used_runs(workspace, agent=agent, everywhere=everywhere, progress=progress)
    return core.usage_report(runs, way, period, int(now) // DAY_SECONDS, valuation, not_read)


def used_runs(
    workspace: Workspace, *, agent: str = "", everywhere: bool = False, progress: Progress | None = None
) -> tuple[list[UsedRun], int]:
    """The runs of the project, or of all, with what each used; a response that several have counts in one.
    Also how many could not be read."""
    used = UsedRuns(workspace, agent, everywhere, progress)
    return core.counted_once(used.runs(), used.whole), used.not_read


def usage_of_run(workspace: Workspace, usage: RunUsage) -> UsageSum | None:
    """What a run used, with the responses that others have as well; None if nothing is known of it."""
    run = UsedRun("", "", "", usage)
    report = core.usage_report([run], "agent", Period(), 0, valuation_of(workspace))
    return report.total if report.total.responses else None


def day_of(text: str, *, now: float) -> int:
    """The day that somebody means by ``7d``, ``today``, ``yesterday`` or a date, in days since the epoch; 0
    for none. Raises UsageError."""
    words, today = text.strip().lower(), int(now) // DAY_SECONDS
    if words in ("", EVERYTHING):
        return 0
    if words in ("today", "yesterday"):
        return today - (words == "yesterday")
    if days := _DAYS.fullmatch(words):
        return max(1, today + 1 - max(1, int(days[1])) * (7 if days[2][0] == "w" else 1))
    return max(1, int(since_of(text, now=now)) // DAY_SECONDS)


def valuation_of(workspace: Workspace) -> Valuation:
    """The prices and windows of models, as they are set and known here."""
    prices = prices_of(workspace.settings)
    reported, set_to = known_windows(workspace.home), windows_of_settings(workspace.settings)

    def window(model: str, said: int, used: int) -> int:
        return window_of(model, said=said or reported.get(model, 0), set_to=set_to, seen=used).tokens

    return Valuation(cache(prices.price), window, prices.as_of)
