"""A file of Segue's that is a SQLite database and not the store: the archive, the index for searching.

Each thread and each forked process has a connection of its own. What goes wrong is one of our errors."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import apsw

from ...errors import AccessError, DamagedError, StoreBusy, StoreError, StoreFull
from .atomic import private_folder

BUSY_TIMEOUT_MS = 30_000
_orphans: list[object] = []
"""Connections that were opened before a fork; they belong to the parent process, so they are never closed."""


class DatabaseFile:
    """A database with tables of one version, which are made at the first write."""

    what: ClassVar[str]
    """What it is called in errors."""
    tables: ClassVar[str]
    """The statements that make its tables, separated by semicolons."""
    version: ClassVar[int]
    pragmas: ClassVar[dict[str, Any]] = {"synchronous": "FULL", "secure_delete": 1}

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()

    def stored_version(self) -> int:
        """The version of the tables in the file; 0 if there are none."""
        db = self._connection(make=False)
        if db is None:
            return 0
        with self.translated_errors():
            return int(db.pragma("user_version"))

    def close(self) -> None:
        """Close this thread's connection; a later call opens it again."""
        db = getattr(self._local, "db", None)
        if db is not None and self._local.pid == os.getpid():
            db.close()
        self._local = threading.local()

    def _connection(self, *, make: bool = True) -> apsw.Connection | Any:
        open_db = getattr(self._local, "db", None)
        if open_db is not None and self._local.pid == os.getpid() and self.path.exists():
            return open_db
        if open_db is not None and self._local.pid != os.getpid():
            _orphans.append(open_db)
        if not make and not self.path.exists():
            return None
        with self.translated_errors():
            try:
                db = self._opened_to_write()
            except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError):
                if not self.path.is_file():
                    raise
                db = self._opened_to_read()
        self._local.db, self._local.pid = db, os.getpid()
        return db

    def _opened_to_write(self) -> apsw.Connection:
        private_folder(self.path.parent)
        if not self.path.exists():
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        db = apsw.Connection(str(self.path))
        try:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
            for name, value in self.pragmas.items():
                db.pragma(name, value)
            if sys.platform == "darwin":
                db.pragma("fullfsync", 1)
        except BaseException:
            db.close()
            raise
        return db

    def _opened_to_read(self) -> apsw.Connection:
        """A connection to a file that cannot be written, for instance on a disk that is mounted read-only.
        Where there is no log, SQLite needs no index of it, which it could not make either."""
        log = self.path.with_name(f"{self.path.name}-wal")
        has_log = log.exists() and log.stat().st_size > 0
        options = "mode=ro" if has_log else "immutable=1"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        db = apsw.Connection(f"file:{quote(str(self.path.absolute()))}?{options}", flags=flags)
        try:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
            db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        except BaseException:
            db.close()
            raise
        return db

    def _writing(self, work: Callable[[apsw.Connection], object]) -> None:
        """Do work that commits once, or not at all."""
        with self.translated_errors():
            db = self._connection()
            if db.readonly("main"):  # it may be writable by now
                self.close()
                db = self._connection()
            db.execute("BEGIN IMMEDIATE")
            try:
                if db.pragma("user_version") < self.version:
                    self._make_tables(db)
                    db.pragma("user_version", self.version)
                work(db)
                db.execute("COMMIT")
            except BaseException:
                if not db.get_autocommit():
                    db.execute("ROLLBACK")
                raise

    def _make_tables(self, db: apsw.Connection) -> None:
        for statement in self.tables.split(";"):
            db.execute(statement)

    def _fetch(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """The rows of a query; none where there is no file yet."""
        db = self._connection(make=False)
        if db is None:
            return []
        with self.translated_errors():
            return list(db.execute(sql, values))

    @contextlib.contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Raises an error of ours in place of one of SQLite or the file system."""
        try:
            yield
        except (apsw.BusyError, apsw.LockedError) as fault:
            raise StoreBusy(f"{self.path} is busy", hint="try again") from fault
        except apsw.FullError as fault:
            hint = "free some space, then try again"
            raise StoreFull(f"no space left for {self.path}", hint=hint) from fault
        except (apsw.CorruptError, apsw.NotADBError) as fault:
            raise DamagedError(self.what, str(self.path), str(fault)) from fault
        except (apsw.ReadOnlyError, apsw.CantOpenError, PermissionError) as fault:
            hint = "check the permissions of the folder"
            raise AccessError(f"cannot write {self.path}: {fault}", hint=hint) from fault
        except (apsw.Error, OSError) as fault:
            raise StoreError(f"{self.what} failed: {fault}", hint="see `segue doctor`") from fault
