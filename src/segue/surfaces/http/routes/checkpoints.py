"""`/v1/sessions/{id}/checkpoints`: any mix of changes in one commit, and the states that were given a
name."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ....core.sessions import checkpoint
from ....services.sessions.repository import Saved
from ..server.parameters import INTEGER_MAX, RequestBody
from ..server.route import Caller, route
from .commands import COMMANDS_MAX, commit
from .sessions import CARD


class NamedCheckpoint(msgspec.Struct):
    """A state that was given a name."""

    name: str
    version: int
    at: str
    note: str


class CheckpointList(msgspec.Struct):
    checkpoints: list[NamedCheckpoint]


Texts = Annotated[list[str], Meta(max_length=COMMANDS_MAX)]
Pairs = Annotated[list[tuple[str, str]], Meta(max_length=COMMANDS_MAX)]


class NewCheckpoint(RequestBody):
    """What changed: the fields of a checkpoint, as `segue checkpoint` has options for them."""

    done: Texts = []
    begin: Texts = []
    add: Texts = []
    block: Pairs = []
    unblock: Texts = []
    drop: Pairs = []
    stay: bool = False
    new: bool = False
    note: str | None = None
    decide: Pairs = []
    ask: Texts = []
    answer: Pairs = []
    thread: Pairs = []
    focus: str | None = None
    learn: Texts = []
    error: Texts = []
    solved: Pairs = []
    summary: str | None = None
    goal: str | None = None
    name: str | None = None
    since: Annotated[int, Meta(ge=0, le=INTEGER_MAX)] | None = None
    """The version that it was made for; a conflict with later events is 409 ``stale_version``."""
    fence: Annotated[int, Meta(ge=0, le=INTEGER_MAX)] = 0
    """The fencing number of a hold of the run in `Segue-Run`; without that hold the checkpoint is refused."""


@route(
    "POST", "/v1/sessions/{id}/checkpoints", role="writer", together=lambda body: not body.learn,
    body={"done": ["user model"], "begin": ["auth middleware"], "decide": [["HS256", "one issuer only"]]},
)  # fmt: skip
def make_checkpoint(caller: Caller, id: str, body: NewCheckpoint) -> Saved:
    """Make any mix of changes in one commit, all or none; with a name, a state to rewind to."""
    made = msgspec.convert(msgspec.structs.asdict(body), checkpoint.Checkpoint)
    return commit(caller, id, checkpoint.commands(made), since=body.since, fence=body.fence)


@route(
    "GET", "/v1/sessions/{id}/checkpoints", role="reader",
    response={"checkpoints": [{"name": "before-refactor", "version": 7, "at": CARD["created"], "note": ""}]},
)  # fmt: skip
def list_checkpoints(caller: Caller, id: str) -> CheckpointList:
    """The named checkpoints, the oldest first."""
    marks = sorted(caller.session(id).state.marks.items(), key=lambda pair: pair[1].version)
    return CheckpointList([NamedCheckpoint(name, mark.version, mark.at, mark.note) for name, mark in marks])
