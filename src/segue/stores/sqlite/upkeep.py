"""Care of the file: online backups, integrity, vacuum, how much it holds."""

from __future__ import annotations

import contextlib
import glob
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import apsw
import msgspec

from ..._failpoints import trip
from ..._files import open_file
from ..._locks import try_lock
from ...core.base.values import Value
from ...core.journal.event import Erased, Event, read_event
from ...core.journal.pieces import address as address_of
from ...errors import DamagedError, StaleVersion, StoreBusy
from .database import Database
from .journal import HASH_AT, INSERT, STREAMS, SqliteStore
from .schema import MEMORIES_SINCE, NAME_STORE, STREAM_BITS, id_of

PAGES_A_STEP = 4096
LEFT_SECONDS = 3600.0
"""A backup of an earlier version that was not finished for so long never will be."""


def back_up(database: Database, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
    """A consistent copy while others write; whole and synced, or not there."""
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    for left in abandoned(target.parent):
        _remove_partial(left)
    with _being_written(partial):
        _write(database, partial, target, progress)


def _write(
    database: Database, partial: Path, target: Path, progress: Callable[[int, int], None] | None
) -> None:
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600))
        copy = apsw.Connection(str(partial))
        try:
            source = database.connection()
            with _one_moment(source), copy.backup("main", source, "main") as backup:
                while not backup.done:
                    backup.step(PAGES_A_STEP)
                    if progress:
                        progress(backup.page_count - backup.remaining, backup.page_count)
            copy.pragma("journal_mode", "delete")
        finally:
            copy.close()
        with open_file(partial) as whole:
            os.fsync(whole.fileno())
        trip("backup.before_rename")
        os.replace(partial, target)
        trip("backup.after_rename")
    except apsw.Error as fault:
        raise database.translate(fault) from fault
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


@contextlib.contextmanager
def _one_moment(db: apsw.Connection) -> Iterator[None]:
    """Read as of now to the end: otherwise each write of others begins the backup anew."""
    db.execute("BEGIN")
    try:
        db.execute("SELECT count(*) FROM meta").fetchall()
        yield
    finally:
        db.execute("ROLLBACK")


@contextlib.contextmanager
def _being_written(partial: Path) -> Iterator[None]:
    """Let others see that this process is at work on a file: by a lock on one beside it, since SQLite has
    locks of its own on the file itself."""
    beside = partial.with_name(f"{partial.name}.lock")
    lock = os.open(beside, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        try_lock(lock)
        yield
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
        os.close(lock)


def abandoned(folder: Path) -> list[Path]:
    """Backups in a folder that were not finished, and that no process is at work on."""
    return [left for left in sorted(folder.glob(".*.partial")) if _is_abandoned(left)]


def _is_abandoned(partial: Path) -> bool:
    try:
        lock = os.open(partial.with_name(f"{partial.name}.lock"), os.O_RDWR)
    except OSError:  # of an earlier version, which had no locks
        with contextlib.suppress(OSError):
            return time.time() - partial.stat().st_mtime > LEFT_SECONDS
        return False
    try:
        return try_lock(lock)
    finally:
        os.close(lock)


def _remove_partial(partial: Path) -> None:
    for left in (partial, *partial.parent.glob(f"{glob.escape(partial.name)}[-.]*")):
        with contextlib.suppress(OSError):
            left.unlink()


def restore(
    path: Path, streams: Iterable[tuple[str, Sequence[Event]]], pieces: Mapping[str, bytes],
    erased: frozenset[str],
) -> None:  # fmt: skip
    """A new store with exactly these events and pieces; the path must be free."""
    database = Database(path)

    def work(db: apsw.Cursor) -> None:
        for number, (name, events) in enumerate(streams, 1):
            db.execute("INSERT INTO streams (no, name) VALUES (?, ?)", (number, name))
            db.executemany(INSERT, _rows(number, events))
        rows = [(bytes.fromhex(a), a in erased, body) for a, body in pieces.items()]
        db.executemany("INSERT INTO pieces (address, erased, body) VALUES (?, ?, ?)", rows)

    try:
        database.writing(work)
        trip("recover.after_restore")
        if database.journal_mode == "wal":
            database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        database.close()


def _rows(number: int, events: Sequence[Event]) -> list[tuple[int, bytes, bytes, bytes, bool]]:
    return [(id_of(number, e.version), e.header(), e.body, e.hash, e.erased) for e in events]


def copy_in(journal: SqliteStore, stream: str, after: int, events: Sequence[Event]) -> None:
    """Put events of another store behind a version, as they are, hashes and all; durable when it returns.
    The caller has proven that they follow each other. StaleVersion if the stream is not there any more."""

    def work(db: apsw.Cursor) -> None:
        number = journal.number(db, stream, make=True)
        version, own = journal.head_in(db, number)
        if (version, own) != (after, events[0].prev):
            raise StaleVersion(stream, after, version)
        db.executemany(INSERT, _rows(number, events))
        trip("store.copy.before_commit")

    journal.writing(work)
    trip("store.copy.after_commit")


def copy_pieces(journal: SqliteStore, pieces: Mapping[str, bytes]) -> None:
    """Put pieces of another store in; one that a scrub rewrote stays what it is."""
    rows = [(bytes.fromhex(a), address_of(body) != a, body) for a, body in pieces.items()]
    sql = "INSERT OR IGNORE INTO pieces (address, erased, body) VALUES (?, ?, ?)"
    journal.writing(lambda db: db.executemany(sql, rows))


class Contents(Value):
    """What a store holds, in short: enough to say whether another one holds it too."""

    store: str
    """The id that the store was given when it was made; empty if it has none."""
    schema: int
    sessions: dict[str, int]
    """The version of each session."""
    memories_made: int
    """How many memories were ever made here: a memory that is forgotten leaves a mark."""


def contents(database: Database) -> Contents:
    """What a store holds, as of now."""
    schema = int(database.connection().pragma("user_version"))
    named = database.fetch("SELECT value FROM meta WHERE key = 'store'") if schema else []
    sessions = dict(database.fetch(STREAMS, ("session/",))) if schema else {}
    made = database.fetch("SELECT max(no) FROM memories") if schema >= MEMORIES_SINCE else []
    return Contents(str(named[0][0]) if named else "", schema, sessions, (made[0][0] or 0) if made else 0)


def heads(database: Database) -> dict[str, tuple[int, bytes]]:
    """Version and hash of the last event of each session that is no record of a scrub: a scrub of a backup
    appends its record there, too, and the two are not the same event."""
    sql = f"SELECT name, no, head FROM ({STREAMS.replace('SELECT name,', 'SELECT name, no,', 1)})"
    found = {}
    for name, number, head in database.fetch(sql, ("session/",)):
        for version in range(head, 0, -1):
            [(header, own)] = database.fetch(
                "SELECT header, hash FROM events WHERE id = ?", (id_of(number, version),)
            )
            if _kind(name, version, header) != Erased.KIND:
                found[str(name)] = (version, bytes(own))
                break
    return found


def _kind(stream: str, version: int, header: bytes) -> str:
    try:
        return read_event(header, b"", b"", erased=True).kind
    except msgspec.MsgspecError as fault:
        raise DamagedError(
            "the journal", f"{stream} version {version}", "its envelope is malformed"
        ) from fault


def hash_at(database: Database, stream: str, version: int) -> bytes:
    """The hash of a stream's event of a version; empty if there is none."""
    found = database.fetch(HASH_AT, (stream, version))
    return bytes(found[0][0]) if found else b""


def name_store(database: Database) -> None:
    """Give a store that was made by an older Segue its id."""
    database.writing(lambda db: db.execute(NAME_STORE))


def memory_ids(database: Database) -> set[str]:
    """The ids of all memories, forgotten ones too."""
    return {str(row[0]) for row in database.fetch("SELECT id FROM memories")}


def integrity(database: Database) -> list[str]:
    """What SQLite finds wrong with the file; empty if nothing."""
    try:
        rows = database.connection().execute("PRAGMA integrity_check(20)").fetchall()
    except apsw.Error as fault:
        ours = database.translate(fault)
        if isinstance(ours, DamagedError):
            return [str(fault)]
        raise ours from fault
    lines = [line.strip() for row in rows for line in str(row[0]).splitlines() if row[0] != "ok"]
    return [line for line in lines if line and not line.startswith("*** ")] or lines  # "*** in database main"


def compact(database: Database) -> None:
    """Rewrite the file and empty the write-ahead log: nothing that was deleted stays readable."""
    try:
        db = database.connection()
        db.execute("VACUUM")
        if database.journal_mode == "wal":
            [(busy, _, _)] = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if busy:
                raise StoreBusy(
                    "other programs are reading the store, so its log could not be emptied", hint="try again"
                )
    except apsw.Error as fault:
        raise database.translate(fault) from fault


_OF_SESSIONS = "FROM streams WHERE name >= 'session/' AND name < 'session0'"
_VERSIONS = (1 << STREAM_BITS) - 1
_OWN_EVENTS = (
    f"events WHERE id BETWEEN streams.no << {STREAM_BITS} AND streams.no << {STREAM_BITS} | {_VERSIONS}"
)
_COUNTS = {
    "sessions": f"SELECT count(*) {_OF_SESSIONS} AND EXISTS (SELECT 1 FROM {_OWN_EVENTS})",
    "events": f"SELECT coalesce(sum((SELECT max(id) & {_VERSIONS} FROM {_OWN_EVENTS})), 0) {_OF_SESSIONS}",
    "memories": "SELECT coalesce(sum(live), 0) FROM audiences",
    "bytes": """
        SELECT (SELECT coalesce(sum(length(body)), 0) FROM events)
            + (SELECT coalesce(sum(length(body)), 0) FROM pieces)
            + (SELECT coalesce(sum(length(body)), 0) FROM memory_bodies)""",
}


def count_use(database: Database, kind: str) -> int:
    """How much a store holds of what a quota limits."""
    return int(database.fetch(_COUNTS[kind])[0][0])
