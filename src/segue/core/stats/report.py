"""Figures of how well it does, from what was measured of single runs; of a span of time, and month by month.

A figure that nothing was measured for is None, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import TypeVar

from ..base.values import Value, iso

T = TypeVar("T")


class Recovery(Value):
    """A run that was given a brief, and what came of it."""

    at: float
    run: str = ""
    score: float = 0.0
    """How much of the brief it used and how little it had to find again, of 100."""
    seconds: float = 0.0
    """From its beginning to its first edit; 0 if it edited nothing."""
    calls: int = 0
    """Calls up to its first edit."""
    bytes: int = 0
    """The size of the brief."""
    crashed: bool = False
    """Whether the run before it had crashed."""
    pitfalls: int = 0
    """Pitfalls that it was told of."""
    mended: int = 0
    """Of those, failures that it mended."""


class Timing(Value):
    """How long something took, and how large it became."""

    at: float
    what: str
    """prepare, bootstrap or restore"""
    seconds: float
    bytes: int = 0


class HabitHits(Value):
    """How well the habits before a run told its commands, beside what the run alone tells."""

    at: float
    hits: int
    alone: int
    of: int
    runs: int = 0


class HandoverScore(Value):
    """The score of a handover."""

    at: float
    score: float


class MemoryCount(Value):
    """A memory: when it was made, and how it was used."""

    at: float
    recalled: int = 0
    helpful: int = 0
    harmful: int = 0


class Measured(Value):
    """Everything that was measured in a project."""

    recoveries: Sequence[Recovery] = ()
    timings: Sequence[Timing] = ()
    habits: Sequence[HabitHits] = ()
    handovers: Sequence[HandoverScore] = ()
    memories: Sequence[MemoryCount] = ()

    def where(self, fits: Callable[[float], bool]) -> Measured:
        """What was measured at the moments that fit."""
        return Measured(
            [one for one in self.recoveries if fits(one.at)], [one for one in self.timings if fits(one.at)],
            [one for one in self.habits if fits(one.at)], [one for one in self.handovers if fits(one.at)],
            [one for one in self.memories if fits(one.at)],
        )  # fmt: skip

    def moments(self) -> list[float]:
        """When something was measured."""
        return [
            *(one.at for one in self.recoveries), *(one.at for one in self.timings),
            *(one.at for one in self.habits), *(one.at for one in self.handovers),
            *(one.at for one in self.memories),
        ]  # fmt: skip


class StatsRow(Value):
    """The figures of a span of time."""

    name: str
    """The month, or total."""
    restarts: int = 0
    """Runs that took up the work of another one."""
    survived: int = 0
    """Of those, runs after a crash."""
    seconds_to_edit: float | None = None
    """The median of the time from the beginning of such a run to its first edit."""
    calls_to_edit: float | None = None
    brief_score: float | None = None
    """The mean, of 100."""
    brief_bytes: float | None = None
    prepare_seconds: float | None = None
    manifest_bytes: float | None = None
    bootstraps: int = 0
    bootstrap_seconds: float | None = None
    """The median of the time in which a run was told whether it can start from the manifest."""
    restores: int = 0
    """Contexts that were put together within a budget of tokens."""
    restore_seconds: float | None = None
    restore_bytes: float | None = None
    handovers: int = 0
    handover_score: float | None = None
    memories: int = 0
    """Memories that were made."""
    memories_recalled: int = 0
    """Of those, memories that were recalled at least once."""
    memory_votes: int = 0
    memory_hit_rate: float | None = None
    """The share of votes that say helpful."""
    pitfalls: int = 0
    """Pitfalls that runs were told of."""
    pitfalls_mended: int = 0
    habit_guesses: int = 0
    habit_hit_rate: float | None = None
    """How often the next command was among the first three by habit."""
    habit_hit_rate_alone: float | None = None
    """The same by what the run alone tells."""


class StatsReport(Value):
    """How well Segue works, in a span of time."""

    since: str
    until: str
    total: StatsRow
    months: list[StatsRow]


def stats_report(measured: Measured, since: float, until: float) -> StatsReport:
    """The figures from one moment up to, but without, another."""
    within = measured.where(lambda at: since <= at < until)
    rows = [
        _row(month, within.where(lambda at, month=month: month_of(at) == month))  # type: ignore[misc]
        for month in sorted({month_of(at) for at in within.moments()})
    ]
    return StatsReport(iso(since)[:10] if since else "", iso(until)[:10], _row("total", within), rows)


def month_of(at: float) -> str:
    """The month (UTC) of a moment, as in 2026-11."""
    return iso(at)[:7]


def _row(name: str, measured: Measured) -> StatsRow:
    recoveries, habits, memories = measured.recoveries, measured.habits, measured.memories
    edited = [one for one in recoveries if one.calls]
    prepared, started, restored = (
        [one for one in measured.timings if one.what == what] for what in ("prepare", "bootstrap", "restore")
    )
    helpful, harmful = sum(one.helpful for one in memories), sum(one.harmful for one in memories)
    guesses = sum(one.of for one in habits)
    return StatsRow(
        name, len(recoveries), sum(one.crashed for one in recoveries),
        _median(edited, lambda one: one.seconds), _median(edited, lambda one: one.calls),
        _mean(recoveries, lambda one: one.score), _mean(recoveries, lambda one: one.bytes),
        _median(prepared, lambda one: one.seconds), _mean(prepared, lambda one: one.bytes),
        len(started), _median(started, lambda one: one.seconds), len(restored),
        _median(restored, lambda one: one.seconds), _mean(restored, lambda one: one.bytes),
        len(measured.handovers),
        _mean(measured.handovers, lambda one: one.score), len(memories),
        sum(one.recalled > 0 for one in memories), helpful + harmful, _share(helpful, helpful + harmful),
        sum(one.pitfalls for one in recoveries), sum(one.mended for one in recoveries), guesses,
        _share(sum(one.hits for one in habits), guesses), _share(sum(one.alone for one in habits), guesses),
    )  # fmt: skip


def _median(items: Iterable[T], value: Callable[[T], float]) -> float | None:
    values = [value(one) for one in items]
    return round(float(median(values)), 3) if values else None


def _mean(items: Iterable[T], value: Callable[[T], float]) -> float | None:
    values = [value(one) for one in items]
    return round(sum(values) / len(values), 1) if values else None


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 3) if whole else None
