"""A transcript to a digest: the whole of it, or what was added since.

The digest that is kept ends at the last whole line, so reading on gives what reading anew would. A last
line without its newline is told in a copy: it may be whole, torn, or still being written. No content makes
this raise; only a file that cannot be opened, or that no agent wrote, does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ...agents import agent as agent_of
from ...agents import recognise
from ...agents.base import HEAD_BYTES, Agent
from ...core.runs.digest import decode, encode, fold, take
from ...core.runs.model import RunDigest
from ...core.runs.steps import Step
from ...effects.files.growing_file import chunks, views
from ...effects.redaction.redact import redact_bytes
from ...errors import TranscriptUnreadable

Clean = Callable[[bytes], bytes]
Also = Callable[[Step], None]
SEEN_BYTES = 256  # of each block


class Reading(msgspec.Struct):
    """How far a transcript was read, and what it says."""

    agent: str
    path: str
    native: str = ""
    offset: int = 0  # bytes that are in the digest; of a document, its size
    kept: Any = None  # what the reader needs to go on
    digest: RunDigest = msgspec.field(default_factory=RunDigest)
    malformed: int = 0
    skipped: int = 0
    torn: bytes = b""  # a last line without its newline
    seen: dict[int, bytes] = {}  # of this reading: offsets, and the bytes before them as they were then


def recognised(path: Path, name: str = "") -> Agent:
    """The agent of this name, or the one that wrote the file."""
    if name:
        return agent_of(name)
    if path.is_dir():
        found = recognise(b"", str(path))
    else:
        try:
            with path.open("rb") as file:
                head = file.read(HEAD_BYTES)
        except OSError as fault:
            raise unreadable(path, fault.strerror or "it cannot be opened") from fault
        if not head:
            raise unreadable(path, "it is empty")
        found = recognise(head, str(path))
    if found is None:
        raise unreadable(path, "no agent that Segue knows wrote it")
    return found


def unreadable(path: Path, why: str) -> TranscriptUnreadable:
    return TranscriptUnreadable(
        f"cannot read {path}: {why}",
        hint="`segue runs` lists the transcripts of this project; --agent names the agent",
    )


def read(
    path: Path, agent: Agent, native: str = "", clean: Clean | None = None, also: Also | None = None
) -> Reading:
    """Read a transcript from its start; ``also`` is handed every step."""
    return read_on(Reading(agent.name, str(path), native), agent, clean, also)


def read_on(reading: Reading, agent: Agent, clean: Clean | None = None, also: Also | None = None) -> Reading:
    """Add what came since; the reading is changed and given back."""
    path = Path(reading.path)
    reader = agent.reader(reading.kept)
    digest = reading.digest
    try:
        if agent.form == "lines":
            read_view = getattr(reader, "read_view", None) or (lambda line: reader.read(bytes(line)))
            for block in _blocks(reading, path, clean):
                for line in views(block):
                    for step in read_view(line):
                        take(digest, step)
                        if also is not None:
                            also(step)
        else:
            record = agent.load(path, reading.native)
            if clean is not None:
                record = clean(record)
            steps = reader.read(record)
            reading.digest = fold(steps if also is None else _both(steps, also))
            reading.offset = len(record)
    except OSError as fault:
        raise unreadable(path, fault.strerror or "it cannot be opened") from fault
    reading.kept = reader.keep()
    reading.malformed += reader.malformed
    reading.skipped += reader.skipped
    return reading


def _both(steps: Iterable[Step], also: Also) -> Iterator[Step]:
    for step in steps:
        also(step)
        yield step


def _blocks(reading: Reading, path: Path, clean: Clean | None) -> Iterator[bytes]:
    """Whole lines; each block counts as read once the next is asked for."""
    reading.torn = b""
    for raw, offset in chunks(path, reading.offset):
        block = clean(raw) if clean is not None else raw
        if not raw.endswith(b"\n"):
            reading.torn = block
            return
        yield block
        reading.offset, reading.seen[offset] = offset, raw[-SEEN_BYTES:]


def final(reading: Reading, agent: Agent) -> RunDigest:
    """The digest with the last line in it, if that can be read."""
    if not reading.torn:
        return reading.digest
    copy = decode(encode(reading.digest)) or RunDigest()
    return fold(agent.reader(reading.kept).read(reading.torn), copy)


def masked(digest: RunDigest) -> RunDigest:
    """The digest without secrets, whatever field they are in."""
    told = msgspec.json.encode(digest)
    clean = redact_bytes(told)
    return digest if clean == told else msgspec.json.decode(clean, type=RunDigest)
