"""Cursors: how far transcripts were read, so that only what was added is read the next time.

A cursor only saves time. A digest of another format, a file that was rewritten or truncated, or any doubt
means reading from the start, with the same result. A file counts as the same one if it is not shorter than
before and the bytes before the cursor are unchanged. The stored form is not compressed, so that texts in it
can be found and erased.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..._files import open_file
from ...agents.base import Agent, Found
from ...core.base.canonical import sha256
from ...core.base.lazy import msgpack_decoder
from ...core.runs.digest import decode, encode
from ...core.runs.hearing import Hearing
from ...effects.redaction import RULES_VERSION
from .read_transcript import Reading, masked as masked_digest, masked_hearing

FORMAT = 1
CHECK_BYTES = 4096
SETTLED_SECONDS = 3600.0
"""After so long without a change, a conversation in a database is not read again when others change."""


class FileStamp(msgspec.Struct, array_like=True, frozen=True):
    """Size, time and inode of a file; ``beside`` stands for the other files of the same conversation."""

    size: int = 0
    mtime_ns: int = 0
    inode: int = 0
    beside: int = 0


class StoredReading(msgspec.Struct, array_like=True):
    """A reading as it is stored."""

    format: int
    agent: str
    path: str
    native: str
    offset: int
    kept: Any
    digest: bytes
    malformed: int
    skipped: int
    torn: bytes
    stamp: FileStamp
    check: bytes
    masked_by: int = 0
    heard: bytes = b""
    """What waits for the ledger of the run's session."""


_decoder = msgpack_decoder(StoredReading)
_hearings = msgpack_decoder(Hearing)


def stamp_of(found: Found, agent: Agent) -> FileStamp:
    """The stamp of a transcript now, without opening it; an empty one if the file is gone."""
    try:
        stat = os.stat(found.path)
    except OSError:
        return FileStamp()
    beside = 0
    if agent.form == "database":
        beside = int(found.changed * 1e6)
    elif agent.form == "document" and Path(found.path).parent.name == found.native:
        beside = sum(entry.stat().st_mtime_ns for entry in os.scandir(os.path.dirname(found.path)))
    return FileStamp(stat.st_size, stat.st_mtime_ns, stat.st_ino, beside)


def stamp_of_part(stamp: FileStamp, offset: int) -> FileStamp:
    """The stamp of a transcript that was read up to here only: what it is never like."""
    return FileStamp(offset, 0, stamp.inode, stamp.beside)


def is_unchanged(then: FileStamp, now: FileStamp, agent: Agent) -> bool:
    """Whether there is nothing new to read, judged without opening the file: it is as it was, or was never
    there."""
    if then == now:
        return True
    settled = agent.form == "database" and time.time() - now.beside / 1e6 > SETTLED_SECONDS
    return settled and then.beside == now.beside and then.inode == now.inode


def check_of(path: str, offset: int, seen: Mapping[int, bytes] | None = None) -> bytes:
    """A hash of the last bytes before the cursor; empty if they cannot be read, or if the file was rewritten
    while it was read. It is read from the start the next time then."""
    try:
        with open_file(path) as file:
            start = max(0, offset - CHECK_BYTES)
            file.seek(start)
            body = file.read(offset - start)
            for at, before in (seen or {}).items():
                file.seek(at - len(before))
                if file.read(len(before)) != before:
                    return b""
    except OSError:
        return b""
    return sha256(body).digest()[:16] if len(body) == offset - start else b""


def packed(reading: Reading, stamp: FileStamp, agent: Agent) -> bytes:
    """A reading in its stored form, masked."""
    check = check_of(reading.path, reading.offset, reading.seen) if agent.form == "lines" else b""
    stored = StoredReading(
        FORMAT, reading.agent, reading.path, reading.native, reading.offset, reading.kept,
        encode(masked_digest(reading.digest)), reading.malformed, reading.skipped, reading.torn, stamp, check,
        RULES_VERSION, msgspec.msgpack.encode(masked_hearing(reading.hearing)),
    )  # fmt: skip
    return msgspec.msgpack.encode(stored)


def unpacked(body: bytes | None) -> StoredReading | None:
    """A stored reading; None if there is none or this version cannot use it."""
    if not body:
        return None
    try:
        stored = _decoder.decode(body)
    except (UnicodeDecodeError, msgspec.DecodeError):
        return None
    return stored if stored.format == FORMAT else None


def reading_of(stored: StoredReading | None) -> Reading | None:
    """The reading, ready to be continued; None if there is none or its digest is of another format."""
    if stored is None or (digest := decode(stored.digest)) is None:
        return None
    return Reading(
        stored.agent, stored.path, stored.native, stored.offset, stored.kept, digest, _hearing(stored),
        stored.malformed, stored.skipped, stored.torn, masked_by=stored.masked_by,
    )  # fmt: skip


def _hearing(stored: StoredReading) -> Hearing:
    return _hearings.decode(stored.heard) if stored.heard else Hearing()


def without_sayings(body: bytes) -> bytes:
    """A stored reading whose sayings are in the ledger by now."""
    stored = unpacked(body)
    if stored is None or not stored.heard:
        return body
    hearing = _hearing(stored)
    if not hearing.waiting:
        return body
    hearing.waiting = []
    return msgspec.msgpack.encode(msgspec.structs.replace(stored, heard=msgspec.msgpack.encode(hearing)))


def is_continued(stored: StoredReading, now: FileStamp, agent: Agent) -> bool:
    """Whether the file is still the one that was read, so that reading can continue at the cursor."""
    if agent.form != "lines" or stored.stamp.inode != now.inode or now.size < stored.offset:
        return False
    return bool(stored.check) and check_of(stored.path, stored.offset) == stored.check


def masked(body: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """A stored reading with texts replaced; empty if ``change`` did not keep the length, which moves
    fields."""
    changed = change(body)
    return changed if len(changed) == len(body) else b""
