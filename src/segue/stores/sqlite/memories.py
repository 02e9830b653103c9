"""The port of memories on SQLite: rows, full text and vectors in the file of the journal.

An operation is one transaction. The table ``audiences`` has a row for each audience that memories are
meant for; a read begins with those that its reader may see, and looks at memories of no other. Full text
keeps, beside the words, marks for audience, type, agent and session (``~a7``), so that the index itself
leaves out what is not asked for.
A body is kept with its hash and proven when it is read.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import apsw
import msgspec

from ..._failpoints import trip
from ...core.memories.model import (
    Audience,
    Memory,
    MemoryAudit,
    MemoryFilter,
    MemoryReader,
    Vote,
    audience_of,
    fits,
    hash_of,
)
from ...core.memories.ranking import Placed, Texts, length_of
from ...errors import DamagedError, StaleVersion
from ..audiences import Audiences, audience_in
from ..base import Carried, MemoryChange, StoredMemory
from ..matching import matched
from ..memory_rows import body_of, memory_of
from ..vectors import PLAIN_ROWS_MAX, PLAIN_SCANS_MAX, NumpyIndex, VectorIndex, asks_once, bits_of, index
from .matching import SqliteWords
from .vec_index import SqliteVecIndex, loaded

if TYPE_CHECKING:
    from .journal import SqliteJournal

Row = tuple[Any, ...]
_WHOLE = (
    "SELECT m.no, b.body, b.hash, coalesce(c.helpful, 0), coalesce(c.harmful, 0), coalesce(c.recalled, 0),"
    " coalesce(c.recalled_at, '') FROM memories m JOIN memory_bodies b ON b.no = m.no"
    " LEFT JOIN memory_counts c ON c.no = m.no"
)

_SESSIONS = (
    "SELECT m.no, m.session FROM memories m WHERE m.no IN (SELECT value FROM json_each(?1))"
    " AND m.session != '' AND m.live AND m.audience IN (SELECT value FROM json_each(?2)) AND ?3 >= 0"
)
_SIDE = (
    "(SELECT json_group_array(no) FROM (SELECT o.no FROM memories o WHERE o.session = m.session"
    " AND o.session != '' AND o.no {sign} m.no AND o.live"
    " AND o.audience IN (SELECT value FROM json_each(?2)) ORDER BY o.no {order} LIMIT ?3))"
)
_PLACES = _SESSIONS.replace(
    "m.session FROM",
    f"m.session, {_SIDE.format(sign='<', order='DESC')}, {_SIDE.format(sign='>', order='ASC')} FROM",
)


def mark(kind: str, name: object) -> str:
    """A word of the index that stands for an audience, a type, an agent or a session."""
    if isinstance(name, int):
        return f"~{kind}{name}"
    return f"~{kind}{hashlib.sha256(str(name).encode(errors='replace')).hexdigest()[:16]}"


class SqliteMemories:
    """Memories in the file of a journal."""

    def __init__(self, journal: SqliteJournal) -> None:
        self._journal = journal
        self._lock = threading.RLock()
        self._audiences = Audiences()
        self._indexes: dict[str, tuple[int, int, VectorIndex]] = {}
        self._inode = 0
        self._scans = 0

    # -- writing -------------------------------------------------------------------------------

    def write(self, change: MemoryChange) -> list[str]:
        db = self._connected()
        if any(kept.memory.forgotten for kept in change.puts):
            db.pragma("secure_delete", 1)

        def work(db: apsw.Connection) -> list[str]:
            ids = self.apply(db, change)
            trip("store.memories.before_commit")
            return ids

        ids = self._journal.database.writing(work)
        trip("store.memories.after_commit")
        return ids

    def apply(self, db: apsw.Connection, change: MemoryChange) -> list[str]:
        """The change, within a transaction of the caller."""
        renamed = {kept.memory.id: self._add(db, kept) for kept in change.adds}
        for kept in change.puts:
            self._put(db, kept)
        for vote in change.votes:
            no = self._number(db, vote.memory)
            if no:
                cast = (no, vote.voter, vote.vote, vote.at, vote.context)
                db.execute("INSERT OR REPLACE INTO memory_votes VALUES (?, ?, ?, ?, ?)", cast)
                self._tally(db, no)
        for id, more, at in change.recalls:
            sql = (
                "INSERT INTO memory_counts (no, recalled, recalled_at) SELECT no, ?2, ?3 FROM memories"
                " WHERE id = ?1 ON CONFLICT (no) DO UPDATE SET recalled = recalled + ?2, recalled_at = ?3"
            )
            db.execute(sql, (id, more, at))
        for kept in change.vectors:
            sql = "SELECT no, audience FROM memories WHERE id = ? AND revision = ? AND live"
            row = db.execute(sql, (kept.memory.id, kept.memory.revision)).fetchone()
            if row is not None:
                self._unvector(db, int(str(row[0])))
                self._vector(db, int(str(row[0])), int(str(row[1])), kept)
        if change.vectors or change.puts:
            db.execute("UPDATE memory_stamp SET stamp = stamp + 1")
        for trace in change.trail:
            if renamed.get(trace.memory, trace.memory) == trace.memory:
                self._trace(db, trace)
        return [renamed[kept.memory.id] for kept in change.adds]

    def _add(self, db: apsw.Connection, kept: StoredMemory) -> str:
        memory = kept.memory
        audience, own = self._audience(db, memory), hash_of(memory)
        sql = (
            "SELECT id FROM memories WHERE id = ?1 UNION ALL"
            " SELECT id FROM memories WHERE ?4 AND audience = ?2 AND hash = ?3 AND live"
        )
        there = db.execute(sql, (memory.id, audience, own, memory.live)).fetchone()
        if there is not None:
            return str(there[0])
        length = length_of(kept.words)
        row = (
            memory.id, audience, memory.live, length, own if memory.live else b"", memory.type, memory.agent,
            memory.session, memory.created, memory.revision,
        )  # fmt: skip
        db.execute(
            "INSERT INTO memories (id, audience, live, length, hash, type, agent, session, created, revision)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        no = db.last_insert_rowid()
        self._body(db, no, memory)
        if memory.live:
            self._index(db, no, audience, kept, length)
        return memory.id

    def _put(self, db: apsw.Connection, kept: StoredMemory) -> None:
        memory = kept.memory
        sql = "SELECT no, audience, length, live, revision FROM memories WHERE id = ?"
        there = db.execute(sql, (memory.id,)).fetchone()
        actual = int(str(there[4])) if there else 0
        if there is None or actual != memory.revision - 1:
            raise StaleVersion(f"memory {memory.id}", memory.revision - 1, actual)
        no, before, length, live, _ = map(int, map(str, there))
        if live:
            db.execute("DELETE FROM memory_words WHERE rowid = ?", (no,))
            sql = "UPDATE audiences SET live = live - 1, words = words - ? WHERE no = ?"
            db.execute(sql, (length, before))
        self._unvector(db, no)
        audience = self._audience(db, memory)
        length = length_of(kept.words)
        sql = (
            "UPDATE memories SET audience = ?, live = ?, length = ?, hash = ?, type = ?, agent = ?,"
            " session = ?, revision = ? WHERE no = ?"
        )
        own = hash_of(memory) if memory.live else b""
        row = (audience, memory.live, length, own, memory.type, memory.agent, memory.session, memory.revision)
        try:
            db.execute(sql, (*row, no))
        except apsw.ConstraintError:  # says now what another one says: it lives on in that one
            raise StaleVersion(f"memory {memory.id}", memory.revision - 1, actual) from None
        self._body(db, no, memory)
        if memory.live:
            self._index(db, no, audience, kept, length)
        if memory.forgotten:
            db.execute("UPDATE memory_votes SET context = '' WHERE no = ?", (no,))

    def _body(self, db: apsw.Connection, no: int, memory: Memory) -> None:
        body, own = body_of(memory)
        db.execute("INSERT OR REPLACE INTO memory_bodies VALUES (?, ?, ?)", (no, own, body))
        if memory.helpful or memory.harmful or memory.recalled:
            counts = (no, memory.helpful, memory.harmful, memory.recalled, memory.recalled_at)
            db.execute("INSERT OR IGNORE INTO memory_counts VALUES (?, ?, ?, ?, ?)", counts)

    def _index(self, db: apsw.Connection, no: int, audience: int, kept: StoredMemory, length: int) -> None:
        memory = kept.memory
        marks = [
            mark("a", audience),
            mark("t", memory.type),
            mark("g", memory.agent),
            mark("s", memory.session),
        ]
        row = (no, " ".join([kept.words, *marks]))
        db.execute("INSERT INTO memory_words (rowid, words) VALUES (?, ?)", row)
        sql = "UPDATE audiences SET live = live + 1, words = words + ? WHERE no = ?"
        db.execute(sql, (length, audience))
        if kept.vector:
            self._vector(db, no, audience, kept)

    @staticmethod
    def _vector(db: apsw.Connection, no: int, audience: int, kept: StoredMemory) -> None:
        row = (kept.model, no, audience, bits_of(kept.vector))
        db.execute("INSERT OR REPLACE INTO memory_bits VALUES (?, ?, ?, ?)", row)
        db.execute("INSERT OR REPLACE INTO memory_vectors VALUES (?, ?, ?)", (no, kept.model, kept.vector))

    @staticmethod
    def _unvector(db: apsw.Connection, no: int) -> None:
        model = "(SELECT model FROM memory_vectors WHERE no = ?1)"
        db.execute(f"DELETE FROM memory_bits WHERE no = ?1 AND model = {model}", (no,))
        db.execute("DELETE FROM memory_vectors WHERE no = ?", (no,))

    @staticmethod
    def _tally(db: apsw.Connection, no: int) -> None:
        sql = (
            "INSERT INTO memory_counts (no, helpful, harmful)"
            " SELECT ?1, coalesce(sum(vote = 'helpful'), 0), coalesce(sum(vote = 'harmful'), 0)"
            " FROM memory_votes WHERE no = ?1"
            " ON CONFLICT (no) DO UPDATE SET helpful = excluded.helpful, harmful = excluded.harmful"
        )
        db.execute(sql, (no,))

    def _trace(self, db: apsw.Connection, trace: MemoryAudit) -> None:
        no = self._number(db, trace.memory)
        if no:
            row = (no, trace.act, trace.at, trace.actor, trace.reason)
            db.execute("INSERT INTO memory_trail (no, act, at, actor, reason) VALUES (?, ?, ?, ?, ?)", row)

    @staticmethod
    def _number(db: apsw.Connection, id: str) -> int:
        row = db.execute("SELECT no FROM memories WHERE id = ?", (id,)).fetchone()
        return int(row[0]) if row else 0

    @staticmethod
    def _audience(db: apsw.Connection, memory: Memory) -> int:
        key = msgspec.json.encode(audience_of(memory))
        row = db.execute("SELECT no FROM audiences WHERE key = ?", (key,)).fetchone()
        if row is not None:
            return int(row[0])
        db.execute("INSERT INTO audiences (key, live, words) VALUES (?, 0, 0)", (key,))
        return db.last_insert_rowid()

    # -- reading -------------------------------------------------------------------------------

    def get(self, ids: Sequence[str], reader: MemoryReader) -> list[Memory]:
        sql = "SELECT m.no FROM json_each(?) j JOIN memories m ON m.id = j.value"
        numbers = [row[0] for row in self._fetch(sql, (_array(ids),))]
        return list(self.take(numbers, reader).values())

    def meant(self, ids: Sequence[str]) -> dict[str, Audience]:
        sql = (
            "SELECT m.id, a.key FROM json_each(?) j JOIN memories m ON m.id = j.value"
            " JOIN audiences a ON a.no = m.audience"
        )
        return {id: audience_in(key) for id, key in self._fetch(sql, (_array(ids),))}

    def take(self, numbers: Sequence[int], reader: MemoryReader) -> dict[int, Memory]:
        sql = (
            f"{_WHOLE} WHERE m.no IN (SELECT value FROM json_each(?1))"
            " AND m.audience IN (SELECT value FROM json_each(?2))"
        )
        rows = self._fetch(sql, (_array(numbers), _array(self._seen(reader))))
        found = {row[0]: memory_of(row) for row in rows}
        return {no: found[no] for no in numbers if no in found}

    def listing(self, reader: MemoryReader, where: MemoryFilter, now: str, limit: int = 0) -> list[Memory]:
        clauses, values = ["m.audience IN (SELECT value FROM json_each(?))"], [_array(self._seen(reader))]
        for column, wanted in (("type", where.types), ("agent", where.agents), ("session", where.sessions)):
            if wanted:
                clauses.append(f"m.{column} IN (SELECT value FROM json_each(?))")
                values.append(_array(wanted))
        for clause, value in (("m.created >= ?", where.since), ("m.created <= ?", where.until)):
            if value:
                clauses.append(clause)
                values.append(value)
        if not where.dead:
            clauses.append("m.live")
        sql = f"{_WHOLE} WHERE {' AND '.join(clauses)} ORDER BY m.created DESC, m.no DESC"
        found: list[Memory] = []
        for row in self._rows(sql, tuple(values)):
            memory = memory_of(row)
            if fits(where, memory, now):
                found.append(memory)
                if limit and len(found) >= limit:
                    break
        return found

    def match(self, reader: MemoryReader, words: Sequence[str], where: MemoryFilter, limit: int) -> Texts:
        seen = self._seen(reader)
        if not seen or not words:
            return Texts(counts=[0] * len(words))
        marks = [[mark("a", no) for no in seen]] if len(seen) < len(self._audiences) else []
        for kind, wanted in (("t", where.types), ("g", where.agents), ("s", where.sessions)):
            if wanted:
                marks.append([mark(kind, name) for name in wanted])
        sql = "SELECT sum(live), sum(words) FROM audiences WHERE no IN (SELECT value FROM json_each(?))"
        total, length = self._fetch(sql, (_array(seen),))[0]
        words_held = SqliteWords(self._fetch, marks)
        return matched(words_held, words, limit, int(total or 0), int(length or 0))

    def near(
        self, reader: MemoryReader, model: str, vector: bytes, where: MemoryFilter, limit: int
    ) -> list[tuple[int, float]]:
        seen = self._seen(reader)
        if not seen:
            return []
        only: set[int] | None = None
        for column, wanted in (("type", where.types), ("agent", where.agents), ("session", where.sessions)):
            if wanted:
                sql = f"SELECT no FROM memories WHERE {column} IN (SELECT value FROM json_each(?)) AND live"
                numbers = {row[0] for row in self._fetch(sql, (_array(wanted),))}
                only = numbers if only is None else only & numbers
        with self._lock:
            found = self._index_of(model).near(vector, seen, only, limit, self._vectors)
        return found

    def _index_of(self, model: str) -> VectorIndex:
        stamp = self._fetch("SELECT stamp FROM memory_stamp", ())
        now = int(stamp[0][0]) if stamp else 0
        before, last, made = self._indexes.get(model, (0, 0, None))
        self._scans += 1
        better = self._scans == PLAIN_SCANS_MAX and not isinstance(made, NumpyIndex)
        if made is None or before != now or better:
            last, made = 0, self._in_the_table(model)
        if isinstance(made, SqliteVecIndex):
            self._indexes[model] = (now, 0, made)
            return made
        sql = "SELECT no, audience, bits FROM memory_bits WHERE model = ? AND no > ? ORDER BY no"
        rows = self._fetch(sql, (model, last))
        if made is None:
            made = index(len(rows), self._scans)
        if rows:
            made.add(rows)
            last = rows[-1][0]
        self._indexes[model] = (now, last, made)
        return made

    def _in_the_table(self, model: str) -> SqliteVecIndex | None:
        """An index that reads nothing first, for a process that asks once among many."""
        if not asks_once(self._scans) or not self._read(loaded, False):
            return None
        sql = "SELECT count(*) FROM (SELECT 1 FROM memory_bits WHERE model = ? LIMIT ?)"
        many = self._fetch(sql, (model, PLAIN_ROWS_MAX + 1))
        return SqliteVecIndex(model, self._fetch) if many and many[0][0] > PLAIN_ROWS_MAX else None

    def _vectors(self, numbers: Sequence[int]) -> dict[int, bytes]:
        sql = "SELECT no, body FROM memory_vectors WHERE no IN (SELECT value FROM json_each(?))"
        return {row[0]: row[1] for row in self._fetch(sql, (_array(numbers),))}

    def places(self, numbers: Sequence[int], reader: MemoryReader, reach: int = 0) -> dict[int, Placed]:
        seen = _array(self._seen(reader))
        rows = self._fetch(_PLACES if reach else _SESSIONS, (_array(numbers), seen, reach))
        found = {}
        for no, session, *sides in rows:
            before, behind = (msgspec.json.decode(side) for side in sides) if reach else ([], [])
            beside = [before[far : far + 1] + behind[far : far + 1] for far in range(reach)]
            found[no] = Placed(session, beside)
        return found

    def trail(self, reader: MemoryReader, id: str = "", limit: int = 100) -> list[MemoryAudit]:
        join = "JOIN" if id else "CROSS JOIN"  # SQLite takes the second as an order: from the newest line on
        sql = (
            "SELECT m.id, t.act, t.at, t.actor, t.reason"
            f" FROM memory_trail t {join} memories m ON m.no = t.no"
            " WHERE m.audience IN (SELECT value FROM json_each(?1)) AND ?2 IN ('', m.id)"
            " ORDER BY t.line DESC LIMIT ?3"
        )
        return [MemoryAudit(*row) for row in self._fetch(sql, (_array(self._seen(reader)), id, limit))]

    # -- upkeep --------------------------------------------------------------------------------

    def unembedded(self, model: str, limit: int, within: int = 0) -> list[tuple[int, Memory]]:
        sql = (
            f"{_WHOLE} LEFT JOIN memory_vectors v ON v.no = m.no"
            " WHERE m.live AND v.model IS NOT ?1 AND (NOT ?3 OR m.no > (SELECT max(no) FROM memories) - ?3)"
            " ORDER BY m.no DESC LIMIT ?2"
        )
        if within:  # so that SQLite looks at no others
            sql = sql.replace("(NOT ?3 OR m.no", "(m.no")
        return [(row[0], memory_of(row)) for row in self._fetch(sql, (model, limit, within))]

    def everything(self) -> list[StoredMemory]:
        return [StoredMemory(memory_of(row)) for row in self._fetch(f"{_WHOLE} ORDER BY m.no", ())]

    def carried(self, after: int = 0, limit: int = 500) -> list[Carried]:
        found = []
        for row in self._fetch(f"{_WHOLE} WHERE m.no > ? ORDER BY m.no LIMIT ?", (after, limit)):
            no, memory = row[0], memory_of(row)
            vector = self._fetch("SELECT model, body FROM memory_vectors WHERE no = ?", (no,))
            sql = "SELECT voter, vote, at, context FROM memory_votes WHERE no = ? ORDER BY voter"
            votes = [Vote(memory.id, *vote) for vote in self._fetch(sql, (no,))]
            sql = "SELECT act, at, actor, reason FROM memory_trail WHERE no = ? ORDER BY line"
            trail = [MemoryAudit(memory.id, *trace) for trace in self._fetch(sql, (no,))]
            found.append(Carried(no, StoredMemory(memory, "", *(vector[0] if vector else ())), votes, trail))
        return found

    def compact(self, text: str = "") -> None:
        def work(db: apsw.Connection) -> None:
            if text:
                db.execute("UPDATE memory_trail SET reason = replace(reason, ?, '***')", (text,))
                db.execute("UPDATE memory_votes SET context = replace(context, ?, '***')", (text,))
            db.execute("INSERT INTO memory_words (memory_words) VALUES ('optimize')")

        db = self._connected()
        db.pragma("secure_delete", 1)
        self._journal.database.writing(work)
        if self._journal.database.journal_mode == "wal":
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    # -- inside --------------------------------------------------------------------------------

    def _seen(self, reader: MemoryReader) -> list[int]:
        """The audiences that the reader belongs to."""
        with self._lock:
            self._connected()
            sql = "SELECT no, key FROM audiences WHERE no > ?"
            return self._audiences.seen(reader, lambda last: self._fetch(sql, (last,)))

    def _connected(self) -> apsw.Connection:
        database = self._journal.database
        if database.replaced():
            self._journal.close()
        db = database.connection()
        if self._inode != database.inode:
            self._inode, self._audiences, self._indexes = database.inode, Audiences(), {}
        return db

    def _fetch(self, sql: str, values: Row) -> list[Row]:
        rows: list[Row] = self._read(lambda db: db.execute(sql, values).fetchall(), [])
        return rows

    def _rows(self, sql: str, values: Row) -> Iterator[Row]:
        """One at a time: whoever has enough stops."""
        cursor = self._read(lambda db: db.execute(sql, values), None)
        while cursor is not None:
            row = self._read(lambda _: cursor.fetchone(), None)
            if row is None:
                return
            yield row

    def _read(self, look: Callable[[apsw.Connection], Any], nothing: Any) -> Any:
        db = self._connected()
        try:
            if not self._journal.database.writable:  # of a newer schema, or older and read-only
                known = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'memories'").fetchone()
                if known is None:
                    return nothing
            return look(db)
        except UnicodeDecodeError as fault:
            path = str(self._journal.database.path)
            raise DamagedError("the store", path, "a text is not UTF-8") from fault
        except apsw.Error as fault:
            raise self._journal.database.translate(fault) from fault


def _array(values: Iterable[object]) -> str:
    return msgspec.json.encode(list(values)).decode()
