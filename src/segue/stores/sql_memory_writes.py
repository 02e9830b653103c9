"""What happens to memories in SQL, within a transaction of the caller.

Whoever changes memories is alone with them until the end: numbers of memories and audiences grow in the order
of commits, and "the same words for the same readers" is decided by one at a time. An addition of many is a
few statements, however many they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
from msgspec.structs import asdict, replace

from ..core.base import canonical
from ..core.base.lazy import json_decoder
from ..core.memories.model import Memory, MemoryAudit, audience_key, audience_of, hash_of
from ..core.memories.ranking import length_of
from ..errors import DamagedError, StaleVersion
from .memory_changes import MemoryChange, StoredMemory
from .sql import Statements, insert
from .vectors import bits_of

CHANGED = ("audience", "live", "length", "hash", "type", "agent", "session", "revision")
"""Columns of a memory that another revision has anew."""
COLUMNS = ("no", "id", "created", *CHANGED)
Numbered = tuple[int, int, StoredMemory]
"""A memory with its number and that of its audience."""
_bodies = json_decoder(Memory)
_COUNTED = ("helpful", "harmful", "recalled", "recalled_at")
_COUNTS = f"{insert('memory_counts', ('no', *_COUNTED))} ON CONFLICT DO NOTHING"
_THERE = "SELECT no, audience, length, live, revision FROM segue.memories WHERE namespace = :namespace"
_WEIGHT = """
    UPDATE segue.audiences SET live = live + :live, words = words + :words
    WHERE namespace = :namespace AND no = :no
"""
_VOTE = """
    INSERT INTO segue.memory_votes (namespace, no, voter, vote, at, context)
    SELECT m.namespace, m.no, :voter, :vote, :at, :context FROM segue.memories m
    WHERE m.namespace = :namespace AND m.id = :memory
    ON CONFLICT (namespace, no, voter) DO UPDATE
    SET vote = excluded.vote, at = excluded.at, context = excluded.context
"""
_TALLY = """
    INSERT INTO segue.memory_counts (namespace, no, helpful, harmful)
    SELECT v.namespace, v.no, count(*) FILTER (WHERE v.vote = 'helpful'),
        count(*) FILTER (WHERE v.vote = 'harmful')
    FROM segue.memory_votes v JOIN segue.memories m ON m.namespace = v.namespace AND m.no = v.no
    WHERE v.namespace = :namespace AND m.id = ANY(:voted) GROUP BY v.namespace, v.no
    ON CONFLICT (namespace, no) DO UPDATE SET helpful = excluded.helpful, harmful = excluded.harmful
"""
_RECALL = """
    INSERT INTO segue.memory_counts AS c (namespace, no, recalled, recalled_at)
    SELECT m.namespace, m.no, :more, :at FROM segue.memories m
    WHERE m.namespace = :namespace AND m.id = :memory
    ON CONFLICT (namespace, no) DO UPDATE
    SET recalled = c.recalled + excluded.recalled, recalled_at = excluded.recalled_at
"""
_TRACE = """
    INSERT INTO segue.memory_trail (namespace, line, no, act, at, actor, reason)
    SELECT m.namespace, :line, m.no, :act, :at, :actor, :reason FROM segue.memories m
    WHERE m.namespace = :namespace AND m.id = :memory
"""


class MemoryWriter(ABC):
    """One change of the memories of a store."""

    INSERT: ClassVar[tuple[str, ...]]
    """Adds a memory and its body: by the fields of ``_row``."""
    UPDATE: ClassVar[tuple[str, ...]]
    """Puts a memory and its body in the place of another."""
    ADD_WORDS: ClassVar[str]
    """Adds ``:words`` of the memory ``:no`` to the index of full text."""
    DROP_WORDS: ClassVar[str]
    DROP_VECTORS: ClassVar[tuple[str, ...]]

    def __init__(self, db: Statements) -> None:
        self.db = db

    @abstractmethod
    def begin(self, *, changes: bool) -> None:
        """Be alone with the memories; ``changes``: some that are there will have other vectors."""

    @abstractmethod
    def saying(self, wanted: Sequence[tuple[int, bytes]]) -> dict[tuple[int, bytes], str]:
        """The ids of live memories, by audience and hash, as far as there are any."""

    @abstractmethod
    def words_of(self, audience: int, kept: StoredMemory) -> Any:
        """What stands in the index of full text: the words, and marks for what may be asked for."""

    @abstractmethod
    def add_vectors(self, rows: list[dict[str, Any]]) -> None:
        """Add vectors: ``no``, ``audience``, ``model``, ``bits`` and ``body`` of each."""

    @abstractmethod
    def is_duplicate(self, fault: Exception) -> bool:
        """Whether a statement failed because another live memory says the same to the same."""

    def apply(self, change: MemoryChange) -> list[str]:
        """All of it; the ids of what was added."""
        self.begin(changes=bool(change.vectors or change.puts))
        ids = self._add(change.adds) if change.adds else []
        for kept in change.puts:
            self._put(kept)
        if change.votes:
            self.db.many(_VOTE, [asdict(vote) for vote in change.votes])
            self.db.change(_TALLY, voted=[vote.memory for vote in change.votes])
        self.db.many(_RECALL, [{"memory": id, "more": more, "at": at} for id, more, at in change.recalls])
        self._new_vectors(change.vectors)
        renamed = {kept.memory.id: id for kept, id in zip(change.adds, ids, strict=True)}
        self._trace([t for t in change.trail if renamed.get(t.memory, t.memory) == t.memory])
        return ids

    def _add(self, adds: Sequence[StoredMemory]) -> list[str]:
        audiences = self._audiences([kept.memory for kept in adds])
        sql = "SELECT id FROM segue.memories WHERE namespace = :namespace AND id = ANY(:ids)"
        there = {row[0] for row in self.db.rows(sql, ids=[kept.memory.id for kept in adds])}
        keys = [(audience, hash_of(kept.memory)) for audience, kept in zip(audiences, adds, strict=True)]
        same = self.saying(keys)
        last = self._last("memories", "no")
        new: list[Numbered] = []
        ids: list[str] = []
        for kept, key in zip(adds, keys, strict=True):
            memory = kept.memory
            known = memory.id if memory.id in there else same.get(key) if memory.live else None
            if known is None:
                last += 1
                new.append((last, key[0], kept))
                there.add(memory.id)
                if memory.live:
                    same[key] = memory.id
            ids.append(known or memory.id)
        self._insert(new)
        return ids

    def _insert(self, new: Sequence[Numbered]) -> None:
        rows = [_row(no, audience, kept) for no, audience, kept in new]
        for sql in self.INSERT:
            self.db.many(sql, rows)
        self.db.many(_COUNTS, [row for row in rows if row["helpful"] or row["harmful"] or row["recalled"]])
        self._index([one for one in new if one[2].memory.live])

    def _put(self, kept: StoredMemory) -> None:
        memory, db = kept.memory, self.db
        found = db.rows(f"{_THERE} AND id = :id", id=memory.id)
        actual = int(found[0][4]) if found else 0
        late = StaleVersion(f"memory {memory.id}", memory.revision - 1, actual)
        if actual != memory.revision - 1 or not found:
            raise late
        no, before, length, live, _ = found[0]
        if live:
            db.change(self.DROP_WORDS, no=no)
            db.change(_WEIGHT, no=before, live=-1, words=-length)
        self._drop_vectors(no)
        [audience] = self._audiences([memory])
        row = _row(no, audience, kept)
        try:
            for sql in self.UPDATE:
                db.change(sql, **row)
        except Exception as fault:
            if self.is_duplicate(fault):  # says now what another one says: it lives on in that one
                raise late from None
            raise
        if memory.live:
            self._index([(no, audience, kept)])
        if memory.forgotten:
            sql = "UPDATE segue.memory_votes SET context = '' WHERE namespace = :namespace AND no = :no"
            db.change(sql, no=no)

    def _audiences(self, memories: Sequence[Memory]) -> list[int]:
        """The numbers of the audiences that these are meant for; those that are new are added."""
        keys = [audience_key(audience_of(memory)) for memory in memories]
        sql = "SELECT key, no FROM segue.audiences WHERE namespace = :namespace AND key = ANY(:keys::bytea[])"
        known: dict[bytes, int] = dict(self.db.rows(sql, keys=list(set(keys))))
        new = [key for key in dict.fromkeys(keys) if key not in known]
        if new:
            last = self._last("audiences", "no")
            known.update((key, last + place) for place, key in enumerate(new, 1))
            sql = insert("audiences", ("no", "key", "live", "words"))
            self.db.many(sql, [{"no": known[key], "key": key, "live": 0, "words": 0} for key in new])
        return [known[key] for key in keys]

    def _index(self, live: Sequence[Numbered]) -> None:
        words = [{"no": no, "words": self.words_of(audience, kept)} for no, audience, kept in live]
        self.db.many(self.ADD_WORDS, words)
        count: Counter[int] = Counter(audience for _, audience, _ in live)
        lengths: Counter[int] = Counter()
        for _, audience, kept in live:
            lengths[audience] += length_of(kept.words)
        weights = [{"no": no, "live": count[no], "words": lengths[no]} for no in sorted(count)]
        self.db.many(_WEIGHT, weights)
        self._vectors([one for one in live if one[2].vector])

    def _vectors(self, some: Sequence[Numbered]) -> None:
        self.add_vectors([
            {
                "no": no, "audience": audience, "model": kept.model, "bits": bits_of(kept.vector),
                "body": kept.vector,
            }
            for no, audience, kept in some
        ])  # fmt: skip

    def _drop_vectors(self, no: int) -> None:
        for sql in self.DROP_VECTORS:
            self.db.change(sql, no=no)

    def _new_vectors(self, vectors: Sequence[StoredMemory]) -> None:
        """Vectors of memories that are as they were; what has changed meanwhile is left alone."""
        sql = f"{_THERE} AND id = :id AND revision = :revision AND live"
        for kept in vectors:
            for no, audience, *_ in self.db.rows(sql, id=kept.memory.id, revision=kept.memory.revision):
                self._drop_vectors(no)
                self._vectors([(no, audience, kept)])

    def _trace(self, trail: Sequence[MemoryAudit]) -> None:
        last = self._last("memory_trail", "line") if trail else 0
        self.db.many(_TRACE, [{"line": line, **asdict(trace)} for line, trace in enumerate(trail, last + 1)])

    def _last(self, table: str, column: str) -> int:
        [(last,)] = self.db.rows(f"SELECT max({column}) FROM segue.{table} WHERE namespace = :namespace")
        return int(last or 0)


def marked(memory: Memory, audience: int) -> tuple[tuple[str, object], ...]:
    """(kind, name) of what full text can be asked for beside words: audience, type, agent and session."""
    return ("a", audience), ("t", memory.type), ("g", memory.agent), ("s", memory.session)


def _row(no: int, audience: int, kept: StoredMemory) -> dict[str, Any]:
    memory = kept.memory
    body, body_hash = body_of(memory)
    return {
        "no": no, "id": memory.id, "audience": audience, "live": memory.live, "length": length_of(kept.words),
        "hash": hash_of(memory) if memory.live else b"", "type": memory.type, "agent": memory.agent,
        "session": memory.session, "created": memory.created, "revision": memory.revision,
        "body_hash": body_hash, "body": body, **{name: getattr(memory, name) for name in _COUNTED},
    }  # fmt: skip


def body_of(memory: Memory) -> tuple[bytes, bytes]:
    """(body, its hash): the memory without its counts, which change without it."""
    body = msgspec.json.encode(replace(memory, helpful=0, harmful=0, recalled=0, recalled_at=""))
    return body, canonical.digest(body)[:8]


def memory_of(row: tuple[Any, ...]) -> Memory:
    """The memory in a row; DamagedError if the body is not what was stored."""
    no, body, own, helpful, harmful, recalled, at = row[:7]
    try:
        if canonical.digest(body)[:8] == own:
            memory = _bodies.decode(body)
            if not (helpful or harmful or recalled):
                return memory
            return replace(memory, helpful=helpful, harmful=harmful, recalled=recalled, recalled_at=at)
    except (msgspec.MsgspecError, TypeError, ValueError):  # a damaged row may hold anything
        pass
    raise DamagedError("a memory", f"row {no}", "it does not match the hash it was stored with")
