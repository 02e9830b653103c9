"""The map of a project's code in a SQLite file: a row for each file of the project, with what it defines and
uses, and which definitions of changed files differ from the last commit.

It can be thrown away at any time: everything in it is made again from the working tree. It holds names and
lines, and no text of the code.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from ..._failpoints import trip
from ...core.base.lazy import msgpack_decoder
from ...core.codemap.symbols import FileSymbols
from ...errors import DamagedError
from .compression import compress, decompress
from .database_file import DatabaseFile

_TABLES = """
    CREATE TABLE IF NOT EXISTS files (
        path TEXT PRIMARY KEY, size INTEGER NOT NULL, changed INTEGER NOT NULL, seen INTEGER NOT NULL,
        hash TEXT NOT NULL, symbols BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS edited (
        path TEXT PRIMARY KEY, size INTEGER NOT NULL, changed INTEGER NOT NULL, head TEXT NOT NULL,
        places TEXT NOT NULL, names TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS compared (head TEXT NOT NULL, began INTEGER NOT NULL, ended INTEGER NOT NULL)
"""


CLOCK_NS = 50_000_000
"""How far the times of files may lag behind the clock."""


def changed_ns(about: os.stat_result) -> int:
    """When a file was changed: programs set the one time as they like, but not the other."""
    return max(about.st_mtime_ns, about.st_ctime_ns)


class MappedFile(NamedTuple):
    """A file as the map knows it."""

    path: str
    size: int
    changed_ns: int
    seen_ns: int
    """When it was read: a file that was changed at that very moment may have been changed again."""
    hash: str


class EditedFile(NamedTuple):
    """The definitions of an uncommitted file that differ from the last commit."""

    path: str
    size: int
    changed_ns: int
    head: str
    places: tuple[int, ...]
    names: tuple[str, ...]


class Compared(NamedTuple):
    """When all files were compared with a commit; ``ended_ns`` is after the last of them was read."""

    head: str
    began_ns: int
    ended_ns: int

    def covers(self, file: MappedFile) -> bool:
        """Whether a file was compared then as it is now."""
        return file.seen_ns <= self.ended_ns and file.changed_ns < self.began_ns - CLOCK_NS


class CodemapFile(DatabaseFile):
    """A map in a file."""

    what = "the map of the code"
    tables = _TABLES
    version = 2
    pragmas = {"journal_mode": "wal", "synchronous": "NORMAL", "cache_size": -32_768}

    def is_there(self) -> bool:
        """Whether there is a map of this version."""
        return self.stored_version() == self.version

    def known(self) -> dict[str, MappedFile]:
        """Every file by its path, without what it defines."""
        rows = self._fetch("SELECT path, size, changed, seen, hash FROM files") if self.is_there() else []
        return {row[0]: MappedFile(*row) for row in rows}

    def symbols(self) -> dict[str, FileSymbols]:
        """What every file defines and uses, by its path."""
        rows = self._fetch("SELECT path, symbols FROM files ORDER BY path") if self.is_there() else []
        return {path: self._decoded(body) for path, body in rows}

    def symbols_of(self, paths: Sequence[str]) -> dict[str, FileSymbols]:
        """What some files define and use."""
        sql = "SELECT path, symbols FROM files WHERE path IN (SELECT value FROM json_each(?))"
        rows = self._fetch(sql, (_json(paths),)) if self.is_there() else []
        return {path: self._decoded(body) for path, body in rows}

    def edited(self, paths: Sequence[str] | None = None) -> dict[str, EditedFile]:
        """What differs from the last commit, in these files or in all of them."""
        if not self.is_there():
            return {}
        sql = "SELECT path, size, changed, head, places, names FROM edited"
        if paths is None:
            rows = self._fetch(sql)
        else:
            rows = self._fetch(f"{sql} WHERE path IN (SELECT value FROM json_each(?))", (_json(paths),))
        return {
            path: EditedFile(path, size, changed, head, tuple(_read(places)), tuple(_read(names)))
            for path, size, changed, head, places, names in rows
        }

    def put(self, files: Iterable[tuple[MappedFile, FileSymbols | None]], gone: Iterable[str] = ()) -> None:
        """Keep files, with what they define where that changed, and drop others; all or nothing."""
        rows = [(*about, self._encoded(found) if found is not None else None) for about, found in files]
        lost = [(path,) for path in gone]

        def work(db: apsw.Connection) -> None:
            db.executemany(
                "INSERT OR REPLACE INTO files SELECT ?1, ?2, ?3, ?4, ?5,"
                " coalesce(?6, (SELECT symbols FROM files WHERE path = ?1), x'')",
                rows,
            )
            db.executemany("DELETE FROM files WHERE path = ?", lost)
            db.executemany("DELETE FROM edited WHERE path = ?", lost)
            trip("codemap.put.before_commit")

        if rows or lost:
            self._writing(work)

    def compared(self) -> Compared | None:
        """When all files were last compared with a commit; None if they never were."""
        rows = self._fetch("SELECT head, began, ended FROM compared") if self.is_there() else []
        return Compared(*rows[0]) if rows else None

    def put_edited(self, files: Iterable[EditedFile], compared: Compared) -> None:
        """Keep what differs from the last commit, in place of what did before."""
        rows = [(*one[:4], _json(one.places), _json(one.names)) for one in files]

        def work(db: apsw.Connection) -> None:
            db.execute("DELETE FROM edited")
            db.executemany("INSERT OR REPLACE INTO edited VALUES (?, ?, ?, ?, ?, ?)", rows)
            _compare(db, compared)

        self._writing(work)

    def put_compared(self, compared: Compared) -> None:
        """Keep that all files were as they are when they were compared."""
        self._writing(lambda db: _compare(db, compared))

    def delete(self) -> None:
        """Remove the file; it is made again from the working tree."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    @staticmethod
    def _encoded(symbols: FileSymbols) -> bytes:
        return compress(msgspec.msgpack.encode(symbols), 1) if symbols != FileSymbols() else b""

    def _decoded(self, body: bytes) -> FileSymbols:
        if not body:
            return FileSymbols()
        try:
            return _symbols.decode(decompress(body))
        except (ValueError, msgspec.DecodeError) as fault:
            raise DamagedError(self.what, str(self.path), "a row cannot be decoded") from fault


_symbols = msgpack_decoder(FileSymbols)


def _compare(db: apsw.Connection, compared: Compared) -> None:
    db.execute("DELETE FROM compared")
    db.execute("INSERT INTO compared VALUES (?, ?, ?)", compared)


def _json(values: Sequence[Any]) -> str:
    return msgspec.json.encode(values).decode()


def _read(text: str) -> list[Any]:
    found = msgspec.json.decode(text)
    return found if isinstance(found, list) else []
