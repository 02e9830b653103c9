"""OpenCode's conversations as ``opencode export`` writes them, versions 1.0 to 1.18, as far as we read them.

The form is ``{info, messages: [{info, parts}]}``; a session of the database is converted to it, with its rows
of ``todo`` as ``todos``. Times are in milliseconds. Most bytes are diffs in the ``summary`` of user messages
and in the ``metadata`` of tools, which are never decoded.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from ...core.base.lazy import json_decoder


class Times(Struct, gc=False):
    """``time`` of a session, a message, a part or a tool's state."""

    created: float | None = None
    updated: float | None = None
    completed: float | None = None  # missing if the agent died or is still working
    start: float | None = None
    end: float | None = None


class Revert(Struct, gc=False):
    """The user went back: this message, or this part of it, and everything after it are undone."""

    message: str = field(name="messageID", default="")
    part: str | None = field(name="partID", default=None)


class Session(Struct, gc=False):
    """The document's ``info``."""

    id: str = ""
    directory: str = ""
    title: str = ""
    version: str = ""
    parent: str | None = field(name="parentID", default=None)
    time: Times | None = None
    revert: Revert | None = None


class Cache(Struct, gc=False):
    read: int = 0
    write: int = 0


class Tokens(Struct, gc=False):
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: Cache | None = None


class Where(Struct, gc=False):
    cwd: str = ""


class ErrorData(Struct, gc=False):
    message: str = ""
    status: int | None = field(name="statusCode", default=None)


class Error(Struct, gc=False):
    """Why a message ended early; ``MessageAbortedError`` means that the user aborted it."""

    name: str = ""
    message: str = ""
    data: ErrorData | None = None


class Info(Struct, gc=False):
    """A message's ``info``."""

    id: str = ""
    role: str = ""
    time: Times | None = None
    path: Where | None = None
    model_id: str = field(name="modelID", default="")
    provider_id: str = field(name="providerID", default="")
    tokens: Tokens | None = None
    cost: float | None = None
    finish: str | None = None
    error: Error | None = None
    summary: Raw = Raw()  # of the agent's: true, if it is what a compaction left; of the user's: diffs


class Part(Struct, gc=False):
    """A part of a message: text, reasoning, tool, step-start, step-finish, patch, compaction, retry …"""

    id: str = ""
    type: str = ""
    text: str = ""
    synthetic: bool | None = None  # the harness or a plugin wrote it
    ignored: bool | None = None
    time: Times | None = None
    tool: str = ""
    call: str = field(name="callID", default="")
    state: Raw = Raw()
    tokens: Tokens | None = None
    cost: float | None = None
    files: list[str] | None = None  # of a patch: what changed on disk during the step
    auto: bool | None = None  # of a compaction
    overflow: bool | None = None  # of a compaction: the last prompt did not fit, and is repeated after it
    command: str | None = None  # of a subtask: the user's slash command, without the slash
    error: Error | None = None  # of a retry


class State(Struct, gc=False):
    """A tool's ``state``: pending, running, completed or error."""

    status: str = ""
    input: Any = None
    output: str | None = None
    error: str | None = None
    time: Times | None = None
    metadata: Raw = Raw()


class Metadata(Struct, gc=False):
    exit: int | None = None  # of bash
    exists: bool | None = None  # of write: there was such a file before
    interrupted: bool | None = None  # the user aborted the response while the tool ran


class Todo(Struct, gc=False):
    content: str = ""
    status: str = ""
    time_updated: float | None = None


class Message(Struct, gc=False):
    info: Raw = Raw()
    parts: Raw = Raw()


class Document(Struct, gc=False):
    info: Raw = Raw()
    messages: Raw = Raw()
    todos: Raw = Raw()  # ours: the rows of the database


DOCUMENT = json_decoder(Document)
SESSION = json_decoder(Session)
MESSAGE = json_decoder(Message)
INFO = json_decoder(Info)
PART = json_decoder(Part)
STATE = json_decoder(State)
METADATA = json_decoder(Metadata)
TODO = json_decoder(Todo)
LIST = msgspec.json.Decoder(list[Raw])
