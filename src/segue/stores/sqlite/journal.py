"""The journal port on SQLite.

An append is one transaction. Events behind the head that this journal saw last need no look at the stream: a
row is inserted only behind the predecessor that it names and in a place that is empty, or it is stale.
A file that was replaced (by a recovery) is noticed by its inode and opened anew. Events are
verified against their hashes and each other when they are read: what comes out is what went in,
or DamagedError.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import msgspec

from ..._failpoints import trip
from ...core.base import canonical
from ...core.journal.chain import linked
from ...core.journal.event import Event, read_event, seal_rows
from ...core.journal.pieces import address as address_of
from ...errors import DamagedError, StaleVersion
from ..base import Append, Head, Rewrite, Snapshot, check_beside
from .database import BUSY_TIMEOUT_MS, Database
from .runs import SqliteRuns
from .schema import id_of

if TYPE_CHECKING:
    from ..base import MemoryChange
    from .desk import SqliteDesk
    from .memories import SqliteMemories

_COLUMNS = "id & 0xffffffff, header, body, hash, erased"
INSERT = "INSERT INTO events (id, header, body, hash, erased) VALUES (?, ?, ?, ?, ?)"
_INSERT_BEHIND = (
    "INSERT INTO events (id, header, body, hash, erased) "
    "VALUES (?1, (SELECT ?2 FROM events WHERE id = ?1 - 1 AND hash = ?5), ?3, ?4, 0)"
)
"""No header, and so no row, unless the predecessor that it names is there."""
_SEEN_MAX = 16_384
_INSERT_PIECE = "INSERT OR IGNORE INTO pieces (address, erased, body) VALUES (?, 0, ?)"


class SqliteJournal:
    """A journal in one SQLite file."""

    def __init__(
        self, path: Path | str, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS, vfs: str | None = None,
        lock: bool = False,
    ) -> None:  # fmt: skip
        self.database = Database(Path(path), busy_timeout_ms=busy_timeout_ms, vfs=vfs, lock=lock)
        self._numbers: dict[str, int] = {}
        self._seen: dict[str, tuple[int, bytes]] = {}
        """The last head of each stream that was read or written here."""
        self._memories: SqliteMemories | None = None
        self.machine = ""

    @property
    def runs(self) -> SqliteRuns:
        """What was observed of runs, in the same file."""
        return SqliteRuns(self)

    @property
    def memories(self) -> SqliteMemories:
        """What was learnt, in the same file."""
        if self._memories is None:
            from .memories import SqliteMemories

            self._memories = SqliteMemories(self)
        return self._memories

    @property
    def desk(self) -> SqliteDesk:
        """What a server keeps for itself, in the same file."""
        from .desk import SqliteDesk

        return SqliteDesk(self.database)

    # -- writing -------------------------------------------------------------------------------

    def _saw(self, stream: str, version: int, own: bytes) -> None:
        """Remember where a stream ends; a server that runs for long sees more streams than are worth it."""
        if len(self._seen) >= _SEEN_MAX or len(self._numbers) >= _SEEN_MAX:
            self._numbers, self._seen = {}, {}
        self._seen[stream] = (version, own)

    @contextmanager
    def together(self) -> Iterator[None]:
        """What this thread writes within is one commit, made at the end: until then none of it is durable,
        and if it fails none of it is there. What is refused within takes nothing else with it."""
        try:
            with self.database.together() as shared:
                yield
        except BaseException:
            self._numbers, self._seen = {}, {}  # they may speak of what is not there
            raise
        for _ in range(shared.appends):
            trip("store.append.after_commit")

    def append(
        self, *appends: Append, pieces: Mapping[str, bytes] | None = None,
        memories: MemoryChange | None = None,
    ) -> list[Event]:  # fmt: skip
        self._current()
        numbers: dict[str, int] = {}

        def work(db: apsw.Connection) -> list[Event]:
            for wish in reversed(appends):  # the first one is to grow: it gets the end of the tree
                numbers[wish.stream] = self._number(db, wish.stream, make=bool(wish.drafts))
            events: list[Event] = []
            for wish in appends:
                events += self._append_many(db, numbers[wish.stream], wish)
            if pieces:
                db.executemany(_INSERT_PIECE, _piece_rows(pieces))
            if memories is not None:
                self.memories.apply(db, memories)
            trip("store.append.before_commit")
            return events

        events = self.database.writing(work)
        if (shared := self.database.shared) is None:
            trip("store.append.after_commit")
        else:
            shared.appends += 1
        for event in events:
            self._saw(event.stream, event.version, event.hash)
        self._numbers.update((name, no) for name, no in numbers.items() if no)
        return events

    def _current(self) -> apsw.Connection:
        """This thread's connection, to the file that has the path now."""
        if self.database.replaced():
            self.close()
        return self.database.connection()

    def _append_many(self, db: apsw.Connection, number: int, wish: Append) -> list[Event]:
        seen = self._seen.get(wish.stream)
        known = seen is not None and wish.drafts and seen[0] == wish.expect > 0
        version, head = seen if known and seen else self._head(db, number)
        if version != wish.expect:
            raise StaleVersion(wish.stream, wish.expect, version)
        events: list[Event] = []
        for event, header in seal_rows(wish.stream, version, head, wish.drafts):
            row = (id_of(number, event.version), header, event.body, event.hash)
            try:
                if known:
                    db.execute(_INSERT_BEHIND, (*row, event.prev))
                else:
                    db.execute(INSERT, (*row, 0))
            except apsw.ConstraintError:
                raise StaleVersion(wish.stream, wish.expect, self._head(db, number)[0]) from None
            trip("store.append.between")
            events.append(event)
        return events

    def _number(self, db: apsw.Connection, stream: str, *, make: bool) -> int:
        number = self._numbers.get(stream)
        if number is None:
            row = db.execute("SELECT no FROM streams WHERE name = ?", (stream,)).fetchone()
            if row is not None:
                number = int(row[0])
            elif make:
                db.execute("INSERT INTO streams (name) VALUES (?)", (stream,))
                number = db.last_insert_rowid()
        return number or 0

    # -- reading -------------------------------------------------------------------------------

    def read(self, stream: str, *, after: int = 0, limit: int = 0) -> list[Event]:
        number = self._known(stream)
        if not number:
            return []
        sql = f"SELECT {_COLUMNS} FROM events WHERE id > ? AND id < ? ORDER BY id LIMIT ?"
        rows = self._fetch(sql, (id_of(number, after), id_of(number + 1, 0), limit or -1))
        events = [self._event(stream, row) for row in rows]
        linked(stream, after, events)
        if events and not limit:
            self._saw(stream, events[-1].version, events[-1].hash)
        return events

    def _event(self, stream: str, row: tuple) -> Event:  # type: ignore[type-arg]
        version, header, body, own, erased = row
        try:
            event = read_event(header, body, own, erased=bool(erased))
            reason = "" if event.intact() else "the body does not have the hash that it was stored with"
            if canonical.digest(header) != own or (event.stream, event.version) != (stream, version):
                reason = "the envelope does not have the hash of the event"
            if not reason:
                return event
        except (msgspec.MsgspecError, TypeError, ValueError):  # a damaged row may hold anything
            reason = "the row is not one of ours"
        raise DamagedError("the journal", f"{stream} version {version}", reason)

    def head(self, stream: str) -> Head:
        number = self._known(stream)
        if not number:
            return Head(0, canonical.GENESIS)
        try:
            seen = self._head(self._current(), number)
            self._saw(stream, *seen)
            return Head(*seen)
        except apsw.Error as fault:
            raise self.database.translate(fault) from fault

    @staticmethod
    def _head(db: apsw.Connection, number: int) -> tuple[int, bytes]:
        sql = "SELECT id & 0xffffffff, hash FROM events WHERE id > ? AND id < ? ORDER BY id DESC LIMIT 1"
        row = db.execute(sql, (id_of(number, 0), id_of(number + 1, 0))).fetchone() if number else None
        return (row[0], row[1]) if row else (0, canonical.GENESIS)

    def streams(self, prefix: str = "") -> list[tuple[str, int]]:
        sql = (
            "SELECT name, (SELECT id FROM events WHERE id > no << 32 AND id < (no + 1) << 32 "
            "ORDER BY id DESC LIMIT 1) & 0xffffffff AS head FROM streams "
            "WHERE name >= ?1 AND substr(name, 1, length(?1)) = ?1 AND head > 0 ORDER BY name"
        )
        return [(str(name), int(head)) for name, head in self._fetch(sql, (prefix,))]

    def pieces(self, addresses: Iterable[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for address in addresses:
            sql = "SELECT body, erased FROM pieces WHERE address = ?"
            for body, erased in self._fetch(sql, (bytes.fromhex(address),)):
                if not erased and address_of(body) != address:
                    raise DamagedError("a piece", address, "its bytes do not have its address")
                found[address] = body
        return found

    def _known(self, stream: str) -> int:
        number = self._numbers.get(stream)
        if number is None:
            rows = self._fetch("SELECT no FROM streams WHERE name = ?", (stream,))
            if not rows:
                return 0
            number = self._numbers[stream] = int(rows[0][0])
        return number

    def _fetch(self, sql: str, values: tuple) -> list[tuple]:  # type: ignore[type-arg]
        try:
            return self._current().execute(sql, values).fetchall()
        except UnicodeDecodeError as fault:
            raise DamagedError("the store", str(self.database.path), "a text is not UTF-8") from fault
        except apsw.Error as fault:
            raise self.database.translate(fault) from fault

    # -- the cache -----------------------------------------------------------------------------

    def snapshots(self, streams: Iterable[str], *, cards: bool = False) -> dict[str, Snapshot]:
        found: dict[str, Snapshot] = {}
        state_column = "x''" if cards else "state"
        for stream in streams:
            number = self._known(stream)
            sql = f"SELECT version, fold, {state_column}, card FROM snapshots WHERE stream = ?"
            for version, fold, state, card in self._fetch(sql, (number,)):
                found[stream] = Snapshot(stream, version, fold, state, card)
        return found

    def keep(self, snapshot: Snapshot) -> None:
        sql = (
            "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?) ON CONFLICT (stream) DO UPDATE"
            " SET version = excluded.version, fold = excluded.fold,"
            " state = excluded.state, card = excluded.card"
            " WHERE (snapshots.fold, snapshots.version) <= (excluded.fold, excluded.version)"
        )
        number = self._known(snapshot.stream)
        if number:
            row = (number, snapshot.version, snapshot.fold, snapshot.state, snapshot.card)
            self.database.writing(lambda db: db.execute(sql, row))
            trip("store.snapshot.after_commit")

    # -- erasing -------------------------------------------------------------------------------

    def erase(self, rewrites: Sequence[Rewrite], pieces: Mapping[str, bytes], *appends: Append) -> None:
        def work(db: apsw.Connection) -> None:
            for wish in appends:
                self._append_many(db, self._number(db, wish.stream, make=False), wish)
            for rewrite in rewrites:
                number = self._number(db, rewrite.stream, make=False)
                sql = "UPDATE events SET body = ?, erased = 1 WHERE id = ?"
                db.execute(sql, (rewrite.body, id_of(number, rewrite.version)))
            for address, body in pieces.items():
                sql = "UPDATE pieces SET body = ?, erased = 1 WHERE address = ?"
                db.execute(sql, (body, bytes.fromhex(address)))
            for stream in {r.stream for r in rewrites} | {a.stream for a in appends}:
                db.execute("DELETE FROM snapshots WHERE stream = ?", (self._number(db, stream, make=False),))
            trip("store.erase.before_commit")

        self.database.connection().pragma("secure_delete", 1)
        self.database.writing(work)
        trip("store.erase.after_commit")

    def drop(
        self, *streams: Append, pieces: Iterable[str] = (), beside: Mapping[str, int] | None = None
    ) -> None:
        def work(db: apsw.Connection) -> None:
            check_beside(self, streams, beside)
            for wish in streams:
                number = self._number(db, wish.stream, make=False)
                version, _ = self._head(db, number)
                if version != wish.expect:
                    raise StaleVersion(wish.stream, wish.expect, version)
                span = (id_of(number, 0), id_of(number + 1, 0))
                db.execute("DELETE FROM events WHERE id > ? AND id < ?", span)
                db.execute("DELETE FROM snapshots WHERE stream = ?", (number,))
            rows = [(bytes.fromhex(address),) for address in pieces]
            db.executemany("DELETE FROM pieces WHERE address = ?", rows)
            trip("store.drop.before_commit")

        self.database.writing(work)
        for wish in streams:
            self._seen.pop(wish.stream, None)

    def close(self) -> None:
        self.database.close()
        self._numbers, self._seen = {}, {}


def _piece_rows(pieces: Mapping[str, bytes]) -> list[tuple[bytes, bytes]]:
    return [(bytes.fromhex(address), body) for address, body in pieces.items()]
