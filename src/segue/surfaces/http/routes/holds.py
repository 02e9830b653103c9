"""`/v1/sessions/{id}/hold`: who works on a session, so that two runs do not do the same work.

A hold that is taken here lasts as long as its lease: the server cannot see whether the process behind it is
still alive. Its fencing number is sent with commands, so that those of a run that lost the hold are refused.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ....core.base.text import clean_name
from ....core.sessions.holds import LEASE_SECONDS, Holder
from ....services.sessions.holds import Hold, new_run
from ..server.parameters import INTEGER_MAX, SAVED, Id, Name, RequestBody
from ..server.route import Caller, route

HOLDER = {
    "holder": "codex", "run": "run-5f3a", "host": "laptop", "pid": 0, "pid_start": "", "fence": 3,
    "since": "2026-11-15T10:00:00.000000Z", "until": "2026-11-15T10:15:00.000000Z", "share": False,
}  # fmt: skip
Lease = Annotated[float, Meta(gt=0, le=86_400)]
Fence = Annotated[int, Meta(ge=1, le=INTEGER_MAX)]


class NewHold(RequestBody):
    """A hold to take."""

    run: Id = ""
    """The run that holds; by default that of `Segue-Run`, else a new id."""
    holder: Name = ""
    host: Name = ""
    """A description of where it runs."""
    share: bool = False
    lease_seconds: Lease = LEASE_SECONDS


class OwnHold(RequestBody):
    """The hold that the caller has."""

    run: Id
    fence: Fence
    lease_seconds: Lease = LEASE_SECONDS


class TakenHold(msgspec.Struct):
    """A hold that was taken or renewed."""

    session: str
    run: str
    fence: int
    until: str


class HolderList(msgspec.Struct):
    session: str
    holders: list[Holder]
    crashed: list[Holder]
    """Runs that never released the session and whose hold is no longer in force."""


@route(
    "GET", "/v1/sessions/{id}/hold", role="reader",
    response={"session": SAVED["session"], "holders": [HOLDER], "crashed": []},
)  # fmt: skip
def get_hold(caller: Caller, id: str) -> HolderList:
    """Who holds a session."""
    return _holders(caller, caller.session(id).id)


def _holders(caller: Caller, id: str) -> HolderList:
    holds = caller.segue.workspace.holds
    return HolderList(id, list(holds.living(id)), list(holds.crashed(id)))


@route(
    "POST", "/v1/sessions/{id}/hold", role="writer", status=201, body={"lease_seconds": 900},
    response={"session": SAVED["session"], "run": "run-5f3a", "fence": 3, "until": HOLDER["until"]},
)  # fmt: skip
def take_hold(caller: Caller, id: str, body: NewHold) -> TakenHold:
    """Hold a session for a run; 409 ``session_held`` while another does. It ends with its lease."""
    session, segue = caller.session(id), caller.segue
    run = clean_name(body.run or segue.workspace.repository.run or new_run(), what="run id")
    held = segue.workspace.holds.take(
        session.id, holder=caller.access.act_as(body.holder) or segue.workspace.repository.actor, run=run,
        share=body.share, lease_seconds=body.lease_seconds, pid=0, host=body.host or "elsewhere",
    )  # fmt: skip
    return TakenHold(session.id, held.run, held.fence, held.until)


@route(
    "POST", "/v1/sessions/{id}/hold/renew", role="writer",
    body={"run": "run-5f3a", "fence": 3},
    response={"session": SAVED["session"], "run": "run-5f3a", "fence": 3, "until": HOLDER["until"]},
)  # fmt: skip
def renew_hold(caller: Caller, id: str, body: OwnHold) -> TakenHold:
    """Extend the lease; 409 ``session_held`` if the hold was lost in the meantime."""
    held = _own_hold(caller, id, body)
    held.renew()
    return TakenHold(held.session, held.run, held.fence, held.until)


def _own_hold(caller: Caller, id: str, body: OwnHold) -> Hold:
    session, holds = caller.session(id), caller.segue.workspace.holds
    return Hold(holds, session.id, body.run, body.fence, body.lease_seconds, "")


@route(
    "POST", "/v1/sessions/{id}/hold/release", role="writer",
    body={"run": "run-5f3a", "fence": 3},
    response={"session": SAVED["session"], "holders": [], "crashed": []},
)  # fmt: skip
def release_hold(caller: Caller, id: str, body: OwnHold) -> HolderList:
    """Release a hold; releasing one that was lost is not an error."""
    held = _own_hold(caller, id, body)
    held.release()
    return _holders(caller, held.session)
