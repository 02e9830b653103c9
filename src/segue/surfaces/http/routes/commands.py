"""Commands on a session over HTTP: any mix of them in one commit, and the ways to pause, resume and end it.

A command says what somebody wants; what it comes to is decided by the library, so that no request can write
what a decision would refuse. What only Segue itself can say (that a check ran, that a step was attested) and
what carries a state with it (a rewind) are no commands here: they have routes of their own, or none. The gate
of features holds: a completion asks it as every surface does.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from ....api.session import Session
from ....core.base.text import clean_name
from ....core.sessions import budget as money
from ....core.sessions import commands as do
from ....errors import UsageError
from ....services.handoff.undo import undone_of
from ....services.resume.interruptions import Interruption
from ....services.sessions.holds import Hold
from ....services.sessions.repository import Saved
from ..server.parameters import SAVED, WHOLE_MAX, Id, Reason, Text, Wish, session_of, with_more
from ..server.route import Visit, route

TAGS = ("commands",)
COMMANDS_MAX = 1_000
KINDS: tuple[type[do.Command], ...] = (
    do.Add, do.Begin, do.Done, do.Block, do.Unblock, do.Drop, do.Note, do.Decide, do.Ask, do.Answer, do.Learn,
    do.Fail, do.Solve, do.Thread, do.Focus, do.LoadNotes, do.SeeChanges, do.NoteContext, do.Count,
    do.NoteAgent, do.DropAgent, do.Describe, do.Mark, do.Pause, do.Resume, do.Abandon, do.Hand,
    money.SetBudget, money.Spend,
)  # fmt: skip
ELSEWHERE = {
    do.Create: "POST /v1/sessions", do.Rewind: "POST /v1/sessions/{id}/rewind and …/undo",
    do.SaveAgent: "PUT /v1/sessions/{id}/agents/{agent}", do.Complete: "POST /v1/sessions/{id}/complete",
}  # fmt: skip
"""Commands that have a route of their own, because they need what a request must not bring along."""


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.field(default_factory=field.default_factory)
    return msgspec.field(default=field.default)


def wire_of(kind: type[msgspec.Struct], *, name: str = "", **more: Any) -> type[msgspec.Struct]:
    """A type of ours as it comes in a request: with no field that it does not have."""
    fields: Any = [(field.name, field.type, _default(field)) for field in msgspec.structs.fields(kind)]
    return msgspec.defstruct(
        name or kind.__name__, fields, module=__name__, forbid_unknown_fields=True,
        namespace={"__doc__": kind.__doc__}, **more,
    )  # fmt: skip


WIRE = {wire_of(kind, tag=kind.__name__, tag_field="command"): kind for kind in KINDS}
_ANY: Any = reduce(or_, WIRE)

if TYPE_CHECKING:

    class CommandList(msgspec.Struct):
        commands: list[Any]
        since: int | None
        fence: int

else:
    CommandList = msgspec.defstruct(
        "CommandList",
        [
            ("commands", Annotated[list[_ANY], msgspec.Meta(min_length=1, max_length=COMMANDS_MAX)]),
            ("since", Annotated[int, msgspec.Meta(ge=0, le=WHOLE_MAX)] | None, None),
            ("fence", Annotated[int, msgspec.Meta(ge=0, le=WHOLE_MAX)], 0),
        ],
        module=__name__, forbid_unknown_fields=True,
        namespace={"__doc__": "Commands, carried out in this order, all or none."},
    )  # fmt: skip


class PauseWish(Reason):
    """Why it is paused."""

    cause: Literal[do.PAUSE_CAUSES] = "user"  # type: ignore[valid-type]


class Completion(Wish):
    """How it ended."""

    summary: Text = ""
    force: Text = ""
    """Why it is completed although not every feature is proven; it is recorded."""


class Unproven(msgspec.Struct):
    id: str
    status: str
    reason: str


class Completed(Saved, kw_only=True):
    """What a completion came to."""

    left_open: list[str]
    proven: bool
    unproven: list[Unproven]
    changes: list[str]


class Rewinding(Wish):
    """Where to."""

    name: Id


class Undone(Saved, kw_only=True):
    """What was taken back, in words."""

    undone: list[str]
    stays: list[str] = []
    """What of the same command nothing takes back."""


def command_of(wish: msgspec.Struct) -> do.Command:
    """The command that a wish stands for."""
    kind = WIRE[type(wish)]
    return checked(kind(**{name: getattr(wish, name) for name in wish.__struct_fields__}))


def checked(command: do.Command) -> do.Command:
    """The command, if names and kinds in it can be such; what the library's own methods look at."""
    if isinstance(command, do.Mark):
        clean_name(command.name, what="checkpoint's name")
    elif isinstance(command, do.NoteAgent):
        clean_name(command.agent, what="agent's name")
    elif isinstance(command, do.SeeChanges):
        kinds = ("created", "modified", "deleted")
        wrong = next((kind for _, kind in command.changes if kind not in kinds), None)
        if wrong is not None:
            raise UsageError(f"unknown kind of change: {wrong[:40]}", hint="created, modified or deleted")
    elif isinstance(command, do.Describe) and command.goal is not None and not command.goal.strip():
        raise UsageError("the goal is empty", hint="say it in a few words")
    return command


@route(
    "POST", "/v1/sessions/{id}/commands", need="writer", tags=TAGS, answer=SAVED,
    together=lambda data: all(WIRE[type(one)] is not do.Learn for one in data.commands),  # it takes a model
    body={
        "commands": [
            {"command": "Done", "item": "user model"}, {"command": "Begin", "item": "auth middleware"},
            {"command": "Decide", "text": "HS256", "why": "one issuer only"},
        ],
        "since": 4,
    },
)  # fmt: skip
def run_commands(visit: Visit, id: str, data: CommandList) -> Saved:
    """Carry commands out, in one commit: all, or none. What others wrote meanwhile is merged with where that
    is safe; with ``since``, the version that they were made for, a clash is 409 ``stale_version``. With
    ``fence``, the number of a hold of the run in `Segue-Run`, they count only while that hold lasts."""
    session = session_of(visit, id)
    commands = [command_of(wish) for wish in data.commands]
    if data.fence:
        return _fenced(visit, session, commands, data)
    return session.apply(*commands, since=data.since)


def _fenced(visit: Visit, session: Session, commands: list[do.Command], data: CommandList) -> Saved:
    segue = visit.segue
    hold = Hold(segue.workspace.holds, session.id, segue.workspace.repository.run, data.fence, 0.0, "")
    return segue.workspace.repository.commit(session.id, commands, guards=hold.guard, since=data.since)


@route("POST", "/v1/sessions/{id}/pause", need="writer", tags=TAGS, body={"reason": "waiting for review"})
def pause_session(visit: Visit, id: str, data: PauseWish) -> Interruption:
    """Stop for now. Processes of agents and manifests are those of other machines: they are left alone."""
    return session_of(visit, id).pause(data.reason, cause=data.cause)


@route("POST", "/v1/sessions/{id}/resume", need="writer", tags=TAGS, answer=SAVED)
def resume_session(visit: Visit, id: str) -> Saved:
    """Go on. If it was left alone for too long, a pause by timeout is recorded first. A session that is over
    stays over."""
    return session_of(visit, id).resume()


@route(
    "POST", "/v1/sessions/{id}/complete", need="writer", tags=TAGS,
    body={"summary": "JWT everywhere, sessions gone"},
    answer={**SAVED, "left_open": [], "proven": False, "unproven": [], "changes": []},
)  # fmt: skip
def complete_session(visit: Visit, id: str, data: Completion) -> Completed:
    """The goal is reached. 409 ``unverified_features`` unless every feature is proven, or ``force`` says why
    not. The server sees no working tree: what checks have proven is completed from a client that does."""
    session = session_of(visit, id)
    if data.force and not data.force.strip():
        raise UsageError("force needs a reason", hint="say why it is completed although it is not proven")
    gate = session.features.gate()
    saved = session.complete(data.summary, force=data.force)
    status = session.status()
    left = [*status.active, *status.next, *(blocked.item for blocked in status.blocked)]
    told: Any = with_more(
        saved, left_open=left, proven=gate.ok and bool(gate.counts.total),
        unproven=[Unproven(one.id, one.status, one.reason) for one in gate.unproven],
        changes=list(gate.changes),
    )  # fmt: skip
    return told  # type: ignore[no-any-return]


@route(
    "POST", "/v1/sessions/{id}/abandon", need="writer", tags=TAGS, body={"reason": "the customer left"},
    answer=SAVED,
)  # fmt: skip
def abandon_session(visit: Visit, id: str, data: Reason) -> Saved:
    """The goal is given up."""
    return session_of(visit, id).abandon(data.reason)


@route(
    "POST", "/v1/sessions/{id}/rewind", need="writer", tags=TAGS, body={"name": "before-refactor"},
    answer=SAVED,
)  # fmt: skip
def rewind_session(visit: Visit, id: str, data: Rewinding) -> Saved:
    """Back to the work as it was at a named checkpoint; what came after stays in the log."""
    return session_of(visit, id).rewind(data.name)


@route(
    "POST", "/v1/sessions/{id}/undo", need="writer", tags=TAGS,
    answer={**SAVED, "undone": ["done: user model"], "stays": []},
)  # fmt: skip
def undo_session(visit: Visit, id: str) -> Undone:
    """Take the last command back; again, the one before it."""
    session = session_of(visit, id)
    saved = session.undo()
    told: Any = with_more(saved, **undone_of(session, saved))
    return told  # type: ignore[no-any-return]


ROUTES = [
    run_commands, pause_session, resume_session, complete_session, abandon_session, rewind_session,
    undo_session,
]  # fmt: skip
