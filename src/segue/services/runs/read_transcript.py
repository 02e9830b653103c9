"""Reading a transcript into a digest: all of it, or what was added since it was last read.

The stored digest ends at the last complete line, so that continuing gives the same as reading from the start.
A last line without a newline may be complete, torn or still being written: it is folded into a copy of the
digest only. No content makes this raise, only a file that cannot be opened or that no known agent wrote.

Where somebody waits, reading ends at a deadline: behind whole lines, so that it can go on there. A document
counts whole or not at all: what is too large, or takes too long, is not read then. Who only wants to know
where a run stopped is told its beginning and its end (``read_in_time``): what was done last counts most. The
digest says only what holds without the middle, is never stored, and whoever shows it says what is missing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ..._files import open_file
from ...agents import agent as agent_of, recognise, recognise_own_format
from ...agents.base import HEAD_BYTES, Agent
from ...core.base.lazy import json_decoder, msgpack_decoder
from ...core.base.record_lines import PassedLines, record_lines
from ...core.ledger.sayings import Saying
from ...core.runs.digest import behind_gap, decode, encode, fold, take
from ...core.runs.hearing import Hearing, hear, heard_now, hearing_behind_gap
from ...core.runs.model import RunDigest
from ...core.runs.steps import Step
from ...effects.deadline import NEVER, Deadline
from ...effects.files.growing_file import chunks
from ...effects.redaction import RULES_VERSION
from ...effects.redaction.redact import redact_bytes
from ...errors import TranscriptUnreadable

Clean = Callable[[bytes], bytes]
Also = Callable[[Step], None]
SEEN_BYTES = 256  # of each block
DOCUMENT_BYTES_MAX = 8 << 20
"""A transcript that has to be read whole each time, and is larger, is not read where somebody waits."""
_STEPS_BETWEEN = 64
"""How many steps of a document are taken before the time is looked at again."""
AHEAD_BYTES_MAX = 32 << 20
"""More than this behind the last place is not read at all before the end is."""
BEGINNING_BYTES = 1 << 20
END_BYTES_MAX, END_BYTES_MIN = 2 << 20, 1 << 16
DOCUMENT_END_BYTES = 1 << 18
SHARE = 1 / 3
"""Of the time that is left, for each part: others have to be read too, and told."""


class Reading(msgspec.Struct):
    """How far a transcript was read, and the digest of what it says."""

    agent: str
    path: str
    native: str = ""
    offset: int = 0  # bytes that are in the digest; for a document, its size
    kept: Any = None  # what the agent's reader needs to continue
    digest: RunDigest = msgspec.field(default_factory=RunDigest)
    hearing: Hearing = msgspec.field(default_factory=Hearing)
    malformed: int = 0
    skipped: int = 0
    torn: bytes = b""  # a last line without its newline
    seen: dict[int, bytes] = {}  # offsets that this process read up to, with the bytes before them
    masked_by: int = 0  # the version of the rules that masked the whole digest; 0 after more was read
    unread: int = 0  # bytes behind the offset that there was no time for
    missing: int = 0  # bytes before the offset that are not in the digest; such a reading is never stored

    @property
    def left_out(self) -> int:
        """How many bytes of the transcript are not in the digest, because there was no time for them."""
        return self.missing + self.unread

    def take(self, step: Step) -> None:
        """Take the next step."""
        take(self.digest, step)
        hear(self.hearing, self.digest, step)

    def start_over(self, steps: Iterable[Step]) -> None:
        """Take all steps of a document, which is read as a whole each time."""
        self.digest, self.hearing = RunDigest(), Hearing()
        for step in steps:
            self.take(step)


def recognised(path: Path, name: str = "", *, own_formats: bool = False) -> Agent:
    """The agent with this name, or else the one that wrote the file; with ``own_formats`` also the format of
    another program. Raises TranscriptUnreadable."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise unreadable(path, "it is not a file")
    if name:
        return agent_of(name)
    if path.is_dir():
        agent = recognise(b"", str(path))
    else:
        try:
            with open_file(path) as file:
                head = file.read(HEAD_BYTES)
        except OSError as fault:
            raise unreadable(path, fault.strerror or "it cannot be opened") from fault
        if not head:
            raise unreadable(path, "it is empty")
        agent = recognise(head, str(path))
        if agent is None and len(head) == HEAD_BYTES and b"\n" not in head:
            agent = recognise(_beginning(path), str(path))
        if agent is None and own_formats:
            agent = recognise_own_format(head, str(path))
    if agent is None:
        raise unreadable(path, "it was not written by an agent that Segue knows")
    return agent


def _beginning(path: Path) -> bytes:
    """The first line of a file and what follows it, for a first line that is longer than a head; its long
    strings are shortened."""
    try:
        block, _ = next(chunks(path), (b"", 0))
    except OSError:
        return b""
    line, _, rest = block.partition(b"\n")
    if len(line) > HEAD_BYTES:
        line = line[: HEAD_BYTES // 2] + line[-HEAD_BYTES // 2 :]
    return line + b"\n" + rest[:HEAD_BYTES]


def unreadable(path: Path, reason: str) -> TranscriptUnreadable:
    return TranscriptUnreadable(
        f"cannot read {path}: {reason}",
        hint="`segue runs` lists the transcripts of this project; --agent names the agent that wrote a file,"
        " or `messages` for a JSON list of messages, or `log` for a plain log",
    )


def read(
    path: Path, agent: Agent, native: str = "", clean: Clean | None = None, also: Also | None = None
) -> Reading:
    """Read a transcript from its start. ``also`` is called with every step."""
    return read_on(Reading(agent.name, str(path), native), agent, clean, also)


def read_on(
    reading: Reading, agent: Agent, clean: Clean | None = None, also: Also | None = None,
    *, until: Deadline = NEVER,
) -> Reading:  # fmt: skip
    """Read what was added since, as far as that can be done ``until`` then. The reading is changed in place
    and returned. Raises TranscriptUnreadable, also for a document that there is no time for: its bytes are
    ``unread`` then."""
    path, reading.masked_by = Path(reading.path), 0
    reader = agent.reader(reading.kept)
    passed = PassedLines()
    try:
        if agent.form == "lines":
            reader.malformed = reading.malformed
            read_view = getattr(reader, "read_view", None) or (lambda line: reader.read(bytes(line)))
            for block in _blocks(reading, path, clean, until):
                for line in record_lines(block, passed):
                    for step in read_view(line):
                        reading.take(step)
                        if also is not None:
                            also(step)
        else:
            record = _document(reading, agent, until)
            if clean is not None:
                record = clean(record)
            steps = _in_time(reader.read(record), reading, len(record), until)
            reading.start_over(steps if also is None else _tee(steps, also))
            reading.offset = len(record)
    except OSError as fault:
        raise unreadable(path, fault.strerror or "it cannot be opened") from fault
    reading.kept = reader.keep()
    reading.malformed = reader.malformed + passed.malformed
    reading.skipped += reader.skipped + passed.skipped
    return reading


def _tee(steps: Iterable[Step], also: Also) -> Iterator[Step]:
    for step in steps:
        also(step)
        yield step


def _document(reading: Reading, agent: Agent, until: Deadline) -> bytes:
    """A transcript that has to be read whole, unless it is too large for the time that there is."""
    path = Path(reading.path)
    if until.is_set:
        measured = getattr(agent, "size_of", None)
        size = measured(path, reading.native) if measured is not None else os.path.getsize(path)
        if size > DOCUMENT_BYTES_MAX:
            raise _no_time_for(reading, size)
    return agent.load(path, reading.native)


def _in_time(steps: Iterable[Step], reading: Reading, size: int, until: Deadline) -> Iterator[Step]:
    """The steps of a document; TranscriptUnreadable as soon as they take too long."""
    for number, step in enumerate(steps):
        yield step
        if until.is_set and number % _STEPS_BETWEEN == _STEPS_BETWEEN - 1 and until.is_over:
            raise _no_time_for(reading, size)


def _no_time_for(reading: Reading, size: int) -> TranscriptUnreadable:
    reading.unread = size
    return TranscriptUnreadable(
        f"there is no time to read {reading.path} while an agent waits ({size / 1e6:,.0f} MB)",
        hint="`segue sync` reads it",
    )


def _blocks(reading: Reading, path: Path, clean: Clean | None, until: Deadline) -> Iterator[bytes]:
    """Blocks of complete lines. A block counts as read when the next one is requested."""
    reading.torn, reading.unread = b"", 0
    for raw, offset in chunks(path, reading.offset, until=until):
        block = clean(raw) if clean is not None else raw
        if not raw.endswith(b"\n"):
            reading.torn = block
            return
        yield block
        if offset - reading.offset == len(raw):  # else a very long line was shortened
            reading.seen[offset] = raw[-SEEN_BYTES:]
        reading.offset = offset
    if until.is_over:
        reading.unread = max(0, os.path.getsize(path) - reading.offset)


def read_in_time(reading: Reading, agent: Agent, until: Deadline, clean: Clean | None = None) -> Reading:
    """Read what was added to a transcript since, or its beginning and its end. The reading is changed in
    place and returned. Raises TranscriptUnreadable."""
    if agent.form != "lines":
        return _document_in_time(reading, agent, until, clean)
    size = os.path.getsize(reading.path)
    wanted = END_BYTES_MAX
    if size - reading.offset <= AHEAD_BYTES_MAX or reading.offset < BEGINNING_BYTES:
        began, start = time.monotonic(), reading.offset
        read_on(reading, agent, clean, until=until.part(SHARE))
        if not reading.unread:
            return reading
        bytes_per_second = (reading.offset - start) / max(1e-6, time.monotonic() - began)
        wanted = int(bytes_per_second * until.seconds_left * SHARE)
    for end_bytes in (max(END_BYTES_MIN, min(END_BYTES_MAX, wanted)), END_BYTES_MIN):
        _pass_over(reading, size - end_bytes)
        read_on(reading, agent, clean, until=until.part(SHARE))
        if not reading.unread:
            break
    return reading


def _pass_over(reading: Reading, end: int) -> None:
    """Go on with the first line behind a place, as if nothing was between."""
    place = _line_behind(Path(reading.path), end) if end > reading.offset else reading.offset
    if place > reading.offset:
        reading.missing += place - reading.offset
        reading.digest, reading.hearing = behind_gap(reading.digest), hearing_behind_gap(reading.hearing)
        reading.offset, reading.seen = place, {}


def _line_behind(path: Path, start: int) -> int:
    """Where the first line begins behind a place; the end of the file if none does."""
    with open_file(path) as file:
        file.seek(start - 1)
        while block := file.read(END_BYTES_MIN):
            found = block.find(b"\n")
            if found >= 0:
                return file.tell() - len(block) + found + 1
        return file.tell()


def _document_in_time(reading: Reading, agent: Agent, until: Deadline, clean: Clean | None) -> Reading:
    try:
        return read_on(reading, agent, clean, until=until.part(SHARE))
    except TranscriptUnreadable:
        path = Path(reading.path)
        if not reading.unread or path.suffix != ".jsonl":
            raise
    body = _ends(path)
    reading.missing, reading.unread = max(1, reading.unread - len(body)), 0
    reading.start_over(agent.reader(reading.kept).read(clean(body) if clean is not None else body))
    return reading


def _ends(path: Path) -> bytes:
    """The first and the last lines of a file, whole."""
    with open_file(path) as file:
        head = file.read(DOCUMENT_END_BYTES)
        end = max(len(head), os.path.getsize(path) - DOCUMENT_END_BYTES)
        file.seek(_line_behind(path, end))
        return head[: head.rfind(b"\n") + 1] + file.read(DOCUMENT_END_BYTES)


def final(reading: Reading, agent: Agent) -> RunDigest:
    """The digest including a last line without a newline, as far as that can be read."""
    if not reading.torn:
        return reading.digest
    copy = decode(encode(reading.digest)) or RunDigest()
    return fold(agent.reader(reading.kept).read(reading.torn), copy)


def sayings_of(reading: Reading, agent: Agent) -> list[Saying]:
    """What a run said that is not in the ledger yet, masked, with that of a last line without a newline."""
    if reading.torn:
        reading = msgspec.structs.replace(
            reading,
            digest=decode(encode(reading.digest)) or RunDigest(),
            hearing=_hearings.decode(msgspec.msgpack.encode(reading.hearing)),
        )
        for step in agent.reader(reading.kept).read(reading.torn):
            reading.take(step)
    now = heard_now(reading.hearing, reading.digest)
    encoded = msgspec.json.encode(now)
    clean = redact_bytes(encoded)
    return now if clean == encoded else _sayings.decode(clean)


_hearings = msgpack_decoder(Hearing)
_sayings = json_decoder(list[Saying])


def masked_hearing(hearing: Hearing) -> Hearing:
    """What waits for the ledger with secrets masked."""
    encoded = msgspec.json.encode(hearing)
    clean = redact_bytes(encoded)
    return hearing if clean == encoded else msgspec.json.decode(clean, type=Hearing)


def masked_reading(reading: Reading, digest: RunDigest) -> RunDigest:
    """The digest of a reading with secrets masked. It is returned as it is if nothing was added to it since
    the same rules masked it."""
    return digest if digest is reading.digest and reading.masked_by == RULES_VERSION else masked(digest)


def masked(digest: RunDigest) -> RunDigest:
    """The digest with secrets masked in every field."""
    encoded = msgspec.json.encode(digest)
    clean = redact_bytes(encoded)
    return digest if clean == encoded else msgspec.json.decode(clean, type=RunDigest)
