"""`/v1/sessions/{id}/pause`, `…/resume`, `…/complete`, `…/abandon`, `…/rewind` and `…/undo`.

A completion passes the gate of features, as it does on every surface.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ....core.sessions.commands import PAUSE_CAUSES
from ....errors import UsageError
from ....services.features.complete import complete
from ....services.handoff.undo import undone_of
from ....services.resume.interruptions import Interruption
from ....services.sessions.repository import Saved
from ..server.parameters import SAVED, Id, Reason, RequestBody, Text, with_more
from ..server.route import Caller, route

TAG = "commands"


class PauseReason(Reason):
    """Why the session is paused."""

    cause: Literal[PAUSE_CAUSES] = "user"  # type: ignore[valid-type]


class Completion(RequestBody):
    """How the session ended."""

    summary: Text = ""
    force: Text = ""
    """Why it is completed although not every feature is proven; it is recorded."""


class UnprovenFeature(msgspec.Struct):
    id: str
    status: str
    reason: str


class CompletedSession(Saved, kw_only=True):
    """What was left open, and whether the features were proven."""

    left_open: list[str]
    proven: bool
    unproven: list[UnprovenFeature]
    changes: list[str]


class RewindTarget(RequestBody):
    """The named checkpoint to go back to."""

    name: Id


class UndoneCommand(Saved, kw_only=True):
    """What was undone, in words."""

    undone: list[str]
    stays: list[str] = []
    """What stays of the same command."""


@route("POST", "/v1/sessions/{id}/pause", role="writer", tag=TAG, body={"reason": "waiting for review"})
def pause_session(caller: Caller, id: str, body: PauseReason) -> Interruption:
    """Pause a session. Agents' processes and manifests belong to other machines, and are left alone."""
    return caller.session(id).pause(body.reason, cause=body.cause)


@route("POST", "/v1/sessions/{id}/resume", role="writer", tag=TAG)
def resume_session(caller: Caller, id: str) -> Saved:
    """Resume a session. If it was inactive for too long, a pause by timeout is recorded first. A session that
    is over stays over."""
    return caller.session(id).resume()


@route(
    "POST", "/v1/sessions/{id}/complete", role="writer", tag=TAG,
    body={"summary": "JWT everywhere, sessions gone"},
    response={**SAVED, "left_open": [], "proven": False, "unproven": [], "changes": []},
)  # fmt: skip
def complete_session(caller: Caller, id: str, body: Completion) -> CompletedSession:
    """Complete a session: its goal is reached. 409 ``unverified_features`` unless every feature is proven, or
    ``force`` gives a reason. The server sees no working tree: complete a session whose features are proven by
    checks from a client that does."""
    session = caller.session(id)
    if body.force and not body.force.strip():
        raise UsageError("force needs a reason", hint="say why it is completed although it is not proven")
    done = complete(session, body.summary, force=body.force)
    unproven = [UnprovenFeature(one.id, one.status, one.reason) for one in done.gate.unproven]
    return with_more(
        CompletedSession, done.saved, left_open=list(done.left_open), proven=done.proven, unproven=unproven,
        changes=list(done.gate.changes),
    )  # fmt: skip


@route("POST", "/v1/sessions/{id}/abandon", role="writer", tag=TAG, body={"reason": "the customer left"})
def abandon_session(caller: Caller, id: str, body: Reason) -> Saved:
    """Give up the goal of a session."""
    return caller.session(id).abandon(body.reason)


@route("POST", "/v1/sessions/{id}/rewind", role="writer", tag=TAG, body={"name": "before-refactor"})
def rewind_session(caller: Caller, id: str, body: RewindTarget) -> Saved:
    """Go back to the work as it was at a named checkpoint; what came after stays in the log."""
    return caller.session(id).rewind(body.name)


@route(
    "POST", "/v1/sessions/{id}/undo", role="writer", tag=TAG,
    response={**SAVED, "undone": ["done: user model"], "stays": []},
)  # fmt: skip
def undo_session(caller: Caller, id: str) -> UndoneCommand:
    """Undo the last command; sent again, the one before it."""
    session = caller.session(id)
    saved = session.undo()
    return with_more(UndoneCommand, saved, **undone_of(session, saved))
