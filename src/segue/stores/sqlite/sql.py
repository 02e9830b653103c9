"""Shared SQL on SQLite: the file is the namespace, and lists are JSON arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import apsw
import msgspec

from ...core.base.text import encodable
from ..sql import Row, Statements, for_sqlite
from .database import Database

T = TypeVar("T")


class SqliteStatements:
    """A transaction."""

    def __init__(self, db: apsw.Cursor) -> None:
        self._db = db

    def rows(self, sql: str, /, **values: Any) -> list[Row]:
        return self._db.execute(for_sqlite(sql), _bound(values)).fetchall()

    def change(self, sql: str, /, **values: Any) -> int:
        self._db.execute(for_sqlite(sql), _bound(values))
        return self._db.connection.changes()

    def many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        self._db.executemany(for_sqlite(sql), map(_bound, rows))


class SqliteSql:
    """A file that shared SQL runs on."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def rows(self, sql: str, /, **values: Any) -> list[Row]:
        return self.database.fetch(for_sqlite(sql), _bound(values))

    def repeatable(self, work: Callable[[Statements], T]) -> T:
        return self.database.writing(lambda db: work(SqliteStatements(db)))


def _bound(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _storable(value) for name, value in values.items()}


def _storable(value: Any) -> Any:
    """A value as SQLite takes it; of a list SQL finds the elements by ``json_each``."""
    if isinstance(value, list):
        if set(map(type, value)) == {int}:
            return msgspec.json.encode(value).decode()
        elements = [one.hex() if isinstance(one, bytes) else _storable(one) for one in value]
        return msgspec.json.encode(elements).decode()
    return encodable(value) if isinstance(value, str) else value
