"""The port of what is counted of projects in SQL: rows replaced whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import asdict

from .base import ProjectFact
from .sql import SqlDatabase, Statements

_COLUMNS = "project, kind, key, at, body"
_PUT = f"""
    INSERT INTO segue.project_facts (namespace, {_COLUMNS})
    VALUES (:namespace, :project, :kind, :key, :at, :body)
    ON CONFLICT (namespace, project, kind, key) DO UPDATE SET at = excluded.at, body = excluded.body
"""
_DROP = """
    DELETE FROM segue.project_facts WHERE namespace = :namespace AND project = :project AND kind = :kind
        AND key = ANY(:keys)
"""


class SqlProjectFacts:
    """What is counted of projects, in the database of a journal."""

    def __init__(
        self, sql: SqlDatabase, before_commit: Callable[[], None], after_commit: Callable[[], None]
    ) -> None:
        """Before and after the commit of a put the failpoints of the store are passed."""
        self._sql = sql
        self._before_commit = before_commit
        self._after_commit = after_commit

    def put(self, facts: Sequence[ProjectFact]) -> None:
        ordered = sorted(facts, key=lambda fact: (fact.project, fact.kind, fact.key))

        def work(db: Statements) -> None:
            db.many(_PUT, [asdict(fact) for fact in ordered])
            self._before_commit()

        self._sql.repeatable(work)
        self._after_commit()

    def get(self, project: str, kind: str, key: str = "") -> ProjectFact | None:
        sql = (
            f"SELECT {_COLUMNS} FROM segue.project_facts WHERE namespace = :namespace"
            " AND project = :project AND kind = :kind AND key = :key"
        )
        found = self._sql.rows(sql, project=project, kind=kind, key=key)
        return ProjectFact(*found[0]) if found else None

    def rows(
        self, kind: str, *, project: str = "", since: float = 0.0, limit: int = 0, bodies: bool = True
    ) -> list[ProjectFact]:
        columns = _COLUMNS if bodies else "project, kind, key, at"
        sql = f"SELECT {columns} FROM segue.project_facts WHERE namespace = :namespace AND kind = :kind"
        sql += " AND project = :project" if project else ""
        sql += " AND at >= :since ORDER BY at DESC, key" + (" LIMIT :limit" if limit else "")
        found = self._sql.rows(sql, kind=kind, project=project, since=since, limit=limit)
        return [ProjectFact(*row) for row in found]

    def drop(self, project: str, kind: str, keys: Iterable[str]) -> None:
        wanted = sorted(set(keys))
        self._sql.repeatable(lambda db: db.change(_DROP, project=project, kind=kind, keys=wanted))
