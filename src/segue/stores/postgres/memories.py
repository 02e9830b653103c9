"""Memories on Postgres: full text by an inverted index of lexemes, vectors by pgvector where it is there.

No text search configuration takes part: words are put in as they are, and asked for as they are, so that a
query finds here what it finds on every other store. Beside the words stand marks for namespace and audience,
type, agent and session (``~a…``), so that the index itself leaves out what is not asked for. With pgvector
the server finds the nearest vectors; without it, this process looks through all their bits, which it keeps.

Whoever changes memories of a namespace holds its row in ``namespaces`` to the end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from ..._failpoints import trip
from ...core.memories.model import MemoryFilter, MemoryReader
from ...core.memories.ranking import Pairs
from ..matching import SqlWords
from ..memory_changes import MemoryChange, StoredMemory
from ..sql import insert, update
from ..sql_memories import SqlMemories, mask_text, narrow, narrow_values
from ..sql_memory_writes import CHANGED, COLUMNS, MemoryWriter, marked
from ..vectors import VectorBits, by_bytes, joined
from .connection import driver
from .database import Database, plain, remember, tried
from .schema import Db, as_vector
from .sql import PostgresSql, PostgresStatements, quoted

_TIES = 32
"""So many more than asked for are fetched: the server reckons in single precision."""
_SIDE = (
    ", ARRAY(SELECT o.no FROM segue.memories o WHERE o.namespace = m.namespace AND o.session = m.session"
    " AND o.no {sign} m.no AND o.live AND o.audience = ANY(:seen) ORDER BY o.no {order} LIMIT :reach)"
)
_HOLDING = """
    SELECT q.place, p.no FROM unnest(:queries::text[]) WITH ORDINALITY AS q (text, place),
        LATERAL (SELECT w.no FROM segue.memory_words w WHERE w.namespace = :namespace
            AND w.words @@ q.text::tsquery ORDER BY w.no + 0 DESC LIMIT :most) p
"""
"""A number plus nothing: the index of words is to be used, not that of numbers."""


def mark(namespace: str, kind: str, name: object) -> str:
    """A lexeme that stands for an audience, a type, an agent or a session of a namespace."""
    named = f"{namespace}\0{name}".encode(errors="replace")
    return f"~{kind}{hashlib.sha256(named).hexdigest()[:20]}"


class PostgresMemories(SqlMemories):
    """Memories in a namespace."""

    WHOLE = (
        "SELECT m.no, m.body, m.body_hash, coalesce(c.helpful, 0), coalesce(c.harmful, 0),"
        " coalesce(c.recalled, 0), coalesce(c.recalled_at, ''), m.created FROM segue.memories m"
        " LEFT JOIN segue.memory_counts c ON c.namespace = m.namespace AND c.no = m.no"
        " WHERE m.namespace = :namespace"
    )
    STAMP = "SELECT stamp FROM segue.namespaces WHERE namespace = :namespace"
    SIDES = _SIDE.format(sign="<", order="DESC") + _SIDE.format(sign=">", order="ASC")

    def __init__(self, database: Database) -> None:
        super().__init__(PostgresSql(database))
        self._database = database
        self._namespace = database.namespace

    def write(self, change: MemoryChange) -> list[str]:
        made: list[list[str]] = []

        def work(db: Db, attempt: UUID) -> list[str]:
            made[:] = [self.apply(db, change, attempt)]
            trip("postgres.memories.before_commit")
            return made[0]

        def done(db: Db, attempt: UUID) -> list[str] | None:
            return made[0] if made and tried(db, self._namespace, attempt) else None

        ids = self._database.transaction(work, done)
        trip("postgres.memories.after_commit")
        return ids

    def apply(self, db: Db, change: MemoryChange, attempt: UUID) -> list[str]:
        """The change, within a transaction of the caller."""
        return _Writer(db, self._namespace, self._database.vector, attempt).apply(change)

    def compact(self, text: str = "") -> None:
        """Masks in trail and votes; the rows themselves are rewritten with the rest (``upkeep.compact``)."""
        if text:
            self._sql.repeatable(lambda db: mask_text(db, text))

    def _mark(self, kind: str, name: object) -> str:
        return mark(self._namespace, kind, name)

    def _words(self, seen: Sequence[int], marks: list[list[str]]) -> SqlWords:
        return _Words(self._sql, [[self._mark("a", no) for no in seen], *marks])

    def _bits(self, model: str, last: int) -> list[VectorBits]:
        sql = (
            "SELECT no, audience, bits FROM segue.memory_vectors"
            " WHERE namespace = :namespace AND model = :model AND no > :last ORDER BY no"
        )
        return joined((no, group, bits) for no, group, bits in self._rows(sql, model=model, last=last))

    def near(self, reader: MemoryReader, model: str, vector: bytes, where: MemoryFilter, limit: int) -> Pairs:
        """With pgvector: the server chooses, and what is chosen is compared as everywhere."""
        seen, schema, clauses = self._seen(reader), self._database.vector, narrow(where)
        if not seen or not schema:
            return super().near(reader, model, vector, where, limit)
        join = " JOIN segue.memories m ON m.namespace = v.namespace AND m.no = v.no" if clauses else ""
        every = (
            f"SELECT v.no, v.body FROM segue.memory_vectors v{join} WHERE v.namespace = :namespace"
            " AND v.model = :model AND v.audience = ANY(:seen) AND v.size = :size"
            f"{''.join(f' AND {clause}' for clause in clauses)}"
        )
        sql = (  # also those that a process wrote which does not know of the extension yet
            f"({every} AND v.embedding IS NOT NULL"
            f" ORDER BY v.embedding OPERATOR({schema}.<=>) :vector::{schema}.vector, v.no DESC"
            f" LIMIT :most) UNION ALL ({every} AND v.embedding IS NULL)"
        )
        found = self._rows(
            sql, model=model, seen=seen, size=len(vector), vector=as_vector(vector), most=limit + _TIES,
            **narrow_values(where),
        )  # fmt: skip
        return by_bytes(vector, dict(found), limit)


class _Words(SqlWords):
    def holding(self, wanted: Sequence[tuple[str, Sequence[str]]], most: int) -> list[list[int]]:
        only = [_either(group) for group in self.marks]
        queries = [
            " & ".join([quoted(word), *([_either(others)] if others else []), *only])
            for word, others in wanted
        ]
        found: list[list[int]] = [[] for _ in wanted]
        for place, no in self.sql.rows(_HOLDING, queries=queries, most=most):
            found[place - 1].append(no)
        for numbers in found:
            numbers.sort(reverse=True)
        return found


def _either(words: Iterable[str]) -> str:
    return f"({' | '.join(map(quoted, words))})"


class _Writer(MemoryWriter):
    INSERT = (insert("memories", (*COLUMNS, "body_hash", "body")),)
    UPDATE = (update("memories", (*CHANGED, "body_hash", "body")),)
    ADD_WORDS = "INSERT INTO segue.memory_words VALUES (:namespace, :no, array_to_tsvector(:words::text[]))"
    DROP_WORDS = "DELETE FROM segue.memory_words WHERE namespace = :namespace AND no = :no"
    DROP_VECTORS = ("DELETE FROM segue.memory_vectors WHERE namespace = :namespace AND no = :no",)

    def __init__(self, db: Db, namespace: str, vector: str, attempt: UUID) -> None:
        super().__init__(PostgresStatements(db, namespace))
        self._connection = db
        self._namespace = namespace
        self._vector = vector
        self._attempt = attempt

    def begin(self, *, changes: bool) -> None:
        sql = "UPDATE segue.namespaces SET stamp = stamp + :changes WHERE namespace = :namespace"
        self.db.change(sql, changes=int(changes))
        remember(self._connection, self._namespace, self._attempt)

    def saying(self, wanted: Sequence[tuple[int, bytes]]) -> dict[tuple[int, bytes], str]:
        sql = (
            "SELECT m.audience, m.hash, m.id"
            " FROM unnest(:audiences::bigint[], :hashes::bytea[]) AS w (audience, hash)"
            " JOIN segue.memories m"
            " ON m.namespace = :namespace AND m.audience = w.audience AND m.hash = w.hash AND m.live"
        )
        audiences, hashes = [audience for audience, _ in wanted], [own for _, own in wanted]
        found = self.db.rows(sql, audiences=audiences, hashes=hashes)
        return {(audience, own): id for audience, own, id in found}

    def words_of(self, audience: int, kept: StoredMemory) -> list[str]:
        marks = [mark(self._namespace, kind, name) for kind, name in marked(kept.memory, audience)]
        return [*dict.fromkeys(plain(word) for word in kept.words.split()), *marks]

    def add_vectors(self, rows: list[dict[str, Any]]) -> None:
        columns = ["no", "audience", "model", "size", "bits", "body"]
        sql = insert("memory_vectors", [*columns, "embedding"] if self._vector else columns)
        sql = sql.replace(":embedding", f":embedding::{self._vector}.vector")
        more = [{"size": len(row["body"]), "embedding": as_vector(row["body"])} for row in rows]
        self.db.many(sql, [{**row, **two} for row, two in zip(rows, more, strict=True)])

    def is_duplicate(self, fault: Exception) -> bool:
        return isinstance(fault, driver().errors.UniqueViolation)
