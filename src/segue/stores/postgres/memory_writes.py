"""What happens to memories on Postgres, within a transaction of the caller.

Whoever changes memories of a namespace holds its row in ``namespaces`` to the end: numbers of memories and
audiences grow in the order of commits, and "the same words for the same readers" is decided by one at a time.
An addition of many is a few statements, however many they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from ...core.memories.model import Memory, audience_of, hash_of
from ...core.memories.ranking import length_of
from ...errors import StaleVersion
from ..base import MemoryChange, StoredMemory
from ..memory_rows import body_of
from ..vectors import bits_of
from .database import Row, changed, driver, many, plain, rows
from .journal import remember
from .schema import as_vector
from .words import lexemes

if TYPE_CHECKING:
    from psycopg import Connection

_INSERT = """
    INSERT INTO segue.memories VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_COUNTS = "INSERT INTO segue.memory_counts VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
_WORDS = "INSERT INTO segue.memory_words VALUES (%s, %s, array_to_tsvector(%s::text[]))"
_WEIGHED = "UPDATE segue.audiences SET live = live + %s, words = words + %s WHERE namespace = %s AND no = %s"
_VOTE = """
    INSERT INTO segue.memory_votes SELECT %(namespace)s, no, %(voter)s, %(vote)s, %(at)s, %(context)s
    FROM segue.memories WHERE namespace = %(namespace)s AND id = %(memory)s
    ON CONFLICT (namespace, no, voter) DO UPDATE
    SET vote = excluded.vote, at = excluded.at, context = excluded.context
"""
_TALLY = """
    INSERT INTO segue.memory_counts (namespace, no, helpful, harmful)
    SELECT v.namespace, v.no, count(*) FILTER (WHERE vote = 'helpful'),
        count(*) FILTER (WHERE vote = 'harmful')
    FROM segue.memory_votes v JOIN segue.memories m ON m.namespace = v.namespace AND m.no = v.no
    WHERE v.namespace = %s AND m.id = ANY(%s) GROUP BY v.namespace, v.no
    ON CONFLICT (namespace, no) DO UPDATE SET helpful = excluded.helpful, harmful = excluded.harmful
"""
_RECALL = """
    INSERT INTO segue.memory_counts AS c (namespace, no, recalled, recalled_at)
    SELECT namespace, no, %s, %s FROM segue.memories WHERE namespace = %s AND id = %s
    ON CONFLICT (namespace, no) DO UPDATE
    SET recalled = c.recalled + excluded.recalled, recalled_at = excluded.recalled_at
"""
_TRACE = """
    INSERT INTO segue.memory_trail SELECT namespace, %s, no, %s, %s, %s, %s FROM segue.memories
    WHERE namespace = %s AND id = %s
"""


class Writer:
    """One change of the memories of a namespace."""

    def __init__(self, db: Connection[Any], namespace: str, vector: str) -> None:
        self._db = db
        self._namespace = namespace
        self._vector = vector

    def apply(self, change: MemoryChange, attempt: UUID) -> list[str]:
        """All of it; the ids of what was added."""
        sql = "UPDATE segue.namespaces SET stamp = stamp + %s WHERE namespace = %s"
        changed(self._db, sql, (1 if change.vectors or change.puts else 0, self._namespace))
        remember(self._db, self._namespace, attempt)
        ids = self._add(change.adds) if change.adds else []
        for kept in change.puts:
            self._put(kept)
        for vote in change.votes:
            fields = {name: plain(getattr(vote, name)) for name in vote.__struct_fields__}
            changed(self._db, _VOTE, {"namespace": self._namespace, **fields})
        voted = [plain(vote.memory) for vote in change.votes]
        if voted:
            changed(self._db, _TALLY, (self._namespace, voted))
        recalls = [(more, at, self._namespace, plain(id)) for id, more, at in change.recalls]
        many(self._db, _RECALL, recalls)
        self._new_vectors(change.vectors)
        renamed = {kept.memory.id: id for kept, id in zip(change.adds, ids, strict=True)}
        self._trace([t for t in change.trail if renamed.get(t.memory, t.memory) == t.memory])
        return ids

    # -- adding --------------------------------------------------------------------------------

    def _add(self, adds: Sequence[StoredMemory]) -> list[str]:
        audiences = self._audiences([kept.memory for kept in adds])
        there, same = self._there(adds, audiences)
        last = self._last("memories", "no")
        new: list[tuple[int, int, StoredMemory]] = []
        ids: list[str] = []
        for kept, audience in zip(adds, audiences, strict=True):
            memory = kept.memory
            key = (audience, hash_of(memory))
            known = memory.id if memory.id in there else same.get(key) if memory.live else None
            if known is None:
                last += 1
                new.append((last, audience, kept))
                there.add(memory.id)
                if memory.live:
                    same[key] = memory.id
            ids.append(known or memory.id)
        self._insert(new)
        return ids

    def _there(
        self, adds: Sequence[StoredMemory], audiences: Sequence[int]
    ) -> tuple[set[str], dict[tuple[int, bytes], str]]:
        """Ids that are there already, and who says the same to the same."""
        sql = "SELECT id FROM segue.memories WHERE namespace = %s AND id = ANY(%s)"
        found = rows(self._db, sql, (self._namespace, [plain(kept.memory.id) for kept in adds]))
        there = {row[0] for row in found}
        sql = (
            "SELECT m.audience, m.hash, m.id FROM unnest(%s::bigint[], %s::bytea[]) AS w (audience, hash)"
            " JOIN segue.memories m"
            " ON m.namespace = %s AND m.audience = w.audience AND m.hash = w.hash AND m.live"
        )
        hashes = [hash_of(kept.memory) for kept in adds]
        found = rows(self._db, sql, (list(audiences), hashes, self._namespace))
        return there, {(audience, own): id for audience, own, id in found}

    def _audiences(self, memories: Sequence[Memory]) -> list[int]:
        keys = [msgspec.json.encode(audience_of(memory)) for memory in memories]
        sql = "SELECT key, no FROM segue.audiences WHERE namespace = %s AND key = ANY(%s)"
        known: dict[bytes, int] = dict(rows(self._db, sql, (self._namespace, list(set(keys)))))
        new = [key for key in dict.fromkeys(keys) if key not in known]
        if new:
            last = self._last("audiences", "no")
            known.update((key, last + place) for place, key in enumerate(new, 1))
            sql = "INSERT INTO segue.audiences VALUES (%s, %s, %s, 0, 0)"
            many(self._db, sql, [(self._namespace, known[key], key) for key in new])
        return [known[key] for key in keys]

    def _insert(self, new: Sequence[tuple[int, int, StoredMemory]]) -> None:
        counted: list[Row] = []
        made: list[Row] = []
        for no, audience, kept in new:
            memory = kept.memory
            body, own = body_of(memory)
            made.append((
                self._namespace, no, plain(memory.id), audience, memory.live, length_of(kept.words),
                hash_of(memory) if memory.live else b"", plain(memory.type), plain(memory.agent),
                plain(memory.session), plain(memory.created), memory.revision, own, body,
            ))  # fmt: skip
            if memory.helpful or memory.harmful or memory.recalled:
                counts = (memory.helpful, memory.harmful, memory.recalled, plain(memory.recalled_at))
                counted.append((self._namespace, no, *counts))
        many(self._db, _INSERT, made)
        many(self._db, _COUNTS, counted)
        self._index([one for one in new if one[2].memory.live])

    def _index(self, live: Sequence[tuple[int, int, StoredMemory]]) -> None:
        """Words and vectors of what counts."""
        namespace = self._namespace
        words = [(namespace, no, lexemes(namespace, k.memory, a, k.words)) for no, a, k in live]
        many(self._db, _WORDS, words)
        count: Counter[int] = Counter(audience for _, audience, _ in live)
        lengths: Counter[int] = Counter()
        for _, audience, kept in live:
            lengths[audience] += length_of(kept.words)
        many(self._db, _WEIGHED, [(count[a], lengths[a], namespace, a) for a in sorted(count)])
        self._vectors([one for one in live if one[2].vector])

    # -- vectors -------------------------------------------------------------------------------

    def _vectors(self, found: Sequence[tuple[int, int, StoredMemory]]) -> None:
        more = f", %s::{self._vector}.vector" if self._vector else ""
        columns = "namespace, no, audience, model, size, bits, body" + (", embedding" if more else "")
        sql = f"INSERT INTO segue.memory_vectors ({columns}) VALUES (%s, %s, %s, %s, %s, %s, %s{more})"
        made: list[Row] = []
        for no, audience, kept in found:
            row = (self._namespace, no, audience, plain(kept.model), len(kept.vector), bits_of(kept.vector))
            made.append((*row, kept.vector, *([as_vector(kept.vector)] if more else [])))
        many(self._db, sql, made)

    def _unvector(self, no: int) -> None:
        sql = "DELETE FROM segue.memory_vectors WHERE namespace = %s AND no = %s"
        changed(self._db, sql, (self._namespace, no))

    def _new_vectors(self, vectors: Sequence[StoredMemory]) -> None:
        sql = (
            "SELECT no, audience FROM segue.memories"
            " WHERE namespace = %s AND id = %s AND revision = %s AND live"
        )
        for kept in vectors:
            for no, audience in rows(
                self._db, sql, (self._namespace, plain(kept.memory.id), kept.memory.revision)
            ):
                self._unvector(no)
                self._vectors([(no, audience, kept)])

    # -- changing ------------------------------------------------------------------------------

    def _put(self, kept: StoredMemory) -> None:
        memory, db, namespace = kept.memory, self._db, self._namespace
        sql = (
            "SELECT no, audience, length, live, revision FROM segue.memories WHERE namespace = %s AND id = %s"
        )
        found = rows(db, sql, (namespace, plain(memory.id)))
        actual = found[0][4] if found else 0
        if actual != memory.revision - 1 or not found:
            raise StaleVersion(f"memory {memory.id}", memory.revision - 1, actual)
        no, before, length, live, _ = found[0]
        if live:
            changed(db, "DELETE FROM segue.memory_words WHERE namespace = %s AND no = %s", (namespace, no))
            changed(db, _WEIGHED, (-1, -length, namespace, before))
        self._unvector(no)
        [audience] = self._audiences([memory])
        body, own = body_of(memory)
        sql = (
            "UPDATE segue.memories SET audience = %s, live = %s, length = %s, hash = %s, type = %s,"
            " agent = %s, session = %s, revision = %s, body_hash = %s, body = %s"
            " WHERE namespace = %s AND no = %s"
        )
        row = (
            audience, memory.live, length_of(kept.words), hash_of(memory) if memory.live else b"",
            plain(memory.type), plain(memory.agent), plain(memory.session), memory.revision, own, body,
        )  # fmt: skip
        try:
            changed(db, sql, (*row, namespace, no))
        except driver().errors.UniqueViolation:  # says now what another one says: it lives on in that one
            raise StaleVersion(f"memory {memory.id}", memory.revision - 1, actual) from None
        if memory.live:
            self._index([(no, audience, kept)])
        if memory.forgotten:
            sql = "UPDATE segue.memory_votes SET context = '' WHERE namespace = %s AND no = %s"
            changed(db, sql, (namespace, no))

    def _trace(self, trail: Sequence[Any]) -> None:
        line = self._last("memory_trail", "line") if trail else 0
        made = [
            (line + place, *map(plain, (t.act, t.at, t.actor, t.reason)), self._namespace, plain(t.memory))
            for place, t in enumerate(trail, 1)
        ]
        many(self._db, _TRACE, made)

    def _last(self, table: str, column: str) -> int:
        sql = f"SELECT coalesce(max({column}), 0) FROM segue.{table} WHERE namespace = %s"
        return int(rows(self._db, sql, (self._namespace,))[0][0])
