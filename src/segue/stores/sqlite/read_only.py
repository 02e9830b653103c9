"""Reading a store that cannot be written: on a read-only or full disk, of another user, or a backup.

SQLite reads a database in WAL mode only if it can have the log's index in shared memory. Where it cannot
make one, the index of those who have the store open is read, or one is made in memory. Where there is no
log, the file is read as it is; and where there is a log that SQLite does not read, its committed pages are
put over those of the file, in memory. Nothing is written, and no file is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import apsw

from .file_system import STORE_BYTES_MIN
from .salvage import with_log

_FLAGS = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


def opened_to_read(path: Path) -> apsw.Connection:
    """A connection that can only read. Raises an apsw.Error if the file cannot be read either."""
    if path.exists() and not path.is_file():  # SQLite would wait for a pipe
        raise apsw.CantOpenError(f"{path} is not a file")
    first: apsw.Error | None = None
    for options in _ways(path):
        try:
            return _looked_at(apsw.Connection(f"file:{quote(str(path.absolute()))}?{options}", flags=_FLAGS))
        except (apsw.NotADBError, apsw.CorruptError, apsw.BusyError):
            raise
        except apsw.Error as fault:
            first = first or fault
    first = first or apsw.CantOpenError(f"the index of the log of {path} is not a file")
    if not _has_log(path):
        raise first
    try:
        image = with_log(path)
    except OSError:
        raise first from None
    db = apsw.Connection(":memory:")
    db.deserialize("main", image)
    return _looked_at(db)


def _ways(path: Path) -> Iterator[str]:
    index = path.with_name(f"{path.name}-shm")
    if _has_log(path) and path.stat().st_size < STORE_BYTES_MIN:
        return  # SQLite would take the file for a new one, and delete the log
    if not _has_log(path) and not index.is_file():
        yield "immutable=1"  # nobody has it open, and the file holds everything
        return
    if index.exists() and not index.is_file():
        return  # SQLite would wait for a pipe
    yield "mode=ro"
    yield "mode=ro&readonly_shm=1"
    if not _has_log(path):
        yield "immutable=1"


def _has_log(path: Path) -> bool:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    except OSError:
        return False


def _looked_at(db: apsw.Connection) -> apsw.Connection:
    try:
        db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        db.pragma("query_only", 1)
    except BaseException:
        db.close()
        raise
    return db
