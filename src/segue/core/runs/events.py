"""The bodies of events about runs, about conversations that programs keep in the store, about shared
transcripts, and about requests that a server has served."""

from __future__ import annotations

from typing import Any

import msgspec

from ..journal.event import Body


class RunHooked(Body):
    KIND = "run.hooked"
    id: str
    """The id of the record in the spool, so that each record is stored only once."""
    agent: str
    event: str
    """The agent's own name for the event."""
    sum: str = ""
    """A checksum of the hook's input, so that an event from two installs is stored only once."""
    kind: str = ""
    source: str = ""
    text: str = ""
    turn: str = ""
    tool: str = ""
    call: str = ""
    done: bool = False
    cwd: str = ""
    transcript: str = ""
    pid: int = 0


class BriefGiven(Body):
    KIND = "brief.given"
    what: str
    """What the text is: brief, steer, pressure or pitfall."""
    source: str
    bytes: int
    hash: str
    text: str
    facts: list[tuple[str, str, int]] = []
    """The kind, the source and the size of each fact in the text."""
    session: str = ""
    holds: dict[str, Any] = {}
    """What held when a version before 0.3 made the text; since then the ledger of the session has it."""
    runs: list[str] = []
    """The keys of the runs that the text is about: the one that stopped, then those before it."""
    own: bool = False
    """Whether the text is about the run itself, which was compacted or resumed."""


class StopRefused(Body):
    KIND = "stop.refused"
    turn: str
    reason: str
    session: str = ""


class ConversationChanged(Body):
    KIND = "conversation.changed"
    items: list[msgspec.Raw] = []
    """What was added to the end, as the program wrote it."""
    keep: int = -1
    """How many of the items before stay; -1 for all of them."""
    name: str = ""
    """How the program calls the conversation; only in the first event."""
    cwd: str = ""
    """The folder that the program worked in; only in the first event."""


class Served(Body):
    KIND = "request.served"
    left: list[str] = []
    """The streams that the request wrote to, each with its version afterwards."""


class TranscriptShared(Body):
    KIND = "transcript.shared"
    key: str
    """The key of the run."""
    agent: str
    native: str
    size: int
    """The size of the copy in bytes, before compression."""
    hash: str
    """The SHA-256 of the copy."""
    stays: int = 0
    """How many pieces of the previous copy are kept."""
    pieces: list[tuple[str, int]] = []
    """The pieces after those: the address of each, and how many bytes of the copy it contains."""
