"""The index for searching: full text over what runs and sessions say, in one SQLite file beside the archive.

It can be thrown away at any time: everything in it is made again from the archive and the store. The texts
stand in it once more, compressed, so that what was found can be shown without reading a transcript. All of it
was masked before it comes here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import apsw
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
from ...core.search.texts import SearchText, StepTexts, words_to_index
from ...errors import DamagedError, SegueError
from .archive import CopyOwner
from .compression import compress, decompress
from .database_file import DatabaseFile

BLOCK_BYTES = 32_768
"""How much text is compressed together."""
RANKED_MAX, RANKED_OF_FILTERED_MAX = 5_000, 50_000
"""How many texts are ranked for a question of common words, and of how many those are chosen that meet other
conditions as well."""
_TABLES = """
    CREATE TABLE IF NOT EXISTS sources (
        no INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, about BLOB NOT NULL, steps INTEGER NOT NULL,
        version INTEGER NOT NULL, sum INTEGER NOT NULL, last REAL NOT NULL
    );
    CREATE TABLE IF NOT EXISTS texts (
        id INTEGER PRIMARY KEY, source INTEGER NOT NULL, step INTEGER NOT NULL, kind INTEGER NOT NULL,
        at INTEGER NOT NULL, failed INTEGER NOT NULL, block INTEGER NOT NULL, start INTEGER NOT NULL,
        size INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS texts_of_source ON texts (source, step);
    CREATE TABLE IF NOT EXISTS blocks (
        no INTEGER PRIMARY KEY, source INTEGER NOT NULL, size INTEGER NOT NULL, body BLOB NOT NULL
    );
    CREATE INDEX IF NOT EXISTS blocks_of_source ON blocks (source);
    CREATE TABLE IF NOT EXISTS vectors (
        id INTEGER NOT NULL, embedder TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (id, embedder)
    ) WITHOUT ROWID;
    CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
        text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
    )
"""
_SETTINGS = {"hashsize": 32 << 20, "automerge": 8}
"""Of the full text: how much is collected before it is written, and how many parts of a size are merged: the
defaults (1 MB, 4) merge the same words again and again."""
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


class SearchFile(DatabaseFile):
    """An index in a file."""

    what = "the search index"
    tables = _TABLES
    version = 3
    pragmas = {"journal_mode": "wal", "synchronous": "NORMAL", "secure_delete": 1, "cache_size": -65_536}

    def _make_tables(self, db: apsw.Connection) -> None:
        super()._make_tables(db)
        for name, value in _SETTINGS.items():
            db.execute("INSERT INTO words (words, rank) VALUES (?, ?)", (name, value))

    # -- writing -------------------------------------------------------------------------------

    def put(self, new: Iterable[NewTexts]) -> None:
        """Index texts; all or nothing."""
        batch = list(new)
        if not batch:
            return

        def work(db: apsw.Connection) -> None:
            for one in batch:
                _put(db, one)
            trip("search.put.before_commit")

        self._writing(work)

    def drop(self, keys: Iterable[str], *, for_good: bool = False) -> None:
        """Remove sources with their texts; ``for_good`` leaves nothing of their words in the file."""
        if not self.stored_version():
            return
        wanted = list(keys)

        def work(db: apsw.Connection) -> None:
            for key in wanted:
                for (no,) in _rows(db, "SELECT no FROM sources WHERE key = ?", (key,)):
                    _empty(db, no)
                    db.execute("DELETE FROM sources WHERE no = ?", (no,))
            if for_good and wanted:
                db.execute("INSERT INTO words(words) VALUES('optimize')")

        self._writing(work)
        if for_good and wanted:
            with self.translated_errors():
                self._connection().execute("VACUUM")
                self._connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def delete(self) -> None:
        """Remove the file; it is made again from the archive and the store."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    # -- reading -------------------------------------------------------------------------------

    def is_there(self) -> bool:
        """Whether there is an index of this version."""
        return self.stored_version() == self.version

    def indexed(self) -> dict[str, IndexedSource]:
        """How far each source is indexed, by its key."""
        if not self.is_there():
            return {}
        rows = self._fetch("SELECT key, about, steps, version, sum, last FROM sources")
        return {key: self._indexed(*rest) for key, *rest in rows}

    def find(self, key: str) -> IndexedSource | None:
        """How far one source is indexed; None if it is not."""
        if not self.is_there():
            return None
        rows = self._fetch("SELECT about, steps, version, sum, last FROM sources WHERE key = ?", (key,))
        return self._indexed(*rows[0]) if rows else None

    def _indexed(self, about: bytes, steps: int, version: int, total: int, last: float) -> IndexedSource:
        try:
            return IndexedSource(_source.decode(about), steps, version, total, last)
        except msgspec.DecodeError as fault:
            raise DamagedError(self.what, str(self.path), "a row cannot be decoded") from fault

    def matches(self, wanted: Wanted, limit: int) -> list[Match]:
        """The texts that match, the best first; of very many only those that were indexed last are ranked."""
        if not self.is_there():
            return []
        asked = expression(wanted)
        where, values = _conditions(wanted)
        first = self._first_ranked(asked, RANKED_OF_FILTERED_MAX if where else RANKED_MAX)
        ranked = "SELECT rowid, rank FROM words WHERE words MATCH ? AND rowid >= ? ORDER BY rank LIMIT ?"
        sql = (
            f"SELECT {_COLUMNS}, found.rank FROM ({ranked}) AS found JOIN texts ON texts.id = found.rowid"
            " JOIN sources ON sources.no = texts.source"
        )
        if where:
            sql = (
                f"SELECT {_COLUMNS}, words.rank FROM words JOIN texts ON texts.id = words.rowid"
                " JOIN sources ON sources.no = texts.source"
                f" WHERE words MATCH ? AND words.rowid >= ? AND {' AND '.join(where)}"
                " ORDER BY words.rank LIMIT ?"
            )
        rows = self._fetch(sql, (asked, first, *values, limit))
        return [
            Match(id, key, step, KINDS[kind], at, bool(bad), rank)
            for id, key, step, kind, at, bad, rank in rows
        ]

    def _first_ranked(self, asked: str, most: int) -> int:
        """The first of the last so many texts that match."""
        last = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
        rows = self._fetch(last, (asked, most))
        return int(rows[0][0]) if rows else 0

    def how_many(self, term: SearchTerm, most: int) -> int:
        """In how many texts a term stands, as far as so many."""
        counted = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        rows = self._fetch(counted, (_of_term(term), most)) if self.is_there() else []
        return int(rows[0][0]) if rows else 0

    def size_in_texts(self) -> int:
        """How many texts there are, about."""
        rows = self._fetch("SELECT max(id) FROM texts") if self.is_there() else []
        return int(rows[0][0] or 0) if rows else 0

    def sources(self) -> dict[str, SearchSource]:
        """Every source by its key."""
        rows = self._fetch("SELECT key, about FROM sources") if self.is_there() else []
        return {key: _source.decode(about) for key, about in rows}

    def texts(self, ids: Sequence[TextId]) -> dict[TextId, str]:
        """The texts of matches by their ids."""
        marks = ", ".join("?" * len(ids))
        rows = self._fetch(f"SELECT id, block, start, size FROM texts WHERE id IN ({marks})", tuple(ids))
        numbers = {block for _, block, _, _ in rows}
        wanted = f"SELECT no, body FROM blocks WHERE no IN ({', '.join('?' * len(numbers))})"
        blocks = {no: self._plain(body) for no, body in self._fetch(wanted, tuple(numbers))}
        return {
            id: blocks[block][start : start + size].decode("utf-8", "surrogatepass")
            for id, block, start, size in rows
            if block in blocks
        }

    def having(self, ids: Sequence[TextId]) -> list[Match]:
        """The texts with these ids, as far as they are there."""
        sql = (
            f"SELECT {_COLUMNS} FROM texts JOIN sources ON sources.no = texts.source"
            " WHERE texts.id IN (SELECT value FROM json_each(?))"
        )
        return [
            Match(id, key, step, KINDS[kind], at, bool(failed), 0.0)
            for id, key, step, kind, at, failed in self._fetch(
                sql, (msgspec.json.encode(list(ids)).decode(),)
            )
        ]

    def lacking(self, wanted: Wanted, embedder: str, limit: int) -> list[TextId]:
        """The newest texts that meet the conditions and have no vectors of an embedder."""
        if not self.is_there():
            return []
        where, values = _conditions(wanted)
        where.append("NOT EXISTS (SELECT 1 FROM vectors v WHERE v.id = texts.id AND v.embedder = ?)")
        sql = (
            "SELECT texts.id FROM texts JOIN sources ON sources.no = texts.source"
            f" WHERE {' AND '.join(where)} ORDER BY texts.at DESC, texts.id DESC LIMIT ?"
        )
        return [row[0] for row in self._fetch(sql, (*values, embedder, limit))]

    def vectors(self, wanted: Wanted, embedder: str) -> dict[TextId, bytes]:
        """What ``put_vectors`` kept for texts that meet the conditions."""
        if not self.is_there():
            return {}
        where, values = _conditions(wanted)
        sql = (
            "SELECT v.id, v.vector FROM vectors v JOIN texts ON texts.id = v.id"
            " JOIN sources ON sources.no = texts.source"
            f" WHERE {' AND '.join([*where, 'v.embedder = ?'])}"
        )
        return dict(self._fetch(sql, (*values, embedder)))

    def put_vectors(self, embedder: str, vectors: Mapping[TextId, bytes]) -> None:
        """Keep the vectors that an embedder made of texts, until the texts are gone."""
        rows = [(id, embedder, vector) for id, vector in vectors.items()]

        def work(db: apsw.Connection) -> None:
            there = "SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM texts WHERE id = ?1)"
            db.executemany(f"INSERT OR REPLACE INTO vectors {there}", rows)

        if rows:
            self._writing(work)

    def read(self, key: str, wanted: TextRange) -> list[SearchText]:
        """Texts of one source in the order of their steps."""
        if not self.is_there():
            return []
        kinds = ", ".join(str(_KIND_NUMBERS[kind]) for kind in wanted.kinds)
        where = f" AND kind IN ({kinds})" if kinds else ""
        where += " AND failed" if wanted.failed else ""
        where += " AND step <= ?" if wanted.last else ""
        order = "DESC" if wanted.last else "ASC"
        rows = self._fetch(
            "SELECT id, step, kind, at, failed FROM texts"
            f" WHERE source = (SELECT no FROM sources WHERE key = ?) AND step >= ?{where}"
            f" ORDER BY step {order}, id {order} LIMIT ?",
            (key, wanted.first, *([wanted.last] if wanted.last else []), wanted.limit),
        )
        texts = self.texts([row[0] for row in rows])
        found = [
            SearchText(step, KINDS[kind], texts[id], at, bool(failed)) for id, step, kind, at, failed in rows
        ]
        return found[::-1] if wanted.last else found

    def _plain(self, body: bytes) -> bytes:
        try:
            return decompress(body)
        except ValueError as fault:
            raise DamagedError(self.what, str(self.path), str(fault)) from fault

    def unreadable(self) -> str:
        """What SQLite finds wrong with the file; empty if nothing is wrong or there is no file."""
        try:
            rows = self._fetch("PRAGMA quick_check(1)")
        except SegueError as fault:
            return fault.message
        return "" if not rows or rows[0][0] == "ok" else str(rows[0][0])


@cache
def search_file(path: Path) -> SearchFile:
    """The index in a file: one for all threads and requests of a process."""
    return SearchFile(path)


_COLUMNS = "texts.id, sources.key, texts.step, texts.kind, texts.at, texts.failed"
_source = msgpack_decoder(SearchSource)


def expression(wanted: Wanted) -> str:
    """What is asked for, in the language of FTS5."""
    joint = " AND " if wanted.every else " OR "
    terms = joint.join(map(_of_term, wanted.terms))
    return f"({terms}) NOT ({' OR '.join(map(_of_term, wanted.excluded))})" if wanted.excluded else terms


def _of_term(term: SearchTerm) -> str:
    quoted = [f'"{form}"' + ("*" if term.is_prefix else "") for form in term.forms]
    return quoted[0] if len(quoted) == 1 else f"({' OR '.join(quoted)})"


def _conditions(wanted: Wanted) -> tuple[list[str], list[str]]:
    """What else a text must meet, and the values for it."""
    where, values = [], []
    if wanted.kinds:
        where.append(f"texts.kind IN ({', '.join(str(_KIND_NUMBERS[kind]) for kind in wanted.kinds)})")
    if wanted.failed:
        where.append("texts.failed")
    if wanted.since:
        where.append(f"texts.at >= {int(wanted.since)}")
    if wanted.sources is not None:
        where.append("sources.key IN (SELECT value FROM json_each(?))")
        values.append(msgspec.json.encode(wanted.sources).decode())
    return where, values


def _rows(db: apsw.Connection, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
    return list(db.execute(sql, values))


def _put(db: apsw.Connection, new: NewTexts) -> None:
    rows = _rows(db, "SELECT no, sum FROM sources WHERE key = ?", (new.source.key,))
    about = msgspec.msgpack.encode(new.source)
    if rows:
        no, total = rows[0]
        if new.anew:
            _empty(db, no)
            total = 0
        db.execute(
            "UPDATE sources SET about = ?, steps = ?, version = ?, sum = ?, last = ? WHERE no = ?",
            (about, new.steps, new.version, checksum(new.texts, total), new.last, no),
        )
    else:
        db.execute(
            "INSERT INTO sources (key, about, steps, version, sum, last) VALUES (?, ?, ?, ?, ?, ?)",
            (new.source.key, about, new.steps, new.version, checksum(new.texts), new.last),
        )
        no = db.last_insert_rowid()
    _put_texts(db, no, new.texts)


def _put_texts(db: apsw.Connection, no: int, texts: Sequence[SearchText]) -> None:
    [(last,)] = _rows(db, "SELECT coalesce(max(id), 0) FROM texts")
    block, body = _last_block(db, no)
    rows: list[tuple[Any, ...]] = []
    for id, one in enumerate(texts, last + 1):
        if len(body) >= BLOCK_BYTES:
            _put_block(db, no, block, body)
            [(block,)] = _rows(db, "SELECT max(no) + 1 FROM blocks")
            body = bytearray()
        encoded = one.text.encode("utf-8", "surrogatepass")
        at, kind = int(one.at), _KIND_NUMBERS[one.kind]
        rows.append((id, no, one.step, kind, at, one.failed, block, len(body), len(encoded)))
        body += encoded
    if rows:
        _put_block(db, no, block, body)
        db.executemany(f"INSERT INTO texts VALUES ({', '.join('?' * 9)})", rows)
        words = ((row[0], words_to_index(one.text)) for row, one in zip(rows, texts, strict=True))
        db.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", words)


def _last_block(db: apsw.Connection, no: int) -> tuple[int, bytearray]:
    """The last block of a source, if more fits into it, or a new one."""
    newest = "SELECT no, size, body FROM blocks WHERE source = ? ORDER BY no DESC LIMIT 1"
    for block, size, body in _rows(db, newest, (no,)):
        if size < BLOCK_BYTES:
            return block, bytearray(decompress(body))
    [(block,)] = _rows(db, "SELECT coalesce(max(no), 0) + 1 FROM blocks")
    return block, bytearray()


def _put_block(db: apsw.Connection, source: int, block: int, body: bytes | bytearray) -> None:
    row = (block, source, len(body), compress(bytes(body), 3))
    db.execute("INSERT OR REPLACE INTO blocks (no, source, size, body) VALUES (?, ?, ?, ?)", row)


def _empty(db: apsw.Connection, no: int) -> None:
    db.execute("DELETE FROM vectors WHERE id IN (SELECT id FROM texts WHERE source = ?)", (no,))
    db.execute("DELETE FROM words WHERE rowid IN (SELECT id FROM texts WHERE source = ?)", (no,))
    db.execute("DELETE FROM texts WHERE source = ?", (no,))
    db.execute("DELETE FROM blocks WHERE source = ?", (no,))


def source_of(copied: CopyOwner) -> SearchSource:
    """The run that a copy was made of, as the index knows it."""
    return SearchSource(
        copied.key, copied.agent, copied.native, copied.path, copied.cwd, copied.project, copied.project_name,
        copied.parent,
    )  # fmt: skip


def new_texts(
    index: SearchFile, copied: CopyOwner, texts: StepTexts, last: float, *, is_whole: bool
) -> Iterator[NewTexts]:
    """What the index lacks of a run that was read, from its beginning (``is_whole``) or from where the index
    ends; nothing if the index ends elsewhere, which the next catch-up mends."""
    known = index.find(copied.key)
    source = source_of(copied)
    if is_whole:
        before = [one for one in texts.texts if known is not None and one.step <= known.steps]
        if known is None or checksum(before) != known.sum:
            yield NewTexts(source, texts.texts, texts.steps, copied.offset, last, True)
            return
        yield NewTexts(source, texts.texts[len(before) :], texts.steps, copied.offset, last, False)
    elif known is not None and (not texts.texts or known.steps < texts.texts[0].step):
        yield NewTexts(source, texts.texts, texts.steps, copied.offset, last, False)
