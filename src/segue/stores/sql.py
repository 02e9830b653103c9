"""SQL that is written once, for SQLite and for Postgres.

Shared SQL is Postgres's, with values by name (``:limit``); tables stand in the schema ``segue``. The
namespace comes first wherever it is named, in a key, a list of columns or a condition. A SQLite file is one
namespace: there it is left out. A list is a value like any other: ``= ANY(:numbers)``, ``=
ANY(:keys::bytea[])``. Everything that one of the two cannot say so is written by its own store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol, TypeVar

from ..core.base.lazy import regex

T = TypeVar("T")
Row = tuple[Any, ...]

_VALUE = regex(r"(?<!:):(\w+)")
_SAME_NAMESPACE = regex(r"(?:\w+\.)?namespace = (?::|\w+\.)?namespace\b")
_NAMED_NAMESPACE = regex(r"(?::|\b\w+\.|\b)namespace, ")
_AMONG = regex(r"= ANY\(:(\w+)\)")
_AMONG_BYTES = regex(r"= ANY\(:(\w+)::bytea\[\]\)")
_CAST = regex(r"::\w+")


class Statements(Protocol):
    """A transaction: what is done with it happens as a whole, or not at all."""

    def rows(self, sql: str, /, **values: Any) -> list[Row]:
        """The rows that a statement gives."""

    def change(self, sql: str, /, **values: Any) -> int:
        """Run a statement, and say how many rows it changed."""

    def many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement for each of these rows of values."""


class SqlDatabase(Protocol):
    """A database that shared SQL runs on. Raises as a journal does."""

    def rows(self, sql: str, /, **values: Any) -> list[Row]:
        """The rows of a statement that only reads."""

    def repeatable(self, work: Callable[[Statements], T]) -> T:
        """Do work in one durable transaction. Where its commit was in doubt it is done once more: it must be
        such that the same twice is the same."""


def insert(table: str, columns: Sequence[str]) -> str:
    """A statement that inserts a row by its columns, with values of the same names."""
    values = ", ".join(f":{name}" for name in columns)
    return f"INSERT INTO segue.{table} (namespace, {', '.join(columns)}) VALUES (:namespace, {values})"


def update(table: str, columns: Sequence[str]) -> str:
    """A statement that changes these columns of the row with a number, to values of the same names."""
    changes = ", ".join(f"{name} = :{name}" for name in columns)
    return f"UPDATE segue.{table} SET {changes} WHERE namespace = :namespace AND no = :no"


@cache
def for_postgres(sql: str) -> str:
    """Shared SQL as the driver of Postgres takes it."""
    return _VALUE.sub(r"%(\1)s", sql)


@cache
def for_sqlite(sql: str) -> str:
    """Shared SQL as SQLite takes it: lists are JSON arrays, bytes in them are in hex."""
    sql = _SAME_NAMESPACE.sub("true", sql.replace("segue.", ""))
    sql = _NAMED_NAMESPACE.sub("", sql)
    sql = _AMONG.sub(r"IN (SELECT value FROM json_each(:\1))", sql)
    sql = _AMONG_BYTES.sub(r"IN (SELECT unhex(value) FROM json_each(:\1))", sql)
    return _CAST.sub("", sql)
