"""The port of runs in SQL: rows replaced whole. Nothing here is the truth: a recovery builds a store without
runs, and the next sync brings them back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import asdict

from .base import RunRow
from .sql import SqlDatabase, Statements

_COLUMNS = "key, agent, native, project, session, path, cwd, last, facts"
_PUT = f"""
    INSERT INTO segue.runs AS r (namespace, {_COLUMNS}, reading) VALUES (:namespace, :key, :agent, :native,
        :project, :session, :path, :cwd, :last, :facts, coalesce(:reading::bytea, :unread))
    ON CONFLICT (namespace, key) DO UPDATE SET agent = excluded.agent, native = excluded.native,
        project = excluded.project, session = excluded.session, path = excluded.path, cwd = excluded.cwd,
        last = excluded.last, facts = excluded.facts, reading = coalesce(:reading::bytea, r.reading)
"""


class SqlRuns:
    """Runs in the database of a journal."""

    def __init__(
        self, sql: SqlDatabase, before_commit: Callable[[], None], after_commit: Callable[[], None]
    ) -> None:
        """Before and after the commit of a put the failpoints of the store are passed."""
        self._sql = sql
        self._before_commit = before_commit
        self._after_commit = after_commit

    def put(self, rows: Sequence[RunRow]) -> None:
        ordered = sorted(rows, key=lambda row: row.key)  # two that put the same wait, and do not lock up

        def work(db: Statements) -> None:
            db.many(_PUT, [{**asdict(row), "unread": b""} for row in ordered])
            self._before_commit()

        self._sql.repeatable(work)
        self._after_commit()

    def get(self, key: str) -> RunRow | None:
        sql = f"SELECT {_COLUMNS}, reading FROM segue.runs WHERE namespace = :namespace AND key = :key"
        found = self._sql.rows(sql, key=key)
        return RunRow(*found[0]) if found else None

    def rows(self, *, projects: Iterable[str] = (), session: str = "") -> list[RunRow]:
        wanted = list(projects)
        sql = f"SELECT {_COLUMNS} FROM segue.runs WHERE namespace = :namespace"
        sql += " AND project = ANY(:projects)" if wanted else ""
        sql += " AND session = :session" if session else ""
        found = self._sql.rows(f"{sql} ORDER BY last DESC, key", projects=wanted, session=session)
        return [RunRow(*row) for row in found]

    def known(self) -> dict[str, str]:
        return dict(self._sql.rows("SELECT path, cwd FROM segue.runs WHERE namespace = :namespace"))

    def drop(self, keys: Iterable[str]) -> None:
        wanted = sorted(set(keys))
        sql = "DELETE FROM segue.runs WHERE namespace = :namespace AND key = ANY(:keys)"
        self._sql.repeatable(lambda db: db.change(sql, keys=wanted))
