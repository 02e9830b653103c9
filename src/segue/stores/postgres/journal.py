"""The store for teams, and its journal.

A stream has a row with its head, and whoever appends moves it on from the version and the hash that it
expects: one statement, which finds its predecessor or changes nothing. The row is the lock, too: appends to
one stream wait for each other, appends to two do not. Appends to several streams take their rows in the order
of the names. Events are verified against their hashes and each other when they are read, as on SQLite.

An append that came with pieces holds the namespace's row a little (no two of them wait for each other);
a drop holds it alone, so that nobody names a piece while it is removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from ..._failpoints import trip
from ...core.base import canonical
from ...core.journal.chain import linked
from ...core.journal.event import Event, seal_rows
from ...errors import StaleVersion
from ..base import Append, AppendWatch, Head, Pieces, Rewrite, Snapshot, Versions
from ..proofs import check_beside, proven_event, proven_piece
from .address import Address
from .database import BUSY_TIMEOUT_MS, Database, changed, many, plain, remember, rows, tried
from .schema import Db

if TYPE_CHECKING:
    from ..memory_changes import MemoryChange
    from ..sql_project_facts import SqlProjectFacts
    from ..sql_runs import SqlRuns
    from ..sql_server_tables import SqlServerTables
    from .memories import PostgresMemories
    from .search_index import PostgresSearchIndex

_MOVE = """
    moved AS (UPDATE segue.streams SET version = %(new)s, hash = %(hash)s WHERE namespace = %(namespace)s
        AND name = %(stream)s AND version = %(expect)s AND hash = %(prev)s RETURNING 1)"""
_BEGIN = """
    moved AS (INSERT INTO segue.streams AS s VALUES (%(namespace)s, %(stream)s, %(new)s, %(hash)s)
        ON CONFLICT (namespace, name) DO UPDATE SET version = excluded.version, hash = excluded.hash
        WHERE s.version = 0 RETURNING 1)"""
_PIECES = """,
    held AS MATERIALIZED (SELECT 1 FROM segue.namespaces, moved WHERE namespace = %(namespace)s
        FOR KEY SHARE OF namespaces),
    brought AS (INSERT INTO segue.pieces
        SELECT %(namespace)s, p.address, false, p.body FROM held,
            unnest(%(addresses)s::bytea[], %(pieces)s::bytea[]) AS p (address, body)
        ON CONFLICT DO NOTHING)"""
_EVENTS = """
    INSERT INTO segue.events
        SELECT %(namespace)s, %(stream)s, %(expect)s + e.place, e.header, e.body, e.hash, %(attempt)s, false
        FROM moved, """
_MANY = """unnest(%(headers)s::bytea[], %(bodies)s::bytea[], %(hashes)s::bytea[])
        WITH ORDINALITY AS e (header, body, hash, place)"""
_FEW = 12
"""So many events are sent one by one: the driver writes lists slowly, and remembers short statements only."""
INSERT = "INSERT INTO segue.events VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
_KEEP = """
    INSERT INTO segue.snapshots AS s
    SELECT %(namespace)s, %(stream)s, %(version)s, %(fold)s, %(state)s, %(card)s FROM (
        SELECT 1 FROM segue.streams WHERE namespace = %(namespace)s AND name = %(stream)s AND version > 0
        FOR KEY SHARE) there
    ON CONFLICT (namespace, stream) DO UPDATE SET version = excluded.version, fold = excluded.fold,
        state = excluded.state, card = excluded.card
        WHERE (s.fold, s.version) <= (excluded.fold, excluded.version)
"""
_SEEN_MAX = 16_384
_HIGHEST = "\U0010ffff"


@cache
def _appending(count: int, *, new: bool, pieces: bool) -> str:
    rows = ", ".join(f"({n}, %(h{n})s::bytea, %(b{n})s::bytea, %(d{n})s::bytea)" for n in range(1, count + 1))
    events = f"(VALUES {rows}) AS e (place, header, body, hash)" if count <= _FEW else _MANY
    return "WITH" + (_BEGIN if new else _MOVE) + (_PIECES if pieces else "") + _EVENTS + events


def put_pieces(db: Db, found: Sequence[tuple[str, bytes, bool, bytes]]) -> None:
    """Insert pieces (namespace, address, erased, body), while nobody drops any there."""
    rows(db, "SELECT 1 FROM segue.namespaces WHERE namespace = %s FOR KEY SHARE", (found[0][0],))
    many(db, "INSERT INTO segue.pieces VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING", found)


class PostgresStore:
    """A store in a namespace of a Postgres database: a journal, and what was observed and learnt."""

    def __init__(self, where: Address | str | Database, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> None:
        where = Address(where) if isinstance(where, str) else where
        if isinstance(where, Address):
            where = Database(where, busy_timeout_ms=busy_timeout_ms)
        self.database = where
        self.namespace = where.namespace
        self.machine = ""
        """Set by whoever shares the store with other machines: part of the names of streams of its own."""
        self.watch: AppendWatch | None = None
        """Set by whoever shares the store with other machines."""
        self._seen: dict[str, tuple[int, bytes]] = {}
        """The last head of each stream that was read or written here."""

    @property
    def clock_ahead_seconds(self) -> float:
        """How far the clock of the database is ahead of ours."""
        return self.database.clock_ahead_seconds

    def beside(self, namespace: str) -> Self:
        """The store of another namespace of this database; both share their connections."""
        store = type(self)(self.database.beside(namespace))
        store.machine = self.machine
        return store

    @cached_property
    def runs(self) -> SqlRuns:
        """What was observed of runs."""
        from ..sql_runs import SqlRuns
        from .sql import PostgresSql

        return SqlRuns(
            PostgresSql(self.database),
            lambda: trip("postgres.runs.before_commit"),
            lambda: trip("postgres.runs.after_commit"),
        )

    @cached_property
    def project_facts(self) -> SqlProjectFacts:
        """What was counted of projects."""
        from ..sql_project_facts import SqlProjectFacts
        from .sql import PostgresSql

        return SqlProjectFacts(
            PostgresSql(self.database),
            lambda: trip("postgres.facts.before_commit"),
            lambda: trip("postgres.facts.after_commit"),
        )

    @cached_property
    def memories(self) -> PostgresMemories:
        """What was learnt."""
        from .memories import PostgresMemories

        return PostgresMemories(self.database)

    @cached_property
    def search_index(self) -> PostgresSearchIndex:
        """The index for searching what sessions say."""
        from .search_index import PostgresSearchIndex

        return PostgresSearchIndex(self.database)

    @cached_property
    def server_tables(self) -> SqlServerTables:
        """What a server keeps for itself."""
        from ..sql_server_tables import SqlServerTables
        from .sql import PostgresSql

        return SqlServerTables(PostgresSql(self.database))

    def append(
        self, *appends: Append, pieces: Pieces | None = None, memories: MemoryChange | None = None
    ) -> list[Event]:
        try:
            if self.watch is not None:
                self.watch.before(self, appends)
            if memories is None and len(appends) == 1 and appends[0].drafts:
                events = self._append_one(appends[0], pieces or {})
            else:
                events = self._append_all(appends, pieces or {}, memories)
        except StaleVersion as stale:
            if self.watch is not None:
                self.watch.refused(self, stale)
            raise
        trip("postgres.append.after_commit")
        for event in events:
            self._saw(event.stream, event.version, event.hash)
        if self.watch is not None:
            self.watch.after(events)
        return events

    def _saw(self, stream: str, version: int, own: bytes) -> None:
        """Remember where a stream ends; a server that runs for long sees more streams than are worth it."""
        if len(self._seen) >= _SEEN_MAX:
            self._seen = {}
        self._seen[stream] = (version, own)

    def _append_one(self, wish: Append, pieces: Pieces) -> list[Event]:
        """Any number of events of one stream: one statement."""
        prev = self._prev(wish)
        sealed = list(seal_rows(wish.stream, wish.expect, prev, wish.drafts))
        events = [event for event, _ in sealed]
        sql = _appending(len(events), new=not wish.expect, pieces=bool(pieces))
        values: dict[str, Any] = {
            "namespace": self.namespace, "stream": wish.stream, "expect": wish.expect, "prev": prev,
            "new": events[-1].version, "hash": events[-1].hash,
        }  # fmt: skip
        if pieces:
            values |= {"addresses": [bytes.fromhex(a) for a in pieces], "pieces": list(pieces.values())}
        if len(events) <= _FEW:
            for place, (event, header) in enumerate(sealed, 1):
                values[f"h{place}"], values[f"b{place}"], values[f"d{place}"] = header, event.body, event.hash
        else:
            values |= {"headers": [header for _, header in sealed], "bodies": [e.body for e in events]}
            values["hashes"] = [e.hash for e in events]

        def work(db: Db, attempt: UUID) -> list[Event]:
            trip("postgres.append.before_commit")
            if not changed(db, sql, {**values, "attempt": attempt}):
                raise StaleVersion(wish.stream, wish.expect, self.head_in(db, wish.stream).version)
            return events

        return self.database.writing(
            work, lambda db, at: events if self.is_there(db, events[0], at) else None
        )

    def _prev(self, wish: Append) -> bytes:
        """The hash behind which an append comes, as last seen; StaleVersion if the stream is elsewhere."""
        if not wish.expect:
            return canonical.GENESIS
        seen = self._seen.get(wish.stream)
        if seen is None or seen[0] != wish.expect:
            head = self.head(wish.stream)
            if head.version != wish.expect:
                raise StaleVersion(wish.stream, wish.expect, head.version)
            return head.hash
        return seen[1]

    def is_there(self, db: Db, event: Event, attempt: UUID) -> bool:
        """Whether an event was written by this attempt."""
        sql = (
            "SELECT 1 FROM segue.events"
            " WHERE namespace = %s AND stream = %s AND version = %s AND attempt = %s"
        )
        return bool(rows(db, sql, (self.namespace, event.stream, event.version, attempt)))

    def _append_all(
        self, appends: Sequence[Append], pieces: Pieces, memories: MemoryChange | None
    ) -> list[Event]:
        """The long way: any number of streams, and memories."""
        made: list[Event] = []

        def work(db: Db, attempt: UUID) -> list[Event]:
            made[:] = self._append_many(db, attempt, appends)
            if pieces:
                own = self.namespace
                put_pieces(db, [(own, bytes.fromhex(a), False, body) for a, body in pieces.items()])
            if memories is not None:
                self.memories.apply(db, memories, attempt)
            trip("postgres.append.before_commit")
            return list(made)

        def done(db: Db, attempt: UUID) -> list[Event] | None:
            if made:
                return list(made) if self.is_there(db, made[0], attempt) else None
            return [] if tried(db, self.namespace, attempt) else None

        return self.database.transaction(work, done)

    def _append_many(self, db: Db, attempt: UUID, appends: Sequence[Append]) -> list[Event]:
        heads = self._locked(db, appends)
        events: list[Event] = []
        for wish in appends:
            version, prev = heads.get(wish.stream, (0, canonical.GENESIS))
            if version != wish.expect:
                raise StaleVersion(wish.stream, wish.expect, version)
            found = []
            for event, header in seal_rows(wish.stream, version, prev, wish.drafts):
                row = (event.version, header, event.body, event.hash, attempt, False)
                found.append((self.namespace, event.stream, *row))
                events.append(event)
                heads[wish.stream] = (event.version, event.hash)
            many(db, INSERT, found)
            trip("postgres.append.between")
        sql = "UPDATE segue.streams SET version = %s, hash = %s WHERE namespace = %s AND name = %s"
        moved = dict.fromkeys(event.stream for event in events)
        many(db, sql, [(*heads[stream], self.namespace, stream) for stream in moved])
        return events

    def _locked(self, db: Db, appends: Sequence[Append]) -> dict[str, tuple[int, bytes]]:
        """The heads of all streams, held to the end of the transaction; those that are new, too."""
        names = sorted({wish.stream for wish in appends})
        new = sorted({wish.stream for wish in appends if not wish.expect})
        sql = "INSERT INTO segue.streams VALUES (%s, %s, 0, %s) ON CONFLICT DO NOTHING"
        many(db, sql, [(self.namespace, name, canonical.GENESIS) for name in new])
        sql = (
            "SELECT name, version, hash FROM segue.streams WHERE namespace = %s AND name = ANY(%s)"
            " ORDER BY name FOR UPDATE"
        )
        return {name: (version, own) for name, version, own in rows(db, sql, (self.namespace, names))}

    def read(self, stream: str, *, after: int = 0, limit: int = 0) -> list[Event]:
        sql = (
            "SELECT version, header, body, hash, erased FROM segue.events"
            " WHERE namespace = %s AND stream = %s AND version > %s ORDER BY version LIMIT %s"
        )
        found = self.database.fetch(sql, (self.namespace, stream, after, limit or None))
        events = [proven_event(stream, *row) for row in found]
        linked(stream, after, events)
        if events and not limit:
            self._saw(stream, events[-1].version, events[-1].hash)
        return events

    def head(self, stream: str) -> Head:
        head = self.database.reading(lambda db: self.head_in(db, stream))
        self._saw(stream, head.version, head.hash)
        return head

    def head_in(self, db: Db, stream: str) -> Head:
        """Where a stream ends, as a transaction sees it."""
        sql = "SELECT version, hash FROM segue.streams WHERE namespace = %s AND name = %s"
        found = rows(db, sql, (self.namespace, plain(stream)))
        return Head(*found[0]) if found else Head(0, canonical.GENESIS)

    def streams(self, prefix: str = "") -> list[tuple[str, int]]:
        return self.database.reading(lambda db: self._streams(db, prefix))

    def _streams(self, db: Db, prefix: str) -> list[tuple[str, int]]:
        sql = (
            "SELECT name, version FROM segue.streams WHERE namespace = %(namespace)s AND name >= %(prefix)s"
            " AND name < %(end)s AND version > 0 ORDER BY name"
        )
        values = {"namespace": self.namespace, "prefix": prefix, "end": prefix + _HIGHEST}
        return [(str(name), int(version)) for name, version in rows(db, sql, values)]

    def pieces(self, addresses: Iterable[str]) -> dict[str, bytes]:
        wanted = list(dict.fromkeys(addresses))
        if not wanted:
            return {}
        sql = "SELECT address, body, erased FROM segue.pieces WHERE namespace = %s AND address = ANY(%s)"
        fetched = self.database.fetch(sql, (self.namespace, [bytes.fromhex(a) for a in wanted]))
        found = {raw.hex(): proven_piece(raw.hex(), body, erased=erased) for raw, body, erased in fetched}
        return {address: found[address] for address in wanted if address in found}

    def snapshots(self, streams: Iterable[str], *, cards: bool = False) -> dict[str, Snapshot]:
        wanted = list(streams)
        if not wanted:
            return {}
        state = "''::bytea" if cards else "state"
        sql = (
            f"SELECT stream, version, fold, {state}, card FROM segue.snapshots"
            " WHERE namespace = %s AND stream = ANY(%s)"
        )
        found = {row[0]: Snapshot(*row) for row in self.database.fetch(sql, (self.namespace, wanted))}
        return {stream: found[stream] for stream in wanted if stream in found}

    def keep(self, snapshot: Snapshot) -> None:
        values = {name: getattr(snapshot, name) for name in Snapshot.__struct_fields__}
        values["namespace"] = self.namespace

        def work(db: Db, _: UUID) -> int:
            return changed(db, _KEEP, values)

        self.database.writing(work, lambda *_: None)  # the same once more does no harm
        trip("postgres.snapshot.after_commit")

    def erase(self, rewrites: Sequence[Rewrite], pieces: Pieces, *appends: Append) -> None:
        def work(db: Db, attempt: UUID) -> bool:
            remember(db, self.namespace, attempt)
            self._append_many(db, attempt, appends)
            sql = (
                "UPDATE segue.events SET body = %s, erased = true"
                " WHERE namespace = %s AND stream = %s AND version = %s"
            )
            many(db, sql, [(r.body, self.namespace, r.stream, r.version) for r in rewrites])
            sql = "UPDATE segue.pieces SET body = %s, erased = true WHERE namespace = %s AND address = %s"
            many(db, sql, [(body, self.namespace, bytes.fromhex(a)) for a, body in pieces.items()])
            touched = sorted({r.stream for r in rewrites} | {a.stream for a in appends})
            sql = "DELETE FROM segue.snapshots WHERE namespace = %s AND stream = ANY(%s)"
            changed(db, sql, (self.namespace, touched))
            trip("postgres.erase.before_commit")
            return True

        self.database.transaction(work, lambda db, at: tried(db, self.namespace, at) or None)
        trip("postgres.erase.after_commit")
        for wish in appends:
            self._seen.pop(wish.stream, None)
        if self.watch is not None:
            self.watch.forget({r.stream for r in rewrites})

    def drop(self, *streams: Append, pieces: Iterable[str] = (), beside: Versions | None = None) -> None:
        addresses = [bytes.fromhex(address) for address in pieces]
        names = [wish.stream for wish in streams]

        def work(db: Db, attempt: UUID) -> bool:
            remember(db, self.namespace, attempt)
            if addresses:  # nobody names one of them meanwhile
                sql = "SELECT 1 FROM segue.namespaces WHERE namespace = %s FOR UPDATE"
                rows(db, sql, (self.namespace,))
            heads = self._locked(db, [wish for wish in streams if wish.expect])
            if beside is not None:
                check_beside(self._streams(db, "session/"), names, beside)
            for wish in streams:
                known = heads.get(wish.stream)
                version = known[0] if known else self.head_in(db, wish.stream).version
                if version != wish.expect:
                    raise StaleVersion(wish.stream, wish.expect, version)
            for table, column in (("events", "stream"), ("snapshots", "stream"), ("streams", "name")):
                sql = f"DELETE FROM segue.{table} WHERE namespace = %s AND {column} = ANY(%s)"
                changed(db, sql, (self.namespace, names))
            sql = "DELETE FROM segue.pieces WHERE namespace = %s AND address = ANY(%s)"
            changed(db, sql, (self.namespace, addresses))
            trip("postgres.drop.before_commit")
            return True

        self.database.transaction(work, lambda db, at: tried(db, self.namespace, at) or None)
        for name in names:
            self._seen.pop(name, None)
        if self.watch is not None:
            self.watch.forget(names)

    def close(self) -> None:
        self.database.close()
        self._seen = {}
