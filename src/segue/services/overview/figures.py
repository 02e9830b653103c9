"""Figures over time: what agents used, how full their windows were, runs, restarts and checks."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ...core.base.values import seconds_of
from ...core.event_kinds import CheckRan, FeatureAdded, FeatureChanged
from ...core.features.checks import Check
from ...core.features.evidence import passed
from ...core.journal.event import read_body
from ...core.sessions.status import Card
from ...core.usage.counted_responses import DAY_SECONDS
from ...core.usage.figures import CheckOutcome, Observed
from ..sessions.repository import stream_of
from ..usage.report import used_runs, valuation_of
from ..workspace.workspace import Workspace

SPAN_DAYS_WHOLE = 90
"""A longer span begins with the first day on which something happened."""
_KINDS = frozenset(body.KIND for body in (FeatureAdded, FeatureChanged, CheckRan))
_UNKNOWN_CHECK = Check(())
"""Stands for one whose definition is not in the journal: it passes with exit code 0."""


class ChecksOfSession:
    """The checks that ran in a session, as far as its journal was read."""

    def __init__(self) -> None:
        self._version = 0
        self._checks: dict[str, Check] = {}
        self._ran: list[tuple[int, bool, str, str]] = []

    def read_on(self, workspace: Workspace, card: Card) -> Iterator[CheckOutcome]:
        """Each of them, after what is new in the journal was read."""
        if card.version > self._version:
            for event in workspace.store.read(stream_of(card.id), after=self._version):
                self._version = event.version
                match read_body(event) if event.kind in _KINDS else None:
                    case FeatureAdded(checks=checks) | FeatureChanged(checks=checks) if checks:
                        self._checks |= {check.hash: check for check in checks}
                    case CheckRan() as ran:
                        is_passed = passed(self._checks.get(ran.check, _UNKNOWN_CHECK), ran)
                        day = int(seconds_of(event.at)) // DAY_SECONDS
                        self._ran.append((day, is_passed, event.actor, event.run))
        for day, is_passed, actor, run in self._ran:
            yield CheckOutcome(day, is_passed, actor, run, card.project, card.project_name or card.project)


ChecksSeen = dict[str, ChecksOfSession]
"""By the ids of sessions. Whoever shows figures again keeps it, so that no journal is read twice."""


def observe(workspace: Workspace, seen: ChecksSeen) -> Observed:
    """What figures of all projects are made of."""
    runs, not_read = used_runs(workspace, everywhere=True)
    checks = [
        outcome
        for card in workspace.repository.cards()
        for outcome in seen.setdefault(card.id, ChecksOfSession()).read_on(workspace, card)
    ]
    return Observed(runs, checks, valuation_of(workspace), not_read)


def days_of(observed: Observed, count: int) -> list[int]:
    """The last so many days, today included, in days since the epoch (UTC); with 0 all of them, as many as
    there is something to show of."""
    today = int(time.time()) // DAY_SECONDS
    if 0 < count <= SPAN_DAYS_WHOLE:
        return list(range(today - count + 1, today + 1))
    used = (row.day for run in observed.runs for row in run.usage.rows if row.day > 0)
    began = (int(seconds_of(run.began)) // DAY_SECONDS for run in observed.runs if run.began)
    first = min((*used, *began, *(check.day for check in observed.checks)), default=today)
    first = min(max(first, 1), today - SPAN_DAYS_WHOLE + 1)
    return list(range(max(first, today - count + 1) if count else first, today + 1))
