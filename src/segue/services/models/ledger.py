"""The ledger of spend: a stream for each day, to which every process that asks a model appends.

A call first reserves its ceiling. That is appended only if the ledger is still at the version at which the
caps were checked, so that of ten processes that ask at once those that would exceed a cap are refused. The
call ends by recording what was used. A process that is killed in between leaves the ceiling, which counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from ..._failpoints import trip
from ...core import event_kinds as ev
from ...core.base.values import Value
from ...core.models import spending as core
from ...core.models.spending import Caps, DayLedger, ModelCall
from ...effects.clock import now
from ...errors import OverBudget, StaleVersion, UsageError
from ...stores.base import Append
from ..sessions.repository import append_last
from ..workspace.workspace import Workspace

PREFIX = "spend/"


class Share(Value):
    """What was spent on something."""

    name: str
    calls: int
    cost: float
    input: int
    output: int
    seconds: float


class SpendingReport(Value):
    """What was spent, the newest day first, and what is left."""

    days: tuple[Share, ...]
    sessions: tuple[Share, ...]
    purposes: tuple[Share, ...]
    models: tuple[Share, ...]
    caps: Caps
    today: float
    left_today: float
    session: str = ""
    left_session: float = 0.0
    entries: tuple[ModelCall, ...] = ()


def today() -> str:
    """The present day in UTC."""
    return now()[:10]


def ledger(workspace: Workspace, day: str) -> DayLedger:
    """The ledger of a day."""
    return core.fold(workspace.store.read(PREFIX + day))


def reserve(
    workspace: Workspace, ceiling: float, caps: Caps, *, model: str, purpose: str, session: str = ""
) -> tuple[str, str]:
    """Reserve the ceiling of a call and return its day and id, for ``settle``. Raises OverBudget."""
    workspace.pause_file.check()
    id = os.urandom(6).hex()
    while True:
        day = today()
        current, before, demands = ledgers(workspace, day)
        reason = core.refusal(ceiling, session, current, before, caps)
        if reason:
            raise OverBudget(
                f"{model} was not asked: {reason}", hint="`segue spend` shows the caps and what is left"
            )
        body = ev.SpendReserved(id, model, purpose, round(ceiling, 9), session)
        draft = ev.draft(body, at=now(), actor=workspace.repository.actor, run=workspace.repository.run)
        try:
            workspace.store.append(Append(PREFIX + day, current.version, [draft]), *demands)
        except StaleVersion:
            continue
        trip("spend.after_reserve")
        return day, id


def ledgers(workspace: Workspace, day: str) -> tuple[DayLedger, list[DayLedger], list[Append]]:
    """The ledger of a day, those of other days, and the demand that the newest of these stays unchanged."""
    before, demands = [], []
    for stream, version in workspace.store.streams(PREFIX):
        if stream != PREFIX + day:
            before.append(core.fold(workspace.store.read(stream)))
            demands.append(Append(stream, version))
    return ledger(workspace, day), before, demands[-1:]


def settle(
    workspace: Workspace, call: tuple[str, str], *, cost: float, input: int = 0, output: int = 0,
    seconds: float = 0.0, outcome: str = "answered",
) -> None:  # fmt: skip
    """Record what a call used, in place of its ceiling."""
    day, id = call
    body = ev.SpendSettled(id, round(cost, 9), input, output, round(seconds, 3), outcome)
    trip("spend.before_settle")
    by = workspace.repository
    append_last(workspace.store, PREFIX + day, body, actor=by.actor, run=by.run)


def report(workspace: Workspace, caps: Caps, *, session: str = "", days: int = 30) -> SpendingReport:
    """What was spent in the last ``days`` days on which something was. Raises UsageError."""
    if not 1 <= days <= 36_500:
        raise UsageError(f"a report over {days} days is not possible", hint="give 1 day or more")
    names = [stream for stream, _ in workspace.store.streams(PREFIX)]
    by_day = {stream.removeprefix(PREFIX): core.fold(workspace.store.read(stream)) for stream in names}
    newest = sorted(by_day, reverse=True)[:days]
    entries = [entry for day in newest for entry in reversed(by_day[day].entries)]
    spent = by_day.get(today(), DayLedger()).total
    of_session = sum(day.of_session(session) for day in by_day.values())
    return SpendingReport(
        days=_shares(entries, lambda entry: entry.at[:10]),
        sessions=_shares(entries, lambda entry: entry.session or "(no session)"),
        purposes=_shares(entries, lambda entry: entry.purpose),
        models=_shares(entries, lambda entry: entry.model),
        caps=caps, today=spent, left_today=max(0.0, caps.day - spent), session=session,
        left_session=max(0.0, caps.session - of_session) if session else 0.0, entries=tuple(entries[:50]),
    )  # fmt: skip


def _shares(entries: Sequence[ModelCall], key: Callable[[ModelCall], str]) -> tuple[Share, ...]:
    groups: dict[str, list[ModelCall]] = {}
    for entry in entries:
        groups.setdefault(key(entry), []).append(entry)
    return tuple(
        Share(
            name, len(group), round(sum(call.cost for call in group), 9), sum(call.input for call in group),
            sum(call.output for call in group), round(sum(call.seconds for call in group), 3),
        )
        for name, group in groups.items()
    )  # fmt: skip
