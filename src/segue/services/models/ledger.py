"""The ledger of spend: a stream for each day, appended to by every process that asks a model.

A call begins with its ceiling in the ledger, appended only if the ledger is still at the version at which
the caps were found to hold: of ten processes that ask at once, those that would go over a cap are refused.
It ends with what was used. Whoever is killed in between leaves the ceiling, which counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ..._failpoints import trip
from ...core import event_kinds as ev
from ...core.base.values import Value
from ...core.models import spending as core
from ...core.models.spending import Caps, DayLedger, ModelCall
from ...effects.clock import now
from ...errors import OverBudget, StaleVersion, UsageError
from ...stores.base import Append

if TYPE_CHECKING:
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
    """What was spent, the newest days first, and what is left."""

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
    """The day that is spent on, in UTC."""
    return now()[:10]


def ledger(workspace: Workspace, day: str) -> DayLedger:
    """The ledger of a day."""
    return core.fold(workspace.store.read(PREFIX + day))


def reserve(
    workspace: Workspace, ceiling: float, caps: Caps, *, model: str, purpose: str, session: str = ""
) -> tuple[str, str]:
    """(day, id) of a call that may be made now; OverBudget if it may not."""
    workspace.pause_file.check()
    id = os.urandom(6).hex()
    while True:
        day = today()
        current, before, demands = _books(workspace, day)
        reason = core.refusal(ceiling, session, current, before, caps)
        if reason:
            raise OverBudget(
                f"{model} was not asked: {reason}", hint="`segue spend` shows caps and what is left"
            )
        body = ev.SpendReserved(id, model, purpose, round(ceiling, 9), session)
        draft = ev.draft(body, at=now(), actor=workspace.repository.actor, run=workspace.repository.run)
        try:
            workspace.store.append(Append(PREFIX + day, current.version, [draft]), *demands)
        except StaleVersion:
            continue
        trip("spend.after_reserve")
        return day, id


def _books(workspace: Workspace, day: str) -> tuple[DayLedger, list[DayLedger], list[Append]]:
    """The ledger of a day, those before it, and that they stay as they are."""
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
    """Put down what a call used."""
    day, id = call
    body = ev.SpendSettled(id, round(cost, 9), input, output, round(seconds, 3), outcome)
    draft = ev.draft(body, at=now(), actor=workspace.repository.actor, run=workspace.repository.run)
    trip("spend.before_settle")
    while True:
        version = workspace.store.head(PREFIX + day).version
        with suppress(StaleVersion):
            workspace.store.append(Append(PREFIX + day, version, [draft]))
            return


def report(workspace: Workspace, caps: Caps, *, session: str = "", days: int = 30) -> SpendingReport:
    """What was spent in the last days."""
    if not 1 <= days <= 36_500:
        raise UsageError(f"{days} days", hint="1 or more")
    names = [stream for stream, _ in workspace.store.streams(PREFIX)]
    books = {stream.removeprefix(PREFIX): core.fold(workspace.store.read(stream)) for stream in names}
    kept = sorted(books, reverse=True)[:days]
    entries = [entry for day in kept for entry in reversed(books[day].entries)]
    spent = books.get(today(), DayLedger()).total
    of_session = sum(book.of_session(session) for book in books.values())
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
            name, len(group), round(sum(one.cost for one in group), 9), sum(one.input for one in group),
            sum(one.output for one in group), round(sum(one.seconds for one in group), 3),
        )
        for name, group in groups.items()
    )  # fmt: skip
