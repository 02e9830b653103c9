"""How well it does in a project: everything that was measured, put together for a span of time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from ...core import event_kinds as ev
from ...core.base.values import seconds_of
from ...core.stats.report import (
    HabitHits,
    HandoverScore,
    Measured,
    MemoryCount,
    Recovery,
    StatsReport,
    Timing,
    stats_report,
)
from ...errors import UsageError
from ...stores.base import ProjectFact
from ..habits.rows import HITS, project_of
from ..memories.reader import reader_of
from ..resume.timings import TIMING
from ..workspace.workspace import Workspace
from .measured import RECOVERY, TIMINGS_MAX, learn_from_runs

T = TypeVar("T")
COMMAND_SECONDS = 20.0
DAYS_DEFAULT = 90
_DAY = 86_400.0
MEMORIES_MAX = 5_000


def stats(
    workspace: Workspace, *, month: str = "", days: int = DAYS_DEFAULT, everywhere: bool = False,
    learns: bool = True,
) -> StatsReport:  # fmt: skip
    """The figures of a month (2026-11), or of the last so many days; with 0, of all time. ``everywhere`` is
    of all projects. With ``learns``, after new runs were learnt from and judged."""
    since, until = _span(month, days)
    if learns:
        learn_from_runs(workspace, COMMAND_SECONDS)
    project = "" if everywhere else project_of(workspace)
    return stats_report(_measured(workspace, project, since), since, until)


def _span(month: str, days: int) -> tuple[float, float]:
    if not month:
        if days < 0:
            raise UsageError(f"{days} days", hint="give a number of days, or 0 for all")
        now = time.time()
        return (now - days * _DAY if days else 0.0), now + 1.0
    try:
        first = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
    except ValueError:
        raise UsageError(
            f"{month[:40]!r} is not a month", hint="for example: segue stats --month 2026-11"
        ) from None
    year, number = first.year + first.month // 12, first.month % 12 + 1
    return first.timestamp(), first.replace(year=year, month=number).timestamp()


def _measured(workspace: Workspace, project: str, since: float) -> Measured:
    facts = workspace.store.project_facts
    hits = [
        HabitHits(fact.at, **body)
        for fact in facts.rows(HITS, project=project, since=since)
        if (body := _decoded(fact, dict[str, int])) is not None
    ]
    recoveries = (_decoded(fact, Recovery) for fact in facts.rows(RECOVERY, project=project, since=since))
    kept = facts.rows(TIMING, project=project, since=since, limit=TIMINGS_MAX)
    timings = (_decoded(fact, Timing) for fact in kept)
    return Measured(
        [one for one in recoveries if one is not None], [one for one in timings if one is not None], hits,
        list(_handovers(workspace)), list(_memories(workspace)),
    )  # fmt: skip


def _decoded(fact: ProjectFact, kind: type[T]) -> T | None:
    """What a fact says; None if another version wrote it in another form."""
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        return msgspec.msgpack.decode(fact.body, type=kind)
    return None


def _handovers(workspace: Workspace) -> Iterator[HandoverScore]:
    for stream, _ in workspace.store.streams("score/"):
        newest: dict[str, HandoverScore] = {}
        for event in workspace.store.read(stream):
            body = ev.read_body(event)
            if isinstance(body, ev.HandoverScored):
                newest[body.run] = HandoverScore(seconds_of(event.at), body.score)
        yield from newest.values()


def _memories(workspace: Workspace) -> Iterator[MemoryCount]:
    from ...core.memories.model import MemoryFilter
    from ...effects.clock import now

    where = MemoryFilter()
    for one in workspace.store.memories.listing(reader_of(workspace, ""), where, now(), MEMORIES_MAX):
        yield MemoryCount(seconds_of(one.created), one.recalled, one.helpful, one.harmful)
