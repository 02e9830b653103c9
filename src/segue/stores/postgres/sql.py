"""Shared SQL on Postgres: every statement has the namespace, and every text can be kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ..sql import Row, Statements, for_postgres
from .database import Database, changed, many, plain, rows
from .schema import Db

T = TypeVar("T")


class PostgresStatements:
    """A transaction of a connection, in a namespace."""

    def __init__(self, db: Db, namespace: str) -> None:
        self._db = db
        self.namespace = namespace

    def rows(self, sql: str, /, **values: Any) -> list[Row]:
        return rows(self._db, for_postgres(sql), self._bound(values))

    def change(self, sql: str, /, **values: Any) -> int:
        return changed(self._db, for_postgres(sql), self._bound(values))

    def many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        many(self._db, for_postgres(sql), [self._bound(row) for row in rows])

    def _bound(self, values: Mapping[str, Any]) -> dict[str, Any]:
        bound = {name: _storable(value) for name, value in values.items()}
        bound["namespace"] = self.namespace
        return bound


class PostgresSql:
    """A namespace of a database that shared SQL runs on."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rows(self, sql: str, /, **values: Any) -> list[Row]:
        namespace = self._database.namespace
        return self._database.reading(lambda db: PostgresStatements(db, namespace).rows(sql, **values))

    def repeatable(self, work: Callable[[Statements], T]) -> T:
        namespace = self._database.namespace
        return self._database.transaction(
            lambda db, _: work(PostgresStatements(db, namespace)),
            lambda *_: None,  # nothing to look for: it may be done again
        )


def _storable(value: Any) -> Any:
    if isinstance(value, list):
        return [_storable(one) for one in value]
    return plain(value) if isinstance(value, str) else value


def quoted(word: str) -> str:
    """A word as it stands in a ``tsquery``."""
    return "'" + plain(word).replace("\\", "\\\\").replace("'", "''") + "'"
