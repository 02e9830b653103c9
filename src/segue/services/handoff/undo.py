"""Undoing the last command with all of its consequences, or saying why it cannot be undone.

What Segue itself recorded (a check that ran, a text that was erased, what a restoration loaded, an agent
whose process ended) is not a command: it is skipped, and stays. Declaring features, correcting the ledger,
spending and counting cannot be undone: an undo says so instead of undoing something else. A memory that the
command created is deprecated, and an offer that nobody took is withdrawn, both in the commit of the undo. An
offer that was taken stays taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core import event_kinds as ev
from ...core.event_words import event_words
from ...core.handover.events import Offer
from ...core.memories.model import MemoryFilter
from ...core.sessions import commands as do
from ...core.sessions.fold import fold
from ...core.sessions.rewind import STAYS
from ...core.sessions.state import OBSERVER, SessionState
from ...effects.clock import now
from ...errors import NothingToUndo
from ...stores.memory_changes import MemoryChange
from ..memories.service import memories_of
from ..sessions.repository import Saved, fold_all
from ..workspace.session_handle import SessionHandle
from .offers import Handoffs

REASON = "withdrawn by an undo"
_SEEN: set[type[ev.Body]] = {ev.Erased, ev.ChecksBegun, ev.CheckRan, ev.CheckReported, ev.EvidenceVoided}
_KINDS_SEEN = {body.KIND for body in _SEEN}
_KINDS_LOADED = {ev.ContextNoted.KIND, ev.NotesLoaded.KIND}
_FEATURES = "`segue feature` changes and removes features, on the record"
_LEDGER = "`segue ledger` corrects the ledger once more, on the record"
_WORDS: dict[type[ev.Body], tuple[Callable[[Any], str], str]] = {
    ev.FeatureAdded: (lambda b: f"feature {b.id} was added", _FEATURES),
    ev.FeatureChanged: (lambda b: f"feature {b.id} was changed", _FEATURES),
    ev.FeatureRemoved: (lambda b: f"feature {b.id} was removed", _FEATURES),
    ev.FeatureMoved: (lambda b: f"feature {b.id} is {b.status}", _FEATURES),
    ev.StepAttested: (lambda b: f"{b.who} attested a step of feature {b.feature}", _FEATURES),
    ev.SaidKept: (lambda b: "something was added to the ledger", _LEDGER),
    ev.EntryCorrected: (lambda b: f"entry {b.change.id} of the ledger was corrected", _LEDGER),
    ev.LedgerJoined: (lambda b: f"session {b.session} was joined into this one", _LEDGER),
    ev.BudgetSpent: (lambda b: "something was spent", "`segue budget` shows what was spent, and the limits"),
}


def undo(session: SessionHandle) -> Saved:
    """Undo the last command. Raises NothingToUndo if there is none, or if it is one that cannot be undone."""
    events = session.log()
    first, last = _last_command(events)
    if not first:
        raise NothingToUndo(f"nothing in {session.id} can be undone", hint="see `segue log`")
    taken = events[first - 1 : last]
    bodies = [ev.read_body(event) for event in taken]
    if {event.kind for event in taken} <= STAYS:
        raise _stays(bodies)
    then = fold_all(events[: first - 1])
    for event in events[last:]:
        if _is_record(event) and event.kind not in STAYS:
            then = fold(then, event)
    handoffs, offer = Handoffs(session.workspace), _offer(session, bodies)
    saved = session.go_back(
        do.Rewind(first - 1, then, lifecycle=True), since=len(events),
        memories=_forgotten(session, bodies, then, offer),
        guards=(lambda: [handoffs.withdrawal(offer, REASON)]) if offer is not None else None,
    )  # fmt: skip
    if offer is not None:
        handoffs.forget_rules(offer)
    return saved


def _last_command(events: Sequence[ev.Event]) -> tuple[int, int]:
    """The first and last version of the newest command that has not been undone; (0, 0) if there is none."""
    version = len(events)
    while version > 0:
        body = ev.read_body(events[version - 1])
        if isinstance(body, ev.Rewound) and not body.name:
            version = body.to
            continue
        start = version
        while start > 1 and events[start - 2].left > 0:
            start -= 1
        kinds = {event.kind for event in events[start - 1 : version]}
        if kinds & {ev.Created.KIND, ev.Gap.KIND}:
            return 0, 0
        if kinds <= _KINDS_SEEN or all(map(_is_record, events[start - 1 : version])):
            version = start - 1
            continue
        return (start, version) if start > 1 else (0, 0)
    return 0, 0


def _is_record(event: ev.Event) -> bool:
    """Whether Segue itself recorded an event, or what a restoration loaded, which older versions recorded as
    whoever resumed."""
    return event.actor == OBSERVER or event.kind in _KINDS_LOADED


def _stays(bodies: Sequence[ev.Body | None]) -> NothingToUndo:
    what, hint = "something was counted", "see `segue log`"
    for body in bodies:
        if body is not None and type(body) in _WORDS:
            describe, hint = _WORDS[type(body)]
            what = describe(body)
            break
    return NothingToUndo(
        f"the last command cannot be undone: {what}",
        hint=f"{hint}; `segue rewind NAME` goes back to a named checkpoint",
    )


def _offer(session: SessionHandle, bodies: Sequence[ev.Body | None]) -> Offer | None:
    """The open offer that these events made. Raises NothingToUndo if somebody took it."""
    marks = {body.name for body in bodies if isinstance(body, ev.Marked)}
    if not marks or not any(isinstance(body, ev.Handed) for body in bodies):
        return None
    offer = next((one for one in Handoffs(session.workspace).of(session.id) if one.mark in marks), None)
    if offer is not None and offer.status == "taken":
        raise NothingToUndo(
            f"the last command cannot be undone: {offer.taker} took the offer",
            hint="`segue handoff --to NAME` offers the session again",
        )
    return offer if offer is not None and offer.status == "open" else None


def _forgotten(
    session: SessionHandle, bodies: Sequence[ev.Body | None], then: SessionState, offer: Offer | None
) -> MemoryChange | None:
    """The change that deprecates memories which the command created, unless the same had been learnt
    before."""
    before = {finding.text for finding in then.findings}
    texts = {body.text for body in bodies if isinstance(body, ev.Learnt)} - before
    shared = offer.memories if offer is not None else ()
    if not (texts or shared) or session.workspace.repository.learnt is None:
        return None

    service, at = memories_of(session.workspace), now()
    reader = service.reader(session=session.id)
    where = MemoryFilter(types=("learnt",), sessions=(session.id,))
    found = [one for one in service.store.listing(reader, where, at) if one.content in texts] if texts else []
    found += [one for one in service.store.get(shared, reader) if one.live]
    return service.deprecation(found, REASON) if found else None


def undone_of(session: SessionHandle, saved: Saved) -> dict[str, list[str]]:
    """What an undo reverted, and what stays of the same command, in words."""
    found = session.log(after=saved.version - 1, limit=1) if saved.events else []
    body = ev.read_body(found[0]) if found else None
    result: dict[str, list[str]] = {"undone": [], "stays": []}
    notes: set[str] = set()
    for event in session.log(after=body.to) if isinstance(body, ev.Rewound) else []:
        result["stays" if event.kind in STAYS else "undone"].append(event_words(event))
        noted = ev.read_body(event)
        notes |= {noted.text} if isinstance(noted, ev.Noted) else set()
        if not event.left:
            break
    for one in Handoffs(session.workspace).taken_with(session.id, notes):  # a taken offer stays taken
        result["stays"].append(f"{one.taker} took offer {one.id}; `segue handoff --to NAME` makes a new one")
    return result
