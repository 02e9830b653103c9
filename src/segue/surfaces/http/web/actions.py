"""Every action: what a form on a page does."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ....api.session import Session
from ....errors import SegueError, UsageError
from ....services.memories.curation import prune
from ....services.overview.session_view import session_view
from .page import Fields, GoTo, Page, action, number, one_of
from .render import link
from .visitor import Visitor

VOTES = ("helpful", "harmful")
CORRECTIONS = ("done", "drop", "reopen")


class _Checks:
    """Which sessions' checks run now, and what went wrong with those that could not be run."""

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.faults: dict[str, str] = {}
        self.ended = 0


_checks = _Checks()


def checks_of(id: str) -> tuple[bool, str]:
    """Whether the checks of a session run now, and why the last ones could not be run."""
    return id in _checks.running, _checks.faults.get(id, "")


def checks_ended() -> int:
    """How often checks have ended that were begun on a page."""
    return _checks.ended


def _folder_of(visitor: Visitor, id: str) -> str:
    with visitor.segue() as segue:
        return session_view(segue.workspace, id).folder


def _on_session(visitor: Visitor, id: str, act: Callable[[Session], object], said: str) -> GoTo:
    with visitor.segue(_folder_of(visitor, id)) as segue:
        act(segue.attach(id))
    return GoTo(link("session", id), said)


def _needed(fields: Fields, name: str) -> str:
    text = fields.get(name, "").strip()
    if not text:
        raise UsageError(f"nothing was entered in {name!r}", hint="fill it in and send the form again")
    return text


@action("/session/{id}/pause", role="writer")
def pause(visitor: Visitor, fields: Fields, id: str) -> GoTo:
    """Pause a session."""
    reason = fields.get("reason", "").strip()
    return _on_session(visitor, id, lambda session: session.pause(reason), "paused")


@action("/session/{id}/resume", role="writer")
def resume(visitor: Visitor, fields: Fields, id: str) -> GoTo:
    """Take a session up again."""
    return _on_session(visitor, id, lambda session: session.resume(), "resumed")


@action("/session/{id}/note", role="writer")
def note(visitor: Visitor, fields: Fields, id: str) -> GoTo:
    """Add a note to a session."""
    text = _needed(fields, "text")
    return _on_session(visitor, id, lambda session: session.note(text), "noted")


@action("/session/{id}/decide", role="writer")
def decide(visitor: Visitor, fields: Fields, id: str) -> GoTo:
    """Record a decision."""
    text, why = _needed(fields, "text"), fields.get("why", "").strip()
    return _on_session(visitor, id, lambda session: session.decide(text, why), "decided")


@action("/session/{id}/answer", role="writer")
def answer(visitor: Visitor, fields: Fields, id: str) -> GoTo:
    """Answer an open question."""
    question, text = _needed(fields, "question"), _needed(fields, "text")
    return _on_session(visitor, id, lambda session: session.answer(question, text), "answered")


@action("/session/{id}/ledger", role="writer")
def correct(visitor: Visitor, fields: Fields, id: str) -> GoTo:
    """Say of an entry of the ledger that it is done, holds no more, or holds after all."""
    entry, what = _needed(fields, "entry"), one_of(fields, "what", CORRECTIONS) or _needed(fields, "what")

    def act(session: Session) -> object:
        ledger = session.ledger
        return {"done": ledger.done, "drop": ledger.drop, "reopen": ledger.reopen}[what](entry)

    return _on_session(visitor, id, act, "corrected")


@action("/session/{id}/verify", role="writer")
def verify(visitor: Visitor, fields: Fields, id: str) -> GoTo:
    """Run the checks of a session in its working tree; the page shows them as they end."""
    if not visitor.is_local:
        raise UsageError(
            "checks run where the working tree is", hint=f"run there: segue verify --session {id}"
        )
    folder = _folder_of(visitor, id)
    if id not in _checks.running:
        _checks.running.add(id)
        threading.Thread(target=_verify, args=(visitor, folder, id), name="verify", daemon=True).start()
    return GoTo(link("session", id), "checks")


def _verify(visitor: Visitor, folder: str, id: str) -> None:
    _checks.faults.pop(id, None)
    try:
        with visitor.segue(folder) as segue:
            segue.attach(id).features.verify()
    except (SegueError, OSError) as fault:
        _checks.faults[id] = str(fault)
    finally:
        _checks.running.discard(id)
        _checks.ended += 1


@action("/memory/{id}/vote", role="writer")
def vote(visitor: Visitor, fields: Fields, id: str) -> GoTo:
    """Say whether a memory helped."""
    given = one_of(fields, "vote", VOTES) or _needed(fields, "vote")
    with visitor.segue() as segue:
        segue.memories.vote(id, given)
    back = {name: fields.get(name, "") for name in ("q", "type", "page")}
    return GoTo(link("memory", **back), "voted")


@action("/memory/prune", role="writer")
def prune_memories(visitor: Visitor, fields: Fields) -> Page | GoTo:
    """Keep a session's newest memories: shown first, carried out when it is confirmed."""
    session, keep = _needed(fields, "session"), number(fields, "keep", 50)
    is_confirmed = fields.get("confirmed") == "yes"
    with visitor.segue() as segue:
        done = prune(segue.memories, session, keep=keep, dry_run=not is_confirmed)
    if is_confirmed:
        return GoTo(link("memory"), "pruned")
    return Page("prune.html", "Prune memories", {"done": done, "session": session, "keep": keep})
