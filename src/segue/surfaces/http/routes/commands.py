"""`POST /v1/sessions/{id}/commands`: any mix of commands on a session, in one commit.

A command says what somebody wants; the library decides which events it leads to, so that no request can write
what would be refused elsewhere. What only Segue itself can say (that a check ran, that a step was attested)
and what needs an earlier state (a rewind) cannot be sent here: they have routes of their own, or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....core import event_kinds as ev
from ....core.base.text import clean_name
from ....core.sessions import budget as money, commands as do
from ....errors import UsageError
from ....services.sessions.holds import Hold
from ....services.sessions.repository import Saved
from ..server.parameters import INTEGER_MAX, RequestBody
from ..server.route import Caller, route

COMMANDS_MAX = 1_000
COMMANDS: Mapping[type[do.Command], type[ev.Body]] = {
    do.Add: ev.ItemAdded, do.Begin: ev.ItemBegun, do.Done: ev.ItemDone, do.Block: ev.ItemBlocked,
    do.Unblock: ev.ItemUnblocked, do.Drop: ev.ItemDropped, do.Note: ev.Noted, do.Decide: ev.Decided,
    do.Ask: ev.Asked, do.Answer: ev.Answered, do.Learn: ev.Learnt, do.Fail: ev.ErrorSeen,
    do.Solve: ev.ErrorSolved, do.Thread: ev.ThreadMoved, do.Focus: ev.FocusSet, do.LoadNotes: ev.NotesLoaded,
    do.SeeChanges: ev.ChangesSeen, do.NoteContext: ev.ContextNoted, do.Count: ev.Counted,
    do.NoteAgent: ev.AgentNoted, do.DropAgent: ev.AgentDropped, do.Describe: ev.Described,
    do.Mark: ev.Marked, do.Pause: ev.SessionPaused, do.Resume: ev.Resumed, do.Abandon: ev.Abandoned,
    do.Hand: ev.Handed, money.SetBudget: ev.BudgetSet, money.Spend: ev.BudgetSpent,
}  # fmt: skip
"""Each command that may be sent, with the event that it leads to, whose fields are the first ones of the
command."""
ELSEWHERE = {
    do.Create: "POST /v1/sessions", do.Rewind: "POST /v1/sessions/{id}/rewind and …/undo",
    do.SaveAgent: "PUT /v1/sessions/{id}/agents/{agent}", do.Complete: "POST /v1/sessions/{id}/complete",
}  # fmt: skip
"""Commands that have a route of their own, because they need values that a request must not set."""


def wire_type(kind: type[do.Command], name: str, names: Sequence[str], **more: Any) -> type[msgspec.Struct]:
    """A type with the first fields of a command under these names, which refuses any other field."""
    fields: Any = [
        (own, field.type, _default(field))
        for own, field in zip(names, msgspec.structs.fields(kind), strict=False)
    ]
    return msgspec.defstruct(name, fields, module=__name__, forbid_unknown_fields=True, **more)


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.field(default_factory=field.default_factory)
    return msgspec.field(default=field.default)


WIRE = {
    wire_type(
        kind, f"{kind.__name__}Command", kind.__struct_fields__, tag=kind.__name__, tag_field="command",
        namespace={"__doc__": kind.__doc__},
    ): kind
    for kind in COMMANDS
}  # fmt: skip
_AnyCommand: Any = reduce(or_, WIRE)


class CommandList(RequestBody):
    """Commands, carried out in this order, all or none."""

    commands: Annotated[list[_AnyCommand], Meta(min_length=1, max_length=COMMANDS_MAX)]
    since: Annotated[int, Meta(ge=0, le=INTEGER_MAX)] | None = None
    fence: Annotated[int, Meta(ge=0, le=INTEGER_MAX)] = 0


def command_of(kind: type[do.Command], wire: msgspec.Struct) -> do.Command:
    """The command that was sent. Raises UsageError if a name or a kind in it is not valid."""
    command = kind(*(getattr(wire, name) for name in wire.__struct_fields__))
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


def needs_no_model(kinds: Sequence[type[do.Command]]) -> bool:
    """Whether no command needs an embedder, which a finding does and which may take long."""
    return do.Learn not in kinds


@route(
    "POST", "/v1/sessions/{id}/commands", role="writer",
    together=lambda body: needs_no_model([WIRE[type(one)] for one in body.commands]),
    body={
        "commands": [
            {"command": "Done", "item": "user model"}, {"command": "Begin", "item": "auth middleware"},
            {"command": "Decide", "text": "HS256", "why": "one issuer only"},
        ],
        "since": 4,
    },
)  # fmt: skip
def run_commands(caller: Caller, id: str, body: CommandList) -> Saved:
    """Carry out commands in one commit, all or none. They are merged with what others wrote in the meantime
    where that is safe; with ``since``, the version that they were made for, a conflict is 409
    ``stale_version``. With ``fence``, the number of a hold of the run in `Segue-Run`, they are refused once
    that hold is lost."""
    commands = [command_of(WIRE[type(one)], one) for one in body.commands]
    return commit(caller, id, commands, since=body.since, fence=body.fence)


def commit(
    caller: Caller, id: str, commands: Sequence[do.Command], *, since: int | None, exact: bool = False,
    fence: int = 0,
) -> Saved:  # fmt: skip
    """Decide what was sent, as commands or as events, and commit the result, all or none."""
    session, workspace = caller.session(id), caller.segue.workspace
    hold = Hold(workspace.holds, session.id, workspace.repository.run, fence, 0.0, "") if fence else None
    saved = workspace.repository.commit(
        session.id, commands, guards=hold.guard if hold else None, since=since, exact=exact
    )
    return workspace.with_warnings(saved)
