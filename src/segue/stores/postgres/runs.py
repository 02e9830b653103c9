"""The port of runs on Postgres: rows in the namespace of the journal, replaced whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ..._failpoints import trip
from ..base import RunRow
from .database import Database, changed, many, plain

if TYPE_CHECKING:
    from psycopg import Connection

_COLUMNS = "key, agent, native, project, session, path, cwd, last, facts"
_PUT = f"""
    INSERT INTO segue.runs AS r (namespace, {_COLUMNS}, reading)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, coalesce(%s::bytea, ''))
    ON CONFLICT (namespace, key) DO UPDATE SET agent = excluded.agent, native = excluded.native,
        project = excluded.project, session = excluded.session, path = excluded.path, cwd = excluded.cwd,
        last = excluded.last, facts = excluded.facts, reading = coalesce(%s::bytea, r.reading)
"""


class PostgresRuns:
    """Runs in a namespace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, rows: Sequence[RunRow]) -> None:
        values = [
            (
                self._database.namespace,
                *(_storable(getattr(row, n)) for n in RunRow.__struct_fields__),
                row.reading,
            )
            for row in sorted(rows, key=lambda row: row.key)  # two that put the same wait, and do not lock up
        ]

        def work(db: Connection[Any], _: UUID) -> bool:
            many(db, _PUT, values)
            trip("postgres.runs.before_commit")
            return True

        self._database.transaction(work, lambda *_: None)  # the same rows once more are the same rows
        trip("postgres.runs.after_commit")

    def get(self, key: str) -> RunRow | None:
        sql = f"SELECT {_COLUMNS}, reading FROM segue.runs WHERE namespace = %s AND key = %s"
        found = self._database.fetch(sql, (self._database.namespace, plain(key)))
        return RunRow(*found[0]) if found else None

    def rows(self, *, projects: Iterable[str] = (), session: str = "") -> list[RunRow]:
        clauses, values = ["namespace = %s"], [self._database.namespace]
        wanted: list[Any] = [plain(project) for project in projects]
        if wanted:
            clauses.append("project = ANY(%s)")
            values.append(wanted)  # type: ignore[arg-type]
        if session:
            clauses.append("session = %s")
            values.append(plain(session))
        sql = f"SELECT {_COLUMNS} FROM segue.runs WHERE {' AND '.join(clauses)} ORDER BY last DESC, key"
        return [RunRow(*row) for row in self._database.fetch(sql, tuple(values))]

    def known(self) -> dict[str, str]:
        sql = "SELECT path, cwd FROM segue.runs WHERE namespace = %s"
        return dict(self._database.fetch(sql, (self._database.namespace,)))

    def drop(self, keys: Iterable[str]) -> None:
        wanted = sorted({plain(key) for key in keys})
        sql = "DELETE FROM segue.runs WHERE namespace = %s AND key = ANY(%s)"
        values = (self._database.namespace, wanted)
        self._database.writing(lambda db, _: changed(db, sql, values), lambda *_: None)


def _storable(value: object) -> object:
    return plain(value) if isinstance(value, str) else value
