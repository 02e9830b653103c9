"""Memories on SQLite: full text by FTS5, vectors by a scan.

Full text keeps, beside the words, marks for audience, type, agent and session (``~a7``), so that the index
itself leaves out what is not asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from ..._failpoints import trip
from ...core.base.canonical import sha256
from ...core.memories.model import MemoryReader
from .. import forks
from ..matching import SqlWords
from ..memory_changes import MemoryChange, StoredMemory
from ..sql import insert, update
from ..sql_memories import Audiences, SqlMemories, mask_text
from ..sql_memory_writes import CHANGED, COLUMNS, MemoryWriter, marked
from ..vectors import VectorBits, joined
from .database import OVERWRITE_DELETED, Database
from .sql import SqliteSql, SqliteStatements

_SIDE = (
    ", (SELECT json_group_array(no) FROM (SELECT o.no FROM memories o WHERE o.session = m.session"
    " AND o.session != '' AND o.no {sign} m.no AND o.live AND o.audience = ANY(:seen)"
    " ORDER BY o.no {order} LIMIT :reach))"
)
_BITS = "FROM memory_bits WHERE model = :model AND no > :last AND no <= :end"
_NUMBERS_AT_ONCE = 250_000
_BITS_JOINED = f"""
    SELECT json_group_array(no), json_group_array(audience), max(length(bits)),
        CAST(group_concat(bits, '') AS BLOB) {_BITS}
"""
"""In one row: a row for each takes Python more than twice as long."""
_MATCH = "SELECT rowid FROM memory_words WHERE memory_words MATCH :query ORDER BY rowid DESC LIMIT :most"


def mark(kind: str, name: object) -> str:
    """A word of the index that stands for an audience, a type, an agent or a session."""
    if isinstance(name, int):
        return f"~{kind}{name}"
    return f"~{kind}{sha256(str(name).encode(errors='replace')).hexdigest()[:16]}"


class SqliteMemories(SqlMemories):
    """Memories in the file of a journal."""

    WHOLE = (
        "SELECT m.no, b.body, b.hash, coalesce(c.helpful, 0), coalesce(c.harmful, 0),"
        " coalesce(c.recalled, 0), coalesce(c.recalled_at, ''), m.created"
        " FROM memories m JOIN memory_bodies b ON b.no = m.no LEFT JOIN memory_counts c ON c.no = m.no"
        " WHERE true"
    )
    STAMP = "SELECT stamp FROM memory_stamp"
    SIDES = _SIDE.format(sign="<", order="DESC") + _SIDE.format(sign=">", order="ASC")
    NEWEST_FIRST_JOIN = "CROSS JOIN"  # which SQLite takes as an order

    def __init__(self, database: Database) -> None:
        super().__init__(SqliteSql(database))
        self._database = database
        self._opening: object | None = None
        self._forks = forks.count

    def write(self, change: MemoryChange) -> list[str]:
        is_forgotten = any(kept.memory.forgotten for kept in change.puts)

        def work(db: apsw.Cursor) -> list[str]:
            if is_forgotten:
                db.execute(OVERWRITE_DELETED).fetchall()
            ids = self.apply(db, change)
            trip("store.memories.before_commit")
            return ids

        ids = self._database.writing(work)
        trip("store.memories.after_commit")
        return ids

    @staticmethod
    def apply(db: apsw.Cursor, change: MemoryChange) -> list[str]:
        """The change, within a transaction of the caller."""
        return _Writer(SqliteStatements(db)).apply(change)

    def compact(self, text: str = "") -> None:
        def work(db: apsw.Cursor) -> None:
            db.execute(OVERWRITE_DELETED).fetchall()
            if text:
                mask_text(SqliteStatements(db), text)
            db.execute("INSERT INTO memory_words (memory_words) VALUES ('optimize')")

        self._database.writing(work)
        if self._database.journal_mode == "wal":
            checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)"
            self._database.reading(lambda db: db.execute(checkpoint).fetchall())

    def _seen(self, reader: MemoryReader) -> list[int]:
        opening = self._database.opening_of(self._database.connection())
        if self._forks != forks.count:
            self._lock, self._forks = threading.RLock(), forks.count  # whoever held it stayed in the parent
        with self._lock:
            if self._opening is not opening:  # perhaps another file: nothing counts any more
                self._opening = opening
                self._audiences, self._indexes = Audiences(), {}
            return super()._seen(reader)

    def _mark(self, kind: str, name: object) -> str:
        return mark(kind, name)

    def _words(self, seen: Sequence[int], marks: list[list[str]]) -> SqlWords:
        if len(seen) < len(self._audiences):
            marks = [[mark("a", no) for no in seen], *marks]
        return _Words(self._sql, marks)

    @staticmethod
    def _side(column: Any) -> list[int]:
        found: list[int] = msgspec.json.decode(column)
        return found

    def _bits(self, model: str, last: int) -> list[VectorBits]:
        sql = "SELECT min(no) FROM memory_bits WHERE model = :model AND no > :last"
        [(first,)] = self._rows(sql, model=model, last=last)
        if first is None:
            return []
        asked = {"model": model, "last": last, "end": first + _NUMBERS_AT_ONCE}
        [(*lists, width, bits)] = self._rows(_BITS_JOINED, **asked)
        numbers, audiences = (msgspec.json.decode(one, type=list[int]) for one in lists)
        if len(bits) == width * len(numbers):
            return [VectorBits(numbers, audiences, bits)]
        rows = self._rows(f"SELECT no, audience, bits {_BITS}", **asked)  # not all are equally long
        return joined((no, audience, some) for no, audience, some in rows)


class _Words(SqlWords):
    def holding(self, wanted: Sequence[tuple[str, Sequence[str]]], most: int) -> list[list[int]]:
        only = "".join(f" AND ({_either(group)})" for group in self.marks)
        found = []
        for word, others in wanted:
            query = _quoted(word) + (f" AND ({_either(others)})" if others else "") + only
            found.append([row[0] for row in self.sql.rows(_MATCH, query=query, most=most)])
        return found


def _either(words: Sequence[str]) -> str:
    return " OR ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


class _Writer(MemoryWriter):
    """One change of the memories of a file: only one can write to it at a time."""

    INSERT = (
        insert("memories", COLUMNS),
        "INSERT INTO memory_bodies (no, hash, body) VALUES (:no, :body_hash, :body)",
    )
    UPDATE = (
        update("memories", CHANGED),
        "UPDATE memory_bodies SET hash = :body_hash, body = :body WHERE no = :no",
    )
    ADD_WORDS = "INSERT INTO memory_words (rowid, words) VALUES (:no, :words)"
    DROP_WORDS = "DELETE FROM memory_words WHERE rowid = :no"
    DROP_VECTORS = (
        "DELETE FROM memory_bits WHERE no = :no"
        " AND model = (SELECT model FROM memory_vectors WHERE no = :no)",
        "DELETE FROM memory_vectors WHERE no = :no",
    )

    def begin(self, *, changes: bool) -> None:
        if changes:
            self.db.change("UPDATE memory_stamp SET stamp = stamp + 1")

    def saying(self, wanted: Sequence[tuple[int, bytes]]) -> dict[tuple[int, bytes], str]:
        sql = "SELECT id FROM memories WHERE audience = :audience AND hash = :hash AND live"
        found = ((key, self.db.rows(sql, audience=key[0], hash=key[1])) for key in wanted)
        return {key: rows[0][0] for key, rows in found if rows}

    def words_of(self, audience: int, kept: StoredMemory) -> str:
        marks = (mark(kind, name) for kind, name in marked(kept.memory, audience))
        return " ".join([kept.words, *marks])

    def add_vectors(self, rows: list[dict[str, Any]]) -> None:
        self.db.many("INSERT OR REPLACE INTO memory_bits VALUES (:model, :no, :audience, :bits)", rows)
        self.db.many("INSERT OR REPLACE INTO memory_vectors VALUES (:no, :model, :body)", rows)

    def is_duplicate(self, fault: Exception) -> bool:
        return isinstance(fault, apsw.ConstraintError)
