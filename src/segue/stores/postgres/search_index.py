"""The index for searching in Postgres: its own full text, over what sessions say.

Words are split and brought to their stems here, as everywhere in Segue, so that both indexes find the same;
the database holds them with their places (``tsvector``), finds and ranks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ..._failpoints import trip
from ...core.base.lazy import msgpack_decoder
from ...core.search.index import (
    IndexedSource,
    Match,
    NewTexts,
    SearchSource,
    TextId,
    TextRange,
    Wanted,
    checksum,
)
from ...core.search.kinds import KINDS
from ...core.search.query import SearchTerm
from ...core.search.texts import SearchText, index_words
from ...errors import DamagedError
from ..sql import Statements
from .database import Database
from .schema import HELD, HELD_MARK, WORDS_SINCE
from .sql import PostgresSql

PLACES_MAX = 16_383
"""Postgres counts no places beyond that."""
PLACES_OF_A_WORD_MAX = 255
RANK = 20.0
"""Brings ranks of Postgres to about the size that those of FTS5 have."""
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_source = msgpack_decoder(SearchSource)
_FOUND = "SELECT steps, sum FROM segue.search_sources WHERE namespace = :namespace AND key = :key FOR UPDATE"
_PUT = """
    INSERT INTO segue.search_sources (namespace, key, about, steps, version, sum, last)
    VALUES (:namespace, :key, :about, :steps, :version, :sum, :last)
    ON CONFLICT (namespace, key) DO UPDATE SET about = excluded.about, steps = excluded.steps,
        version = excluded.version, sum = excluded.sum, last = excluded.last
"""
_PUT_TEXT = """
    INSERT INTO segue.search_texts (namespace, source, no, step, kind, at, failed, body, words)
    VALUES (:namespace, :source, :no, :step, :kind, :at, :failed, :body, :words::tsvector)
    ON CONFLICT (namespace, source, no) DO NOTHING
"""
_NEXT = """
    SELECT coalesce(max(no), 0) + 1 FROM segue.search_texts
    WHERE namespace = :namespace AND source = :source
"""
_EMPTY = "DELETE FROM segue.search_texts WHERE namespace = :namespace AND source = ANY(:keys)"
_DROP = "DELETE FROM segue.search_sources WHERE namespace = :namespace AND key = ANY(:keys)"
_INDEXED = (
    "SELECT key, about, steps, version, sum, last FROM segue.search_sources WHERE namespace = :namespace"
)
_MATCHES = f"""
    SELECT t.source, t.no, t.step, t.kind, t.at, t.failed, ts_rank(t.words, q.text, 1)
    FROM segue.search_texts t, (SELECT :query::tsquery AS text) q
    WHERE t.namespace = :namespace AND t.words @@ q.text AND {HELD} @@ :held::tsquery
"""
_COUNT = f"""
    SELECT count(*) FROM (SELECT 1 FROM segue.search_texts
        WHERE namespace = :namespace AND words @@ :query::tsquery AND {HELD} @@ :held::tsquery
        LIMIT :most) found
"""
_TEXTS = """
    SELECT source, no, body FROM segue.search_texts WHERE namespace = :namespace
        AND (source, no) IN (SELECT * FROM unnest(:sources::text[], :numbers::bigint[]))
"""


class PostgresSearchIndex:
    """The index of a namespace."""

    what = "the search index in Postgres"

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = PostgresSql(database)
        self._mark = hashlib.sha256(database.namespace.encode()).hexdigest()[:HELD_MARK]

    def put(self, new: Iterable[NewTexts]) -> None:
        """Index texts; all or nothing."""
        batch = sorted(new, key=lambda one: one.source.key)  # two that put the same wait, and do not lock up
        if not batch:
            return

        def work(db: Statements) -> None:
            for one in batch:
                _put(db, one)
            trip("search.postgres.before_commit")

        self._sql.repeatable(work)

    def drop(self, keys: Iterable[str]) -> None:
        """Remove sources with their texts."""
        wanted = list(keys)

        def work(db: Statements) -> None:
            db.change(_EMPTY, keys=wanted)
            db.change(_DROP, keys=wanted)

        self._sql.repeatable(work)

    def delete(self) -> None:
        """Remove everything; it is made again."""
        self.drop(self.indexed())

    def indexed(self) -> dict[str, IndexedSource]:
        """How far each source is indexed, by its key."""
        return {key: self._decoded(*rest) for key, *rest in self._sql.rows(_INDEXED)}

    def find(self, key: str) -> IndexedSource | None:
        """How far one source is indexed; None if it is not."""
        rows = self._sql.rows(f"{_INDEXED} AND key = :key", key=key)
        return self._decoded(*rows[0][1:]) if rows else None

    def _decoded(self, about: bytes, *numbers: Any) -> IndexedSource:
        try:
            return IndexedSource(_source.decode(bytes(about)), *numbers)
        except msgspec.DecodeError as fault:
            raise DamagedError(self.what, "search_sources", "a row cannot be decoded") from fault

    def sources(self) -> dict[str, SearchSource]:
        """Every source by its key."""
        return {key: one.source for key, one in self.indexed().items()}

    def matches(self, wanted: Wanted, limit: int) -> list[Match]:
        """The texts that match, the best first."""
        sql, query = self._indexed(_MATCHES), expression(wanted)
        if not query:
            return []
        rows = self._sql.rows(
            f"{sql}{_conditions(wanted)} ORDER BY 7 DESC, t.at DESC, t.source, t.no LIMIT :most",
            query=query, held=expression(wanted, self._mark), **_values(wanted), most=limit,
        )  # fmt: skip
        return [
            Match(f"{no} {key}", key, step, KINDS[kind], at, failed, -RANK * rank)
            for key, no, step, kind, at, failed, rank in rows
        ]

    def how_many(self, term: SearchTerm, most: int) -> int:
        """In how many texts a term stands, as far as so many."""
        query, held = _of_term(term), _of_term(term, self._mark)
        sql = self._indexed(_COUNT)
        return int(self._sql.rows(sql, query=query, held=held, most=most)[0][0]) if query else 0

    def _indexed(self, sql: str) -> str:
        """A statement as these tables can run it: those of before, which we may only read, have no such
        index."""
        if self._database.ready is None:
            self._database.fetch("SELECT 1")
        ready = self._database.ready
        if ready is None or ready.schema >= WORDS_SINCE:
            return sql
        return sql.replace(f" AND {HELD} @@ :held::tsquery", "")

    def size_in_texts(self) -> int:
        """How many texts there are, about."""
        sql = "SELECT count(*) FROM segue.search_texts WHERE namespace = :namespace"
        return int(self._sql.rows(sql)[0][0])

    def texts(self, ids: Sequence[TextId]) -> Mapping[TextId, str]:
        """The texts of matches by their ids."""
        named = [str(id).partition(" ") for id in ids]
        rows = self._sql.rows(
            _TEXTS, sources=[key for _, _, key in named], numbers=[int(no) for no, _, _ in named]
        )
        return {f"{no} {key}": body for key, no, body in rows}

    def having(self, ids: Sequence[TextId]) -> list[Match]:
        """The texts with these ids, as far as they are there."""
        named = [str(id).partition(" ") for id in ids]
        rows = self._sql.rows(
            "SELECT t.source, t.no, t.step, t.kind, t.at, t.failed"
            " FROM unnest(:sources::text[], :numbers::bigint[]) AS w (source, no) JOIN segue.search_texts t"
            " ON t.namespace = :namespace AND t.source = w.source AND t.no = w.no",
            sources=[key for _, _, key in named], numbers=[int(no) for no, _, _ in named],
        )  # fmt: skip
        return [
            Match(f"{no} {key}", key, step, KINDS[kind], at, failed, 0.0)
            for key, no, step, kind, at, failed in rows
        ]

    def lacking(self, wanted: Wanted, embedder: str, limit: int) -> list[TextId]:
        """The newest texts that meet the conditions: all lack vectors."""
        sql = "SELECT t.source, t.no FROM segue.search_texts t"
        sql += f" WHERE t.namespace = :namespace{_conditions(wanted)}"
        sql += " ORDER BY t.at DESC, t.source, t.no LIMIT :most"
        rows = self._sql.rows(sql, **_values(wanted), most=limit)
        return [f"{no} {key}" for key, no in rows]

    def vectors(self, wanted: Wanted, embedder: str) -> Mapping[TextId, bytes]:
        """None: a server has few texts, and makes their vectors when they are asked for."""
        return {}

    def put_vectors(self, embedder: str, vectors: Mapping[TextId, bytes]) -> None:
        """Keeps none."""

    def read(self, key: str, wanted: TextRange) -> list[SearchText]:
        """Texts of one source in the order of their steps."""
        sql = "SELECT step, kind, body, at, failed FROM segue.search_texts"
        sql += " WHERE namespace = :namespace AND source = :source AND step >= :first"
        sql += " AND kind = ANY(:kinds::int[])" if wanted.kinds else ""
        sql += " AND failed" if wanted.failed else ""
        sql += " AND step <= :last" if wanted.last else ""
        order = "DESC" if wanted.last else "ASC"
        rows = self._sql.rows(
            f"{sql} ORDER BY step {order}, no {order} LIMIT :most", source=key, first=wanted.first,
            last=wanted.last, kinds=[_KIND_NUMBERS[kind] for kind in wanted.kinds], most=wanted.limit,
        )  # fmt: skip
        found = [SearchText(step, KINDS[kind], body, at, failed) for step, kind, body, at, failed in rows]
        return found[::-1] if wanted.last else found


def _conditions(wanted: Wanted) -> str:
    """What else a text must meet."""
    sql = " AND t.kind = ANY(:kinds::int[])" if wanted.kinds else ""
    sql += " AND t.failed" if wanted.failed else ""
    sql += " AND t.at >= :since" if wanted.since else ""
    return sql + (" AND t.source = ANY(:sources)" if wanted.sources is not None else "")


def _values(wanted: Wanted) -> dict[str, Any]:
    return {
        "kinds": [_KIND_NUMBERS[kind] for kind in wanted.kinds], "since": int(wanted.since),
        "sources": list(wanted.sources or ()),
    }  # fmt: skip


def _put(db: Statements, new: NewTexts) -> None:
    key = new.source.key
    before = db.rows(_FOUND, key=key)
    total = 0
    if new.anew or not before:
        db.change(_EMPTY, keys=[key])
    else:
        total = before[0][1]
    row = {
        "key": key, "about": msgspec.msgpack.encode(new.source), "steps": new.steps, "version": new.version,
        "sum": checksum(new.texts, total), "last": new.last,
    }  # fmt: skip
    db.change(_PUT, **row)
    first = db.rows(_NEXT, source=key)[0][0]
    db.many(_PUT_TEXT, [_row(key, no, one) for no, one in enumerate(new.texts, first)])


def _row(key: str, no: int, one: SearchText) -> dict[str, Any]:
    return {
        "source": key, "no": no, "step": one.step, "kind": _KIND_NUMBERS[one.kind], "at": int(one.at),
        "failed": one.failed, "body": one.text,
        "words": vector(one.text),
    }  # fmt: skip


def vector(text: str) -> str:
    """The words of a text with their places, as Postgres writes a ``tsvector``."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(index_words(text), 1):
        found = places.setdefault(word, [])
        if len(found) < PLACES_OF_A_WORD_MAX and place <= PLACES_MAX:
            found.append(place)
    return " ".join(
        f"{word}:{','.join(map(str, found))}" if found else word for word, found in places.items()
    )


def expression(wanted: Wanted, mark: str = "") -> str:
    """What is asked for, as Postgres writes a ``tsquery``. With the mark of a project it is for the index,
    which knows neither places nor what a text lacks."""
    asked = (f"({term})" for term in (_of_term(term, mark) for term in wanted.terms) if term)
    terms = (" & " if wanted.every else " | ").join(asked)
    without = "" if mark else " | ".join(filter(None, map(_of_term, wanted.excluded)))
    return f"({terms}) & !({without})" if terms and without else terms


def _of_term(term: SearchTerm, mark: str = "") -> str:
    forms = (index_words(form) for form in term.forms)
    joined = (" & " if mark else " <-> ").join
    end = ":*" if term.is_prefix else ""
    return " | ".join(f"({joined([f'{mark}{word}' for word in form])}{end})" for form in forms if form)
