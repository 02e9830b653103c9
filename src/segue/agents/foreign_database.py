"""Reading SQLite databases of agents, which anybody may have written.

Only tables are read: a view may hold a query that never ends. Whatever is asked ends after some seconds of
work. Long values are read in pieces and shortened.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from .._files import open_file
from ..core.base.long_json import LONG_BYTES, LongJson

WORK_SECONDS_MAX = 30.0
_STEPS_BETWEEN = 100_000
_PIECE_BYTES = 1 << 20


def opened(path: Path, mode: str, *, busy_ms: int) -> apsw.Connection:
    """A connection that cannot write, and on which everything is interrupted after ``WORK_SECONDS_MAX`` of
    work. Raises apsw.Error, and OSError if it or its log is no regular file."""
    for name in (path.name, *(f"{path.name}-{log}" for log in ("wal", "shm", "journal"))):
        beside = path.with_name(name)
        if name == path.name or os.path.lexists(beside):
            open_file(beside).close()
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"file:{quote(str(path.absolute()))}?{mode}", flags=flags)
    end = time.thread_time() + WORK_SECONDS_MAX
    connection.set_progress_handler(lambda: time.thread_time() > end, _STEPS_BETWEEN)
    connection.set_busy_timeout(busy_ms)
    return connection


def columns(connection: apsw.Connection, table: str) -> list[str]:
    """The columns of a table; none if there is none, or only a view of that name."""
    found = connection.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", (table,))
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")] if found.fetchall() else []


def rows(
    connection: apsw.Connection, table: str, wanted: Iterable[str], rest: str, *bound: Any
) -> list[dict[str, Any]]:
    """The rows of a table with the wanted columns that it has; empty if there is no such table. A value of
    more than ``LONG_BYTES`` is JSON, and its long strings are shortened."""
    wanted = set(wanted)
    names = [name for name in columns(connection, table) if name in wanted]
    if not names:
        return []
    is_long = [f'octet_length("{name}") > {LONG_BYTES}' for name in names]  # known without reading them
    of = rest.partition("ORDER BY")[0]  # sorting would read them
    asked = f"SELECT max({' OR '.join(is_long)}) FROM {table} {of}"
    if not connection.execute(asked, bound).fetchall()[0][0]:
        listed = ", ".join(f'"{name}"' for name in names)
        found = connection.execute(f"SELECT {listed} FROM {table} {rest}", bound)
        return [dict(zip(names, row, strict=True)) for row in found]
    listed = ", ".join(f'iif({long}, NULL, "{name}")' for long, name in zip(is_long, names, strict=True))
    counted = " + ".join(f"coalesce({long}, 0)" for long in is_long)
    query = f"SELECT {listed}, {counted}, rowid FROM {table} {rest}"
    rows_found = []
    for *values, longs, row in connection.execute(query, bound):
        rows_found.append(dict(zip(names, values, strict=True)))
        if longs:
            missing = [name for name, value in rows_found[-1].items() if value is None]
            rows_found[-1] |= _long_values(connection, table, row, missing)
    return rows_found


def _long_values(connection: apsw.Connection, table: str, row: int, names: list[str]) -> dict[str, bytes]:
    values = {}
    for name in names:
        with suppress(apsw.SQLError), closing(connection.blob_open("main", table, name, row, False)) as blob:
            long = LongJson()
            while piece := blob.read(_PIECE_BYTES):
                long.feed(piece)
            values[name] = long.result()
    return values
