"""How far a transcript was read, kept so that only what was added is read the next time.

The cursor saves time and is never needed: a digest of another format, a file that was rewritten or cut
off, or a doubt of any kind means reading from the start, with the same outcome. A file is taken for the
same one if it is not shorter than before and the bytes before the cursor are the same. What is stored is not
compressed: texts in it can be found and erased like any other.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ...agents.base import Agent, Found
from ...core.base.lazy import msgpack_decoder
from ...core.runs.digest import decode, encode
from .read_transcript import Reading

FORMAT = 1
CHECK_BYTES = 4096
SETTLED_SECONDS = 3600.0
"""A conversation in a database that has not changed for so long is not read again because others did."""


class FileStamp(msgspec.Struct, array_like=True, frozen=True):
    """What a file looked like; of a conversation in several files, what they all looked like."""

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


_kept = msgpack_decoder(StoredReading)


def stamp_of(found: Found, agent: Agent) -> FileStamp:
    """What the transcript looks like now; without opening it."""
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


def is_unchanged(then: FileStamp, now: FileStamp, agent: Agent) -> bool:
    """Whether there is nothing new to read, as far as can be told without opening the file."""
    if then == now and now.inode:
        return True
    settled = agent.form == "database" and time.time() - now.beside / 1e6 > SETTLED_SECONDS
    return settled and then.beside == now.beside and then.inode == now.inode


def check_of(path: str, offset: int, seen: Mapping[int, bytes] | None = None) -> bytes:
    """A hash of the last bytes before the cursor; empty if they cannot be read, or are no longer those
    that were: then the file was rewritten while it was read, and is read anew the next time."""
    try:
        with open(path, "rb") as file:
            start = max(0, offset - CHECK_BYTES)
            file.seek(start)
            body = file.read(offset - start)
            for at, before in (seen or {}).items():
                file.seek(at - len(before))
                if file.read(len(before)) != before:
                    return b""
    except OSError:
        return b""
    return hashlib.sha256(body).digest()[:16] if len(body) == offset - start else b""


def packed(reading: Reading, stamp: FileStamp, agent: Agent) -> bytes:
    """A reading to be stored."""
    check = check_of(reading.path, reading.offset, reading.seen) if agent.form == "lines" else b""
    kept = StoredReading(
        FORMAT, reading.agent, reading.path, reading.native, reading.offset, reading.kept,
        encode(reading.digest), reading.malformed, reading.skipped, reading.torn, stamp, check,
    )  # fmt: skip
    return msgspec.msgpack.encode(kept)


def unpacked(body: bytes | None) -> StoredReading | None:
    """A stored reading; None if there is none that this version can use."""
    if not body:
        return None
    try:
        kept = _kept.decode(body)
    except (UnicodeDecodeError, msgspec.DecodeError):
        return None
    return kept if kept.format == FORMAT else None


def reading_of(kept: StoredReading) -> Reading | None:
    """The reading itself; None if its digest is of another format."""
    digest = decode(kept.digest)
    if digest is None:
        return None
    return Reading(
        kept.agent, kept.path, kept.native, kept.offset, kept.kept, digest, kept.malformed, kept.skipped,
        kept.torn,
    )  # fmt: skip


def goes_on(kept: StoredReading, now: FileStamp, agent: Agent) -> bool:
    """Whether the file is still the one that was read, with more behind the cursor or nothing."""
    if agent.form != "lines" or kept.stamp.inode != now.inode or now.size < kept.offset:
        return False
    return bool(kept.check) and check_of(kept.path, kept.offset) == kept.check


def masked(body: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """A stored reading with its texts changed; each keeps its length, so nothing moves."""
    changed = change(body)
    return changed if len(changed) == len(body) else b""
