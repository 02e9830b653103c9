"""The embedded store, and its journal.

An append is one transaction. Events behind the head that this journal saw last need no look at the stream: a
row is inserted only behind the predecessor that it names and in a place that is empty, or it is stale.
A file that was replaced (by a recovery) is opened anew, and nothing that was known of the other one counts.
Events are verified against their hashes and each other when they are read: what comes out is what went in, or
DamagedError.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import apsw

from ..._failpoints import trip
from ...core.base import canonical
from ...core.journal.chain import linked
from ...core.journal.event import Event, seal_rows
from ...errors import DamagedError, StaleVersion
from ..base import Append, AppendWatch, Head, Pieces, Rewrite, Snapshot, Versions
from ..proofs import check_beside, proven_event, proven_piece
from .database import BUSY_TIMEOUT_MS, OVERWRITE_DELETED, Database, Executor, PlaceCheck
from .opening import Opening
from .schema import id_of

if TYPE_CHECKING:  # most commands need the journal alone
    from ..memory_changes import MemoryChange
    from ..sql_project_facts import SqlProjectFacts
    from ..sql_runs import SqlRuns
    from ..sql_server_tables import SqlServerTables
    from .memories import SqliteMemories

T = TypeVar("T")
_COLUMNS = "id & 0xffffffff, header, body, hash, erased"
INSERT = "INSERT INTO events (id, header, body, hash, erased) VALUES (?, ?, ?, ?, ?)"
HASH_AT = "SELECT hash FROM events WHERE id = ((SELECT no FROM streams WHERE name = ?) << 32 | ?)"
"""The hash of a stream's event of a version."""
_INSERT_BEHIND = (
    "INSERT INTO events (id, header, body, hash, erased) "
    "VALUES (?1, (SELECT ?2 FROM events WHERE id = ?1 - 1 AND hash = ?5), ?3, ?4, 0)"
)
"""No header, and so no row, unless the predecessor that it names is there."""
_SEEN_MAX = 16_384
_WRITTEN_MAX = 64
_ASKED_AT_ONCE = 500  # streams in one statement: SQLite takes a limited number of parameters
_INSERT_PIECE = "INSERT OR IGNORE INTO pieces (address, erased, body) VALUES (?, 0, ?)"
STREAMS = (
    "SELECT name, (SELECT id FROM events WHERE id > no << 32 AND id < (no + 1) << 32 "
    "ORDER BY id DESC LIMIT 1) & 0xffffffff AS head FROM streams "
    "WHERE name >= ?1 AND substr(name, 1, length(?1)) = ?1 AND head > 0 ORDER BY name"
)


class _Known:
    """What is known of the streams of a file, as it was opened."""

    __slots__ = ("heads", "numbers", "opening")

    def __init__(self, opening: Opening | None = None) -> None:
        self.opening = opening
        self.numbers: dict[str, int] = {}
        self.heads: dict[str, tuple[int, bytes]] = {}
        """The last head of each stream that was read or written here."""

    def saw(self, stream: str, version: int, own: bytes) -> None:
        """Remember where a stream ends; a server that runs for long sees more streams than are worth it."""
        if len(self.heads) >= _SEEN_MAX or len(self.numbers) >= _SEEN_MAX:
            self.numbers, self.heads = {}, {}
        self.heads[stream] = (version, own)


class SqliteStore:
    """A store in one SQLite file: a journal, and what was observed and learnt."""

    def __init__(
        self, path: Path | str, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS, vfs: str | None = None,
        lock: bool = False, read_only: bool = False, place: PlaceCheck | None = None,
    ) -> None:  # fmt: skip
        self.database = Database(
            Path(path), busy_timeout_ms=busy_timeout_ms, vfs=vfs, lock=lock, read_only=read_only,
            place=place,
        )  # fmt: skip
        self.search_index = None
        self.machine = ""
        self.clock_ahead_seconds = 0.0
        self.watch: AppendWatch | None = None
        self._known = _Known()
        self._written: dict[str, None] = {}

    @cached_property
    def runs(self) -> SqlRuns:
        """What was observed of runs."""
        from ..sql_runs import SqlRuns
        from .sql import SqliteSql

        return SqlRuns(
            SqliteSql(self.database),
            lambda: trip("store.runs.before_commit"),
            lambda: trip("store.runs.after_commit"),
        )

    @cached_property
    def project_facts(self) -> SqlProjectFacts:
        """What was counted of projects."""
        from ..sql_project_facts import SqlProjectFacts
        from .sql import SqliteSql

        return SqlProjectFacts(
            SqliteSql(self.database),
            lambda: trip("store.facts.before_commit"),
            lambda: trip("store.facts.after_commit"),
        )

    @cached_property
    def memories(self) -> SqliteMemories:
        """What was learnt."""
        from .memories import SqliteMemories

        return SqliteMemories(self.database)

    def has_memories(self) -> bool:
        """Whether there is any memory; asked before the code is loaded that memories need."""
        return bool(self.database.fetch("SELECT 1 FROM memories LIMIT 1"))

    @cached_property
    def server_tables(self) -> SqlServerTables:
        """What a server keeps for itself."""
        from ..sql_server_tables import SqlServerTables
        from .sql import SqliteSql

        return SqlServerTables(SqliteSql(self.database))

    @contextmanager
    def together(self) -> Iterator[None]:
        """What this thread writes within is one commit, made at the end: until then none of it is durable,
        and if it fails none of it is there. What is refused within takes nothing else with it."""
        with self.database.together(self._forget) as shared:
            yield
        for _ in range(shared.appends):
            trip("store.append.after_commit")

    def _forget(self) -> None:
        """What is known may speak of what is not there."""
        self._known = _Known()

    def append(
        self, *appends: Append, pieces: Pieces | None = None, memories: MemoryChange | None = None
    ) -> list[Event]:
        numbers: dict[str, int] = {}
        known = self._known

        def work(db: apsw.Cursor) -> list[Event]:
            nonlocal known
            known = self._known_in(db)
            for wish in reversed(appends):  # the first one is to grow: it gets the end of the tree
                numbers[wish.stream] = self._number(db, known, wish.stream, make=bool(wish.drafts))
            events: list[Event] = []
            for wish in appends:
                seen = known.heads.get(wish.stream)
                events += self._append_many(db, numbers[wish.stream], wish, seen)
            if pieces:
                db.executemany(_INSERT_PIECE, [(bytes.fromhex(a), body) for a, body in pieces.items()])
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
            known.saw(event.stream, event.version, event.hash)
            known.numbers[event.stream] = numbers[event.stream]
        for wish in appends:
            self._written.pop(wish.stream, None)
            self._written[wish.stream] = None
        if len(self._written) > _WRITTEN_MAX:
            self._written = dict.fromkeys(list(self._written)[-_WRITTEN_MAX // 2 :])
        return events

    def written_last(self) -> list[str]:
        """The sessions that this process appended to last, the newest first."""
        return [name for name in reversed(list(self._written)) if name.startswith("session/")]

    def _append_many(
        self, db: apsw.Cursor, number: int, wish: Append, seen: tuple[int, bytes] | None = None
    ) -> list[Event]:
        known = seen is not None and wish.drafts and seen[0] == wish.expect > 0
        version, head = seen if known and seen else self.head_in(db, number)
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
                raise StaleVersion(wish.stream, wish.expect, self.head_in(db, number)[0]) from None
            if not db.connection.changes():  # a trigger of somebody else's can say so and do nothing
                raise DamagedError("the store", str(self.database.path), "it does not take in new events")
            trip("store.append.between")
            events.append(event)
        return events

    def read(self, stream: str, *, after: int = 0, limit: int = 0) -> list[Event]:
        def look(db: apsw.Connection, known: _Known) -> tuple[_Known, list[tuple[Any, ...]]]:
            number = self._number(db, known, stream)
            if not number:
                return known, []
            known.numbers[stream] = number
            sql = f"SELECT {_COLUMNS} FROM events WHERE id > ? AND id < ? ORDER BY id LIMIT ?"
            span = (id_of(number, after), id_of(number + 1, 0), limit or -1)
            return known, db.execute(sql, span).fetchall()

        known, rows = self._reading(look)
        events = [proven_event(stream, *row) for row in rows]
        linked(stream, after, events)
        if events and not limit:
            known.saw(stream, events[-1].version, events[-1].hash)
        return events

    def head(self, stream: str) -> Head:
        def look(db: apsw.Connection, known: _Known) -> Head:
            number = self._number(db, known, stream)
            if number:
                known.numbers[stream] = number
            head = Head(*self.head_in(db, number))
            known.saw(stream, head.version, head.hash)
            return head

        return self._reading(look)

    @staticmethod
    def head_in(db: Executor, number: int) -> tuple[int, bytes]:
        """Version and hash of the last event of a stream, by its number."""
        sql = "SELECT id & 0xffffffff, hash FROM events WHERE id > ? AND id < ? ORDER BY id DESC LIMIT 1"
        span = (id_of(number, 0), id_of(number + 1, 0))
        found: list[Any] = db.execute(sql, span).fetchall() if number else []
        return found[0] if found else (0, canonical.GENESIS)

    def streams(self, prefix: str = "") -> list[tuple[str, int]]:
        return self._reading(lambda db, _: self._streams(db, prefix))

    @staticmethod
    def _streams(db: Executor, prefix: str) -> list[tuple[str, int]]:
        found: list[tuple[Any, ...]] = db.execute(STREAMS, (prefix,)).fetchall()
        return [(str(name), int(head)) for name, head in found]

    def pieces(self, addresses: Iterable[str]) -> dict[str, bytes]:
        wanted = list(dict.fromkeys(addresses))
        found: dict[str, bytes] = {}
        for at in range(0, len(wanted), _ASKED_AT_ONCE):
            named = tuple([bytes.fromhex(address) for address in wanted[at : at + _ASKED_AT_ONCE]])
            sql = f"SELECT address, body, erased FROM pieces WHERE address IN ({_marks(named)})"
            for raw, body, erased in self.database.fetch(sql, named):
                name = raw.hex()
                found[name] = proven_piece(name, body, erased=bool(erased))
        return {name: found[name] for name in wanted if name in found}

    def _reading(self, look: Callable[[apsw.Connection, _Known], T]) -> T:
        return self.database.reading(lambda db: look(db, self._known_in(db)))

    def writing(self, work: Callable[[apsw.Cursor], T]) -> T:
        """Run work in one durable transaction, in the file that has our path now."""
        return self.database.writing(work)

    def _known_in(self, db: Executor) -> _Known:
        """What is known of the file that a connection is to. A connection of a file that was closed meanwhile
        neither takes what is known of the next one, nor adds to it."""
        opening = self.database.opening_of(db if isinstance(db, apsw.Connection) else db.connection)
        if opening is None:
            return _Known()
        known = self._known  # another thread may take another one
        if known.opening is not opening:
            known = self._known = _Known(opening)
        return known

    def number(self, db: Executor, stream: str, *, make: bool = False) -> int:
        """The number of a stream; 0 if it has none, unless it is to be made."""
        return self._number(db, self._known_in(db), stream, make=make)

    @staticmethod
    def _number(db: Executor, known: _Known, stream: str, *, make: bool = False) -> int:
        number = known.numbers.get(stream)
        if number is None:
            sql = "SELECT no FROM streams WHERE name = ?"
            found: list[Any] = db.execute(sql, (stream,)).fetchall()
            if not found and make:
                sql = "INSERT INTO streams (name) VALUES (?) RETURNING no"
                found = db.execute(sql, (stream,)).fetchall()
            number = int(found[0][0]) if found else 0
        return number

    def snapshots(self, streams: Iterable[str], *, cards: bool = False) -> dict[str, Snapshot]:
        state_column = "x''" if cards else "state"
        sql = f"SELECT stream, version, fold, {state_column}, card FROM snapshots WHERE stream IN"
        wanted = list(streams)

        def look(db: apsw.Connection, known: _Known) -> list[tuple[str, tuple[Any, ...]]]:
            found = []
            for at in range(0, len(wanted), _ASKED_AT_ONCE):
                named = self._numbered(db, known, wanted[at : at + _ASKED_AT_ONCE])
                rows = db.execute(f"{sql} ({_marks(named)})", tuple(named))
                found += [(named[number], row) for number, *row in rows]
            return found

        return {stream: Snapshot(stream, *row) for stream, row in self._reading(look)}

    @staticmethod
    def _numbered(db: apsw.Connection, known: _Known, streams: Sequence[str]) -> dict[int, str]:
        """Streams by their numbers, which are remembered; those that do not exist are left out."""
        numbers = known.numbers  # another thread may forget them
        unknown = [stream for stream in streams if stream not in numbers]
        if unknown:
            sql = f"SELECT name, no FROM streams WHERE name IN ({_marks(unknown)})"
            numbers.update(db.execute(sql, tuple(unknown)))
        return {numbers[stream]: stream for stream in streams if stream in numbers}

    def keep(self, snapshot: Snapshot) -> None:
        sql = (
            "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?) ON CONFLICT (stream) DO UPDATE"
            " SET version = excluded.version, fold = excluded.fold,"
            " state = excluded.state, card = excluded.card"
            " WHERE (snapshots.fold, snapshots.version) <= (excluded.fold, excluded.version)"
        )

        def work(db: apsw.Cursor) -> None:
            number = self.number(db, snapshot.stream)
            if number:
                db.execute(sql, (number, snapshot.version, snapshot.fold, snapshot.state, snapshot.card))

        self.writing(work)
        trip("store.snapshot.after_commit")

    def erase(self, rewrites: Sequence[Rewrite], pieces: Pieces, *appends: Append) -> None:
        def work(db: apsw.Cursor) -> None:
            db.execute(OVERWRITE_DELETED).fetchall()
            for wish in appends:
                self._append_many(db, self.number(db, wish.stream), wish)
            for rewrite in rewrites:
                number = self.number(db, rewrite.stream)
                sql = "UPDATE events SET body = ?, erased = 1 WHERE id = ?"
                db.execute(sql, (rewrite.body, id_of(number, rewrite.version)))
            for address, body in pieces.items():
                sql = "UPDATE pieces SET body = ?, erased = 1 WHERE address = ?"
                db.execute(sql, (body, bytes.fromhex(address)))
            for stream in {r.stream for r in rewrites} | {a.stream for a in appends}:
                db.execute("DELETE FROM snapshots WHERE stream = ?", (self.number(db, stream),))
            trip("store.erase.before_commit")

        self.writing(work)
        trip("store.erase.after_commit")

    def drop(self, *streams: Append, pieces: Iterable[str] = (), beside: Versions | None = None) -> None:
        def work(db: apsw.Cursor) -> None:
            check_beside(self._streams(db, "session/"), [wish.stream for wish in streams], beside)
            for wish in streams:
                number = self.number(db, wish.stream)
                version, _ = self.head_in(db, number)
                if version != wish.expect:
                    raise StaleVersion(wish.stream, wish.expect, version)
                span = (id_of(number, 0), id_of(number + 1, 0))
                db.execute("DELETE FROM events WHERE id > ? AND id < ?", span)
                db.execute("DELETE FROM snapshots WHERE stream = ?", (number,))
            rows = [(bytes.fromhex(address),) for address in pieces]
            db.executemany("DELETE FROM pieces WHERE address = ?", rows)
            trip("store.drop.before_commit")

        self.writing(work)
        for wish in streams:
            self._known.heads.pop(wish.stream, None)

    def rest(self) -> None:
        """Keep nothing open meanwhile, as far as no other thread needs it; the next call opens anew."""
        self.database.rest()

    def close(self) -> None:
        self.database.close()


def _marks(values: Collection[object]) -> str:
    """As many placeholders of a statement."""
    return ", ".join("?" * len(values))
