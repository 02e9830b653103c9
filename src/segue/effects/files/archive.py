"""The archive of transcripts: a compressed copy of each one, verified by its hashes when it is read.

A copy is a list of chunks, each of whole lines and about a megabyte, stored under the hash of its content;
the tail that does not fill a chunk yet is stored with the list. A transcript that grows adds chunks and never
changes old ones, and what two transcripts have in common is stored once. Where chunks are cut depends on the
content alone, not on how often a transcript was read.

The archive is one SQLite file with a rollback journal: new pages are written once, a commit costs a few syncs
however many transcripts it holds, and it is atomic. Everything was masked before it comes here.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw
import msgspec

from ..._failpoints import trip
from ...core.base.canonical import sha256
from ...core.base.lazy import msgpack_decoder
from ...core.base.values import Value
from ...errors import DamagedError, SegueError
from .compression import compress, decompress
from .database_file import DatabaseFile

CHUNK_BYTES = 1 << 20
FLUSH_BYTES = 8 << 20
ADDRESS_BYTES = 16
_TABLES = """
    CREATE TABLE IF NOT EXISTS chunks (
        no INTEGER PRIMARY KEY, address BLOB NOT NULL UNIQUE, body BLOB NOT NULL
    );
    CREATE TABLE IF NOT EXISTS copies (
        no INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, about BLOB NOT NULL, session TEXT NOT NULL,
        last REAL NOT NULL, chunks BLOB NOT NULL, tail BLOB NOT NULL, proof BLOB NOT NULL
    );
    CREATE TABLE IF NOT EXISTS belongs (key TEXT PRIMARY KEY, session TEXT NOT NULL) WITHOUT ROWID
"""
_VERSION = 2
"""Version 1 had no table ``belongs``: assigning a copy to a session meant writing the copy again."""
_SESSION = "coalesce((SELECT session FROM belongs WHERE belongs.key = copies.key), session)"


class CopyOwner(Value):
    """The transcript that a copy was made of: all that is needed to read the copy without the store."""

    key: str
    agent: str
    native: str
    path: str
    cwd: str = ""
    project: str = ""
    project_name: str = ""
    store: str = ""
    """The store of the session that it belongs to."""
    parent: str = ""
    offset: int = 0
    """How many bytes of the transcript are in the copy."""
    size: int = 0
    """The size of the copy in bytes, uncompressed."""
    torn: bytes = b""
    """The last line if it had no newline yet when the transcript was last read."""


class Copy(Value):
    """A copy as the archive stores it."""

    about: CopyOwner
    session: str
    last: float
    chunks: tuple[bytes, ...]
    tail: bytes
    """Compressed, as the chunks are."""
    proof: bytes
    """The hash of the uncompressed tail."""


class Archive(DatabaseFile):
    """The archive of a data folder."""

    what = "the archive"
    tables = _TABLES
    version = _VERSION

    def add(self, chunks: Mapping[bytes, bytes]) -> None:
        """Store chunks before the copy that needs them, so that a long transcript need not be in memory."""
        self._writing(lambda db: _put_chunks(db, chunks))

    def put(self, copies: Iterable[Copy], chunks: Mapping[bytes, bytes]) -> None:
        """Store copies, each in place of an older one, with their new chunks; all or nothing."""
        rows = [_row(copy) for copy in copies]
        if not rows and not chunks:
            return

        def work(db: apsw.Connection) -> None:
            _put_chunks(db, chunks)
            db.executemany(
                "INSERT OR REPLACE INTO copies (key, about, session, last, chunks, tail, proof) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)", rows,
            )  # fmt: skip
            db.executemany("DELETE FROM belongs WHERE key = ?", [row[:1] for row in rows])
            trip("archive.put.before_commit")

        self._writing(work)
        trip("archive.put.after_commit")

    def name_sessions(self, sessions: Mapping[str, str]) -> None:
        """Assign copies to sessions: a mapping from a copy's key to the id of its session."""
        if sessions:
            sql = "INSERT OR REPLACE INTO belongs SELECT key, ?2 FROM copies WHERE key = ?1"
            self._writing(lambda db: db.executemany(sql, list(sessions.items())))
            trip("archive.name.after_commit")

    def drop(self, keys: Iterable[str]) -> None:
        """Remove copies, and the chunks that no other copy uses."""

        def work(db: apsw.Connection) -> None:
            rows = [(key,) for key in keys]
            db.executemany("DELETE FROM copies WHERE key = ?", rows)
            db.executemany("DELETE FROM belongs WHERE key = ?", rows)
            _sweep(db)
            trip("archive.drop.before_commit")

        self._writing(work)

    def rewrite(self, change: Callable[[bytes], bytes], *, dry_run: bool = False) -> list[str]:
        """Apply a function to the bytes of every copy; returns the keys of those that it changed."""
        changed: list[str] = []
        for key in [copy.about.key for copy in self.copies()]:
            copy = self.find(key)
            if copy is None:
                continue
            torn = copy.about.torn
            before = b"".join(self.read(key)).removesuffix(torn)
            after = change(before)
            if after != before or change(torn) != torn:
                changed.append(key)
                if not dry_run:
                    self._replace(copy, after, change(torn))
        if changed and not dry_run:
            self.drop(())
            self.compact()
        return changed

    def _replace(self, copy: Copy, body: bytes, torn: bytes) -> None:
        writer = CopyWriter(self, copy.about, last=copy.last)
        writer.add(body, whole=b"\n" in body[: CHUNK_BYTES * 2])
        made = writer.finish(copy.about.offset, torn)
        self.put([msgspec.structs.replace(made, session=copy.session)], writer.waiting)

    def _rows(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        version = self.stored_version()
        session = _SESSION if version >= _VERSION else "session"
        return self._fetch(sql.replace("{session}", session), values) if version else []

    def compact(self) -> None:
        """Rewrite the file, so that nothing that was removed stays readable."""
        with self.translated_errors():
            self._connection().execute("VACUUM")

    def copies(self) -> list[Copy]:
        """All copies, the oldest first, without their chunks and tails."""
        rows = self._rows("SELECT about, {session}, last, x'', x'', x'' FROM copies ORDER BY last, key", ())
        return [_copy(self.path, row) for row in rows]

    def sessions(self) -> dict[str, str]:
        """The session of each copy, by the copy's key."""
        return dict(self._rows("SELECT key, {session} FROM copies", ()))

    def find(self, key: str) -> Copy | None:
        """A copy with the addresses of its chunks and its tail; None if there is none of this key."""
        sql = "SELECT about, {session}, last, chunks, tail, proof FROM copies WHERE key = ?"
        rows = self._rows(sql, (key,))
        return _copy(self.path, rows[0]) if rows else None

    def read(self, key: str) -> Iterator[bytes]:
        """The content of a copy in blocks; DamagedError where a block does not have its hash."""
        copy = self.find(key)
        if copy is None:
            return
        for address in copy.chunks:
            rows = self._rows("SELECT body FROM chunks WHERE address = ?", (address,))
            if not rows:
                raise self._damaged(copy, "a chunk is missing")
            yield self._verified(rows[0][0], address, copy)
        if copy.tail:
            yield self._verified(copy.tail, copy.proof, copy)
        if copy.about.torn:
            yield copy.about.torn

    def _verified(self, body: bytes, address: bytes, copy: Copy) -> bytes:
        try:
            plain = decompress(body)
        except ValueError as fault:
            raise self._damaged(copy, str(fault)) from fault
        if address_of(plain) != address:
            raise self._damaged(copy, "it is not what was written")
        return plain

    def _damaged(self, copy: Copy, reason: str) -> DamagedError:
        return DamagedError("the archive", str(self.path), f"{copy.about.native}: {reason}")

    def size(self) -> int:
        """The size of the file in bytes."""
        with contextlib.suppress(OSError):
            return self.path.stat().st_size
        return 0

    def weights(self) -> dict[str, int]:
        """The stored size of each copy by its key, as if it shared no chunks."""
        sizes = dict(self._rows("SELECT address, length(body) FROM chunks", ()))
        rows = self._rows("SELECT key, chunks, length(tail) FROM copies", ())
        return {key: tail + sum(sizes.get(one, 0) for one in _cut(chunks)) for key, chunks, tail in rows}

    def broken(self) -> list[str]:
        """The ids of the conversations whose copies lack a chunk."""
        have = {address for (address,) in self._rows("SELECT address FROM chunks", ())}
        rows = self._rows("SELECT about, chunks FROM copies", ())
        return [_about.decode(about).native for about, chunks in rows if not have.issuperset(_cut(chunks))]

    def unreadable(self) -> str:
        """What SQLite finds wrong with the file; empty if nothing is wrong or there is no file."""
        try:
            rows = self._rows("PRAGMA quick_check(1)", ())
        except SegueError as fault:
            return fault.message
        return "" if not rows or rows[0][0] == "ok" else str(rows[0][0])


class CopyWriter:
    """Writes one copy: cuts the transcript into chunks, and stores them in the archive in batches."""

    def __init__(
        self, archive: Archive, about: CopyOwner, before: Copy | None = None, *, last: float
    ) -> None:
        self._archive, self._about, self._last = archive, about, last
        self._addresses = list(before.chunks) if before else []
        self._size = before.about.size if before else 0
        self._session = before.session if before else ""
        self._open: list[bytes] = [decompress(before.tail)] if before and before.tail else []
        self._open_bytes = sum(map(len, self._open))
        self.waiting: dict[bytes, bytes] = {}
        """Compressed chunks by address that are not in the archive yet."""
        self._waiting_bytes = 0

    def add(self, block: bytes, *, whole: bool = True) -> None:
        """Append a masked part of the transcript; if ``whole``, chunks are cut at the ends of lines only."""
        self._open.append(block)
        self._open_bytes += len(block)
        self._size += len(block)
        if self._open_bytes < CHUNK_BYTES:
            return
        body = b"".join(self._open)
        at = 0
        while len(body) - at >= CHUNK_BYTES:
            end = body.find(b"\n", at + CHUNK_BYTES - 1) + 1 if whole else at + CHUNK_BYTES
            if not end:
                break
            self._keep(body[at:end])
            at = end
        self._open = [body[at:]] if at < len(body) else []
        self._open_bytes = len(body) - at

    def _keep(self, chunk: bytes) -> None:
        address = address_of(chunk)
        self._addresses.append(address)
        if address not in self.waiting:
            body = self.waiting[address] = compress(chunk)
            self._waiting_bytes += len(body)
        if self._waiting_bytes > FLUSH_BYTES:
            self._archive.add(self.waiting)
            self.waiting, self._waiting_bytes = {}, 0

    def finish(self, offset: int, torn: bytes = b"") -> Copy:
        """The finished copy; ``offset`` says how many bytes of the transcript it holds."""
        tail = b"".join(self._open)
        about = msgspec.structs.replace(self._about, offset=offset, size=self._size, torn=torn)
        body, proof = (compress(tail), address_of(tail)) if tail else (b"", b"")
        return Copy(about, self._session, self._last, tuple(self._addresses), body, proof)


def address_of(chunk: bytes) -> bytes:
    """The hash that a chunk is stored under."""
    return sha256(chunk).digest()[:ADDRESS_BYTES]


def to_drop(
    copies: list[Copy], weights: Mapping[str, int], *, bytes_max: float, days_max: float, stays: set[str]
) -> list[str]:
    """The keys of the copies to remove so that the limits hold: the oldest first, none of ``stays``."""
    total, now = sum(weights.values()), time.time()
    gone: list[str] = []
    for copy in sorted(copies, key=lambda copy: copy.last):
        too_old = bool(days_max) and now - copy.last > days_max * 86400
        if copy.about.key in stays or not (too_old or total > bytes_max):
            continue
        gone.append(copy.about.key)
        total -= weights.get(copy.about.key, 0)
    return gone


_about = msgpack_decoder(CopyOwner)


def _row(copy: Copy) -> tuple[Any, ...]:
    about, chunks = msgspec.msgpack.encode(copy.about), b"".join(copy.chunks)
    return copy.about.key, about, copy.session, copy.last, chunks, copy.tail, copy.proof


def _copy(path: Path, row: tuple[Any, ...]) -> Copy:
    about, session, last, chunks, tail, proof = row
    try:
        return Copy(_about.decode(about), session, last, tuple(_cut(chunks)), tail, proof)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError) as fault:
        raise DamagedError("the archive", str(path), "a row cannot be decoded") from fault


def _cut(addresses: bytes) -> Iterator[bytes]:
    return (addresses[at : at + ADDRESS_BYTES] for at in range(0, len(addresses), ADDRESS_BYTES))


def _put_chunks(db: apsw.Connection, chunks: Mapping[bytes, bytes]) -> None:
    db.executemany("INSERT OR IGNORE INTO chunks (address, body) VALUES (?, ?)", list(chunks.items()))


def _sweep(db: apsw.Connection) -> None:
    """Remove the chunks that no copy uses."""
    named = {address for (chunks,) in db.execute("SELECT chunks FROM copies") for address in _cut(chunks)}
    have = [address for (address,) in db.execute("SELECT address FROM chunks")]
    db.executemany("DELETE FROM chunks WHERE address = ?", [(a,) for a in have if a not in named])
