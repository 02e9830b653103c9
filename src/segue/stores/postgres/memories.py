"""The port of memories on Postgres: rows, full text and vectors in the namespace of the journal.

A read begins with the audiences that its reader may see, and looks at memories of no other. Full text
(``words``) and vectors give candidates; what they are worth is reckoned as on every store. With pgvector the
server finds the nearest vectors; without it, this process looks through all their bits, which it keeps.
A body is kept with its hash and proven when it is read.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ..._failpoints import trip
from ...core.memories.model import Audience, Memory, MemoryAudit, MemoryFilter, MemoryReader, Vote, fits
from ...core.memories.ranking import Placed, Texts
from ..audiences import Audiences, audience_in
from ..base import Carried, MemoryChange, StoredMemory
from ..matching import matched
from ..memory_rows import memory_of
from ..vectors import PLAIN_SCANS_MAX, PlainIndex, VectorIndex, cosine, index
from .database import Database, Row, changed, plain, rows
from .journal import tried
from .memory_writes import Writer
from .schema import as_vector
from .words import PostgresWords, mark

if TYPE_CHECKING:
    from psycopg import Connection

_PAGE = 200
_TIES = 32
"""So many more than asked for are fetched: the server reckons in single precision."""
_WHOLE = (
    "SELECT m.no, m.body, m.body_hash, coalesce(c.helpful, 0), coalesce(c.harmful, 0),"
    " coalesce(c.recalled, 0), coalesce(c.recalled_at, ''), m.created FROM segue.memories m"
    " LEFT JOIN segue.memory_counts c ON c.namespace = m.namespace AND c.no = m.no"
    " WHERE m.namespace = %(namespace)s"
)
_SIDE = (
    "ARRAY(SELECT o.no FROM segue.memories o WHERE o.namespace = m.namespace AND o.session = m.session"
    " AND o.no {sign} m.no AND o.live AND o.audience = ANY(%(seen)s) ORDER BY o.no {order} LIMIT %(reach)s)"
)
_PLACES = (
    f"SELECT m.no, m.session, {_SIDE.format(sign='<', order='DESC')}, {_SIDE.format(sign='>', order='ASC')}"
    " FROM segue.memories m WHERE m.namespace = %(namespace)s AND m.no = ANY(%(numbers)s)"
    " AND m.session <> '' AND m.live AND m.audience = ANY(%(seen)s)"
)


class PostgresMemories:
    """Memories in a namespace."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._namespace = database.namespace
        self._lock = threading.RLock()
        self._audiences = Audiences()
        self._indexes: dict[str, tuple[int, int, VectorIndex]] = {}
        self._scans = 0

    # -- writing -------------------------------------------------------------------------------

    def write(self, change: MemoryChange) -> list[str]:
        made: list[list[str]] = []

        def work(db: Connection[Any], attempt: UUID) -> list[str]:
            made[:] = [self.apply(db, change, attempt)]
            trip("postgres.memories.before_commit")
            return made[0]

        def done(db: Connection[Any], attempt: UUID) -> list[str] | None:
            return made[0] if made and tried(db, self._namespace, attempt) else None

        ids = self._database.transaction(work, done)
        trip("postgres.memories.after_commit")
        return ids

    def apply(self, db: Connection[Any], change: MemoryChange, attempt: UUID) -> list[str]:
        """The change, within a transaction of the caller."""
        return Writer(db, self._namespace, self._database.vector).apply(change, attempt)

    # -- reading -------------------------------------------------------------------------------

    def get(self, ids: Sequence[str], reader: MemoryReader) -> list[Memory]:
        sql = "SELECT id, no FROM segue.memories WHERE namespace = %s AND id = ANY(%s)"
        wanted = [plain(id) for id in ids]
        numbers: dict[str, int] = dict(self._database.fetch(sql, (self._namespace, wanted)))
        return list(self.take([numbers[id] for id in wanted if id in numbers], reader).values())

    def meant(self, ids: Sequence[str]) -> dict[str, Audience]:
        sql = (
            "SELECT m.id, a.key FROM segue.memories m JOIN segue.audiences a"
            " ON a.namespace = m.namespace AND a.no = m.audience"
            " WHERE m.namespace = %(namespace)s AND m.id = ANY(%(ids)s)"
        )
        return {id: audience_in(key) for id, key in self._fetch(sql, ids=[plain(id) for id in ids])}

    def take(self, numbers: Sequence[int], reader: MemoryReader) -> dict[int, Memory]:
        sql = f"{_WHOLE} AND m.no = ANY(%(numbers)s) AND m.audience = ANY(%(seen)s)"
        found = {
            row[0]: memory_of(row) for row in self._fetch(sql, numbers=list(numbers), seen=self._seen(reader))
        }
        return {no: found[no] for no in numbers if no in found}

    def listing(self, reader: MemoryReader, where: MemoryFilter, now: str, limit: int = 0) -> list[Memory]:
        clauses = ["m.audience = ANY(%(seen)s)", *_narrow(where)]
        values: dict[str, Any] = {"seen": self._seen(reader), **_narrow_values(where)}
        for clause, name in (("m.created >= %(since)s", "since"), ("m.created <= %(until)s", "until")):
            if getattr(where, name):
                clauses.append(clause)
                values[name] = plain(getattr(where, name))
        if not where.dead:
            clauses.append("m.live")
        found: list[Memory] = []
        for row in self._pages(f"{_WHOLE} AND {' AND '.join(clauses)}", values, whole=not limit):
            memory = memory_of(row)
            if fits(where, memory, now):
                found.append(memory)
                if limit and len(found) >= limit:
                    break
        return found

    def _pages(self, sql: str, values: dict[str, Any], *, whole: bool) -> Iterator[Row]:
        """The newest first; whoever has enough stops, and the rest is never asked for."""
        order, further = " ORDER BY m.created DESC, m.no DESC", " AND (m.created, m.no) < (%(at)s, %(no)s)"
        size, page = (
            (None if whole else _PAGE),
            self._fetch(sql + order + " LIMIT %(size)s", **values, size=None if whole else _PAGE),
        )
        while page:
            yield from page
            if size is None or len(page) < size:
                return
            size *= 4
            last = {"no": page[-1][0], "at": page[-1][7]}
            page = self._fetch(sql + further + order + " LIMIT %(size)s", **values, **last, size=size)

    def match(self, reader: MemoryReader, words: Sequence[str], where: MemoryFilter, limit: int) -> Texts:
        seen = self._seen(reader)
        if not seen or not words:
            return Texts(counts=[0] * len(words))
        marks = [[mark(self._namespace, "a", no) for no in seen]]
        for kind, wanted in (("t", where.types), ("g", where.agents), ("s", where.sessions)):
            if wanted:
                marks.append([mark(self._namespace, kind, name) for name in wanted])
        sql = (
            "SELECT coalesce(sum(live), 0)::bigint, coalesce(sum(words), 0)::bigint FROM segue.audiences"
            " WHERE namespace = %s AND no = ANY(%s)"
        )
        [(total, length)] = self._database.fetch(sql, (self._namespace, seen))
        return matched(PostgresWords(self._database, marks), words, limit, total, length)

    def near(
        self, reader: MemoryReader, model: str, vector: bytes, where: MemoryFilter, limit: int
    ) -> list[tuple[int, float]]:
        seen = self._seen(reader)
        if not seen:
            return []
        if self._database.vector:
            return self._near_there(seen, plain(model), vector, where, limit)
        only: set[int] | None = None
        if narrow := _narrow(where):
            sql = (
                "SELECT m.no FROM segue.memories m WHERE m.namespace = %(namespace)s AND m.live"
                f" AND {' AND '.join(narrow)}"
            )
            only = {row[0] for row in self._fetch(sql, **_narrow_values(where))}
        with self._lock:
            return self._index_of(plain(model)).near(vector, seen, only, limit, self._vectors)

    def _near_there(
        self, seen: list[int], model: str, vector: bytes, where: MemoryFilter, limit: int
    ) -> list[tuple[int, float]]:
        """With pgvector: the server chooses, and what is chosen is compared as everywhere."""
        schema, narrow = self._database.vector, _narrow(where)
        join = " JOIN segue.memories m ON m.namespace = v.namespace AND m.no = v.no" if narrow else ""
        every = (
            f"SELECT v.no, v.body FROM segue.memory_vectors v{join} WHERE v.namespace = %(namespace)s"
            " AND v.model = %(model)s AND v.audience = ANY(%(seen)s) AND v.size = %(size)s"
            f"{''.join(f' AND {clause}' for clause in narrow)}"
        )
        sql = (  # also those that a process wrote which does not know of the extension yet
            f"({every} AND v.embedding IS NOT NULL"
            f" ORDER BY v.embedding OPERATOR({schema}.<=>) %(vector)s::{schema}.vector, v.no DESC"
            f" LIMIT %(most)s) UNION ALL ({every} AND v.embedding IS NULL)"
        )
        values = {
            "model": model,
            "seen": seen,
            "size": len(vector),
            "vector": as_vector(vector),
            "most": limit + _TIES,
        }
        found = self._fetch(sql, **values, **_narrow_values(where))
        scored = [(no, cosine(vector, body)) for no, body in found]
        return sorted(scored, key=lambda pair: (-pair[1], -pair[0]))[:limit]

    def _index_of(self, model: str) -> VectorIndex:
        """All bits of a model, kept here; what is new is fetched, and everything when something changed."""
        sql = "SELECT stamp FROM segue.namespaces WHERE namespace = %(namespace)s"
        now = int(self._fetch(sql)[0][0])
        before, last, made = self._indexes.get(model, (0, 0, None))
        self._scans += 1
        better = isinstance(made, PlainIndex) and self._scans == PLAIN_SCANS_MAX
        if made is None or before != now or better:
            last, made = 0, None
        sql = (
            "SELECT no, audience, bits FROM segue.memory_vectors"
            " WHERE namespace = %(namespace)s AND model = %(model)s AND no > %(last)s ORDER BY no"
        )
        found = self._fetch(sql, model=model, last=last)
        if made is None:
            made = index(len(found), self._scans)
        if found:
            made.add([(no, audience, bits) for no, audience, bits in found])
            last = found[-1][0]
        self._indexes[model] = (now, last, made)
        return made

    def _vectors(self, numbers: Sequence[int]) -> dict[int, bytes]:
        sql = (
            "SELECT no, body FROM segue.memory_vectors"
            " WHERE namespace = %(namespace)s AND no = ANY(%(numbers)s)"
        )
        return dict(self._fetch(sql, numbers=list(numbers)))

    def places(self, numbers: Sequence[int], reader: MemoryReader, reach: int = 0) -> dict[int, Placed]:
        values = {"numbers": list(numbers), "seen": self._seen(reader), "reach": reach}
        return {
            no: Placed(session, [before[far : far + 1] + behind[far : far + 1] for far in range(reach)])
            for no, session, before, behind in self._fetch(_PLACES, **values)
        }

    def trail(self, reader: MemoryReader, id: str = "", limit: int = 100) -> list[MemoryAudit]:
        sql = (
            "SELECT m.id, t.act, t.at, t.actor, t.reason FROM segue.memory_trail t"
            " JOIN segue.memories m ON m.namespace = t.namespace AND m.no = t.no"
            " WHERE t.namespace = %(namespace)s AND m.audience = ANY(%(seen)s)"
            f"{' AND m.id = %(id)s' if id else ''} ORDER BY t.line DESC LIMIT %(limit)s"
        )
        return [
            MemoryAudit(*row) for row in self._fetch(sql, seen=self._seen(reader), id=plain(id), limit=limit)
        ]

    # -- upkeep --------------------------------------------------------------------------------

    def unembedded(self, model: str, limit: int, within: int = 0) -> list[tuple[int, Memory]]:
        newest = (
            " AND m.no > (SELECT max(no) FROM segue.memories WHERE namespace = %(namespace)s) - %(within)s"
            if within
            else ""
        )
        sql = (
            f"{_WHOLE} AND m.live{newest} AND NOT EXISTS (SELECT 1 FROM segue.memory_vectors v"
            " WHERE v.namespace = m.namespace AND v.no = m.no AND v.model = %(model)s)"
            " ORDER BY m.no DESC LIMIT %(limit)s"
        )
        found = self._fetch(sql, model=plain(model), limit=limit, within=within)
        return [(row[0], memory_of(row)) for row in found]

    def everything(self) -> list[StoredMemory]:
        return [StoredMemory(memory_of(row)) for row in self._fetch(f"{_WHOLE} ORDER BY m.no")]

    def carried(self, after: int = 0, limit: int = 500) -> list[Carried]:
        found = self._fetch(
            f"{_WHOLE} AND m.no > %(after)s ORDER BY m.no LIMIT %(limit)s", after=after, limit=limit
        )
        numbers = [row[0] for row in found]
        ids = {row[0]: memory_of(row).id for row in found}
        tail = " WHERE namespace = %(namespace)s AND no = ANY(%(numbers)s)"
        sql = f"SELECT no, model, body FROM segue.memory_vectors{tail}"
        vectors = {row[0]: row[1:] for row in self._fetch(sql, numbers=numbers)}
        votes: dict[int, list[Vote]] = {}
        sql = f"SELECT no, voter, vote, at, context FROM segue.memory_votes{tail} ORDER BY voter"
        for no, *vote in self._fetch(sql, numbers=numbers):
            votes.setdefault(no, []).append(Vote(ids[no], *vote))
        trail: dict[int, list[MemoryAudit]] = {}
        sql = f"SELECT no, act, at, actor, reason FROM segue.memory_trail{tail} ORDER BY line"
        for no, *trace in self._fetch(sql, numbers=numbers):
            trail.setdefault(no, []).append(MemoryAudit(ids[no], *trace))
        return [
            Carried(
                no,
                StoredMemory(memory_of(row), "", *vectors.get(no, ("", b""))),
                votes.get(no, []),
                trail.get(no, []),
            )
            for no, row in zip(numbers, found, strict=True)
        ]

    def compact(self, text: str = "") -> None:
        """Masks in trail and votes; the rows themselves are rewritten with the rest (``upkeep.compact``)."""
        if not text:
            return

        def work(db: Connection[Any], _: UUID) -> bool:
            for table, column in (("memory_trail", "reason"), ("memory_votes", "context")):
                sql = (
                    f"UPDATE segue.{table} SET {column} = replace({column}, %s, '***')"
                    f" WHERE namespace = %s AND strpos({column}, %s) > 0"
                )
                changed(db, sql, (plain(text), self._namespace, plain(text)))
            return True

        self._database.transaction(work, lambda *_: None)

    # -- inside --------------------------------------------------------------------------------

    def _seen(self, reader: MemoryReader) -> list[int]:
        """The audiences that the reader belongs to."""
        with self._lock:
            sql = "SELECT no, key FROM segue.audiences WHERE namespace = %(namespace)s AND no > %(last)s"
            return self._audiences.seen(reader, lambda last: self._fetch(sql, last=last))

    def _fetch(self, sql: str, **values: Any) -> list[Row]:
        given = {"namespace": self._namespace, **values}
        return self._database.reading(lambda db: rows(db, sql, given))


def _narrow(where: MemoryFilter) -> list[str]:
    return [
        f"m.{name} = ANY(%({name}s)s)" for name in ("type", "agent", "session") if getattr(where, f"{name}s")
    ]


def _narrow_values(where: MemoryFilter) -> dict[str, list[str]]:
    return {name: [plain(text) for text in getattr(where, name)] for name in ("types", "agents", "sessions")}
