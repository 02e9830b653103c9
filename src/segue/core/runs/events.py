"""What stands in the stream of a run: what hooks saw, what it was told, when it was kept from stopping; in
that of its transcript: what others can read of it; and in that of a request to a server: what it left."""

from __future__ import annotations

from ..journal.event import Body


class RunHooked(Body):
    KIND = "run.hooked"
    id: str
    """Of the record in the spool: the same record is stored once."""
    agent: str
    event: str
    """As the agent calls it."""
    sum: str = ""
    """Of what the hook was told: the same event from two installs is stored once."""
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
    """brief, steer or pressure."""
    source: str
    bytes: int
    hash: str
    text: str
    facts: list[tuple[str, str, int]] = []
    """Kind, source and size of each."""
    session: str = ""


class StopRefused(Body):
    KIND = "stop.refused"
    turn: str
    reason: str
    session: str = ""


class Served(Body):
    KIND = "request.served"
    left: list[str] = []
    """Each stream that it wrote to, and its version then."""


class TranscriptShared(Body):
    KIND = "transcript.shared"
    key: str
    """Of the run."""
    agent: str
    native: str
    size: int
    """Bytes of the copy, not compressed."""
    hash: str
    """SHA-256 of these bytes."""
    stays: int = 0
    """How many of the pieces before stay."""
    pieces: list[tuple[str, int]] = []
    """Behind them come these: address, and how many bytes of the copy are in it."""
