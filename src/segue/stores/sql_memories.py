"""The port of memories in SQL: rows, full text and vectors in the database of the journal.

The table ``audiences`` has a row for each audience that memories are meant for; a read begins with those that
its reader may see, and looks at memories of no other. Full text and vectors give candidates; what they are
worth is reckoned as on every store. A body is kept with its hash and proven when it is read. What one
database alone can say, and how the nearest vectors are found, is in the classes of the stores.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from ..core.base.lazy import json_decoder
from ..core.memories import model as mem
from ..core.memories.model import Audience, Memory, MemoryAudit, MemoryFilter, MemoryReader
from ..core.memories.ranking import Neighbours, Pairs, SessionNeighbours, Texts
from ..errors import DamagedError
from .matching import SqlWords, matched
from .memory_changes import MemoryWithHistory, StoredMemory
from .sql import Row, SqlDatabase, Statements
from .sql_memory_writes import memory_of
from .vectors import ScanIndex, VectorBits

_PAGE = 200
_READERS_CACHED = 64
_audience = json_decoder(Audience)
_FILTERED = ("type", "agent", "session")
_MARKS = (("t", "types"), ("g", "agents"), ("s", "sessions"))
_PLACES = """
    SELECT m.no, m.session{sides} FROM segue.memories m WHERE m.namespace = :namespace
        AND m.no = ANY(:numbers) AND m.session <> '' AND m.live AND m.audience = ANY(:seen)
"""
_TRAIL = """
    SELECT m.id, t.act, t.at, t.actor, t.reason
    FROM segue.memory_trail t {join} segue.memories m ON m.namespace = t.namespace AND m.no = t.no
    WHERE t.namespace = :namespace AND m.audience = ANY(:seen){one} ORDER BY t.line DESC LIMIT :limit
"""
_UNEMBEDDED = """ AND m.live{newest} AND NOT EXISTS (SELECT 1 FROM segue.memory_vectors v
    WHERE v.namespace = m.namespace AND v.no = m.no AND v.model = :model) ORDER BY m.no DESC LIMIT :limit
"""
_NEWEST = " AND m.no > (SELECT max(no) FROM segue.memories WHERE namespace = :namespace) - :within"


class Audiences:
    """The known audiences of a store, each judged once for a reader. The caller holds a lock."""

    def __init__(self) -> None:
        self._keys: dict[int, Audience] = {}
        self._readers: dict[MemoryReader, tuple[int, list[int]]] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def seen(self, reader: MemoryReader, newer: Callable[[int], Iterable[tuple[int, bytes]]]) -> list[int]:
        """The numbers of those that the reader belongs to; ``newer`` gives what came behind a number."""
        for no, key in newer(max(self._keys, default=0)):
            self._keys[no] = _audience.decode(key)
        checked, seen = self._readers.get(reader, (0, []))
        newest = max(self._keys, default=0)
        if checked < newest:
            seen = seen + [no for no, key in self._keys.items() if no > checked and mem.may_read(reader, key)]
            if len(self._readers) > _READERS_CACHED:
                self._readers.clear()
            self._readers[reader] = (newest, seen)
        return seen


class SqlMemories(ABC):
    """Memories in the database of a journal."""

    WHOLE: ClassVar[str]
    """Selects number, body, its hash, four counts and creation of all memories ``m``, with a condition."""
    STAMP: ClassVar[str]
    """Selects a number that grows whenever a vector that was there has changed."""
    SIDES: ClassVar[str]
    """Two columns for the numbers of the nearest live neighbours in a session, before and behind."""
    NEWEST_FIRST_JOIN: ClassVar[str] = "JOIN"
    """A join that begins with the newest rows of the first table."""

    def __init__(self, sql: SqlDatabase) -> None:
        self._sql = sql
        self._rows = sql.rows
        self._lock = threading.RLock()
        self._audiences = Audiences()
        self._indexes: dict[str, tuple[int, int, ScanIndex]] = {}
        """By model: the stamp, the last number, and the bits up to there."""

    @abstractmethod
    def _words(self, seen: Sequence[int], marks: list[list[str]]) -> SqlWords:
        """The words of what these audiences and marks let through."""

    @abstractmethod
    def _mark(self, kind: str, name: object) -> str:
        """A word of the index that stands for an audience, a type, an agent or a session."""

    @staticmethod
    def _side(column: Any) -> list[int]:
        """The numbers in a column of ``SIDES``."""
        return list(column)

    def get(self, ids: Sequence[str], reader: MemoryReader) -> list[Memory]:
        sql = "SELECT id, no FROM segue.memories WHERE namespace = :namespace AND id = ANY(:ids)"
        numbers: dict[str, int] = dict(self._rows(sql, ids=list(ids)))
        return list(self.take([numbers[id] for id in ids if id in numbers], reader).values())

    def meant(self, ids: Sequence[str]) -> dict[str, Audience]:
        sql = (
            "SELECT m.id, a.key FROM segue.memories m JOIN segue.audiences a"
            " ON a.namespace = m.namespace AND a.no = m.audience"
            " WHERE m.namespace = :namespace AND m.id = ANY(:ids)"
        )
        return {id: _audience.decode(key) for id, key in self._rows(sql, ids=list(ids))}

    def take(self, numbers: Sequence[int], reader: MemoryReader) -> dict[int, Memory]:
        sql = f"{self.WHOLE} AND m.no = ANY(:numbers) AND m.audience = ANY(:seen)"
        rows = self._rows(sql, numbers=list(numbers), seen=self._seen(reader))
        found = {row[0]: memory_of(row) for row in rows}
        return {no: found[no] for no in numbers if no in found and _is_for(reader, found[no])}

    def listing(self, reader: MemoryReader, where: MemoryFilter, now: str, limit: int = 0) -> list[Memory]:
        clauses = ["m.audience = ANY(:seen)", *narrow(where)]
        clauses += ["m.created >= :since"] if where.since else []
        clauses += ["m.created <= :until"] if where.until else []
        clauses += [] if where.dead else ["m.live"]
        values: dict[str, Any] = {"seen": self._seen(reader), "since": where.since, "until": where.until}
        values |= narrow_values(where)
        found: list[Memory] = []
        for row in self._newest_first(f"{self.WHOLE} AND {' AND '.join(clauses)}", values, whole=not limit):
            memory = memory_of(row)
            if mem.fits(where, memory, now) and _is_for(reader, memory):
                found.append(memory)
                if limit and len(found) >= limit:
                    break
        return found

    def _newest_first(self, sql: str, values: dict[str, Any], *, whole: bool) -> Iterator[Row]:
        """Rows by page, so that the rest is never asked for; if all are wanted, a page is the whole."""
        order, further = " ORDER BY m.created DESC, m.no DESC", " AND (m.created, m.no) < (:at, :no)"
        if whole:
            yield from self._rows(sql + order, **values)
            return
        size, page = _PAGE, self._rows(f"{sql}{order} LIMIT :size", **values, size=_PAGE)
        while page:
            yield from page
            if len(page) < size:
                return
            size *= 4
            last = {"no": page[-1][0], "at": page[-1][7], "size": size}
            page = self._rows(f"{sql}{further}{order} LIMIT :size", **values, **last)

    def places(self, numbers: Sequence[int], reader: MemoryReader, reach: int = 0) -> Neighbours:
        values = {"numbers": list(numbers), "seen": self._seen(reader), "reach": reach}
        found = {}
        for no, session, *sides in self._rows(_PLACES.format(sides=self.SIDES if reach else ""), **values):
            before, behind = map(self._side, sides) if reach else ([], [])
            beside = [before[far : far + 1] + behind[far : far + 1] for far in range(reach)]
            found[no] = SessionNeighbours(session, beside)
        return found

    def trail(self, reader: MemoryReader, id: str = "", limit: int = 100) -> list[MemoryAudit]:
        join, one = ("JOIN", " AND m.id = :id") if id else (self.NEWEST_FIRST_JOIN, "")
        sql = _TRAIL.format(join=join, one=one)
        rows = self._rows(sql, seen=self._seen(reader), id=id, limit=limit)
        return [MemoryAudit(*row) for row in rows]

    def match(self, reader: MemoryReader, words: Sequence[str], where: MemoryFilter, limit: int) -> Texts:
        seen = self._seen(reader)
        if not seen or not words:
            return Texts(counts=[0] * len(words))
        named = [(kind, getattr(where, field)) for kind, field in _MARKS]
        marks = [[self._mark(kind, name) for name in names] for kind, names in named if names]
        sql = (
            "SELECT coalesce(sum(live), 0), coalesce(sum(words), 0) FROM segue.audiences"
            " WHERE namespace = :namespace AND no = ANY(:seen)"
        )
        [(total, length)] = self._rows(sql, seen=seen)
        return matched(self._words(seen, marks), words, limit, int(total), int(length))

    def near(self, reader: MemoryReader, model: str, vector: bytes, where: MemoryFilter, limit: int) -> Pairs:
        """By an index in this process."""
        seen, only = self._seen(reader), None
        if not seen:
            return []
        if clauses := narrow(where):
            sql = (
                "SELECT m.no FROM segue.memories m WHERE m.namespace = :namespace AND m.live"
                f" AND {' AND '.join(clauses)}"
            )
            only = {row[0] for row in self._rows(sql, **narrow_values(where))}
        with self._lock:
            return self._index_of(model).near(vector, seen, only, limit, self._vectors)

    def _index_of(self, model: str) -> ScanIndex:
        """The bits of all vectors of a model, kept here: what is new is fetched, and everything when
        something changed."""
        stamp = self._rows(self.STAMP)
        now = int(stamp[0][0]) if stamp else 0
        before, last, made = self._indexes.get(model, (now, 0, ScanIndex()))
        if before != now:
            last, made = 0, ScanIndex()
        while new := self._bits(model, last):
            made.add(new)
            last = max(max(some.numbers) for some in new)
        self._indexes[model] = (now, last, made)
        return made

    @abstractmethod
    def _bits(self, model: str, last: int) -> list[VectorBits]:
        """The bits of the next vectors of a model behind a number; none if there are no more."""

    def _vectors(self, numbers: Sequence[int]) -> dict[int, bytes]:
        sql = "SELECT no, body FROM segue.memory_vectors WHERE namespace = :namespace AND no = ANY(:numbers)"
        return dict(self._rows(sql, numbers=list(numbers)))

    def unembedded(self, model: str, limit: int, within: int = 0) -> list[tuple[int, Memory]]:
        sql = self.WHOLE + _UNEMBEDDED.format(newest=_NEWEST if within else "")
        rows = self._rows(sql, model=model, limit=limit, within=within)
        return [(row[0], memory_of(row)) for row in rows]

    def everything(self) -> list[StoredMemory]:
        return [StoredMemory(memory_of(row)) for row in self._rows(f"{self.WHOLE} ORDER BY m.no")]

    def intact(self) -> list[StoredMemory]:
        """All that are not damaged, for a recovery."""
        found = []
        for row in self._rows(f"{self.WHOLE} ORDER BY m.no"):
            with suppress(DamagedError):
                found.append(StoredMemory(memory_of(row)))
        return found

    def carried(self, after: int = 0, limit: int = 500) -> list[MemoryWithHistory]:
        sql = f"{self.WHOLE} AND m.no > :after ORDER BY m.no LIMIT :limit"
        memories = {row[0]: memory_of(row) for row in self._rows(sql, after=after, limit=limit)}
        numbers, of_these = list(memories), "WHERE namespace = :namespace AND no = ANY(:numbers)"
        sql = f"SELECT no, model, body FROM segue.memory_vectors {of_these}"
        vectors = {row[0]: row[1:] for row in self._rows(sql, numbers=numbers)}
        votes: dict[int, list[mem.Vote]] = defaultdict(list)
        sql = f"SELECT no, voter, vote, at, context FROM segue.memory_votes {of_these} ORDER BY no, voter"
        for no, *vote in self._rows(sql, numbers=numbers):
            votes[no].append(mem.Vote(memories[no].id, *vote))
        trail: dict[int, list[MemoryAudit]] = defaultdict(list)
        sql = f"SELECT no, act, at, actor, reason FROM segue.memory_trail {of_these} ORDER BY line"
        for no, *trace in self._rows(sql, numbers=numbers):
            trail[no].append(MemoryAudit(memories[no].id, *trace))
        kept = {no: StoredMemory(memory, "", *vectors.get(no, ())) for no, memory in memories.items()}
        return [MemoryWithHistory(no, one, votes[no], trail[no]) for no, one in kept.items()]

    def _seen(self, reader: MemoryReader) -> list[int]:
        sql = "SELECT no, key FROM segue.audiences WHERE namespace = :namespace AND no > :last"
        with self._lock:
            return self._audiences.seen(reader, lambda last: self._rows(sql, last=last))


def mask_text(db: Statements, text: str) -> None:
    """Mask a text in what was said with changes and votes."""
    for table, column in (("memory_trail", "reason"), ("memory_votes", "context")):
        masked = f"replace({column}, :text, '***')"
        where = f"namespace = :namespace AND {column} <> {masked}"
        db.change(f"UPDATE segue.{table} SET {column} = {masked} WHERE {where}", text=text)


def _is_for(reader: MemoryReader, memory: Memory) -> bool:
    """Whether a reader may see a memory of an audience that was stored without its project."""
    return memory.scope not in mem.AGENT_SCOPES or mem.may_read(reader, mem.audience_of(memory))


def narrow(where: MemoryFilter) -> list[str]:
    """Conditions on memories ``m`` for those of these types, agents and sessions, if any are named."""
    return [f"m.{name} = ANY(:{name}s)" for name in _FILTERED if getattr(where, f"{name}s")]


def narrow_values(where: MemoryFilter) -> dict[str, list[str]]:
    """What these conditions name."""
    return {f"{name}s": list(getattr(where, f"{name}s")) for name in _FILTERED}
