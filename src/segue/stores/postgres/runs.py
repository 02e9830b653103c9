"""Runs on Postgres, in the namespace of the journal."""

from __future__ import annotations

from ..._failpoints import trip
from ..sql_runs import SqlRuns


class PostgresRuns(SqlRuns):
    """Runs in a namespace."""

    def before_commit(self) -> None:
        trip("postgres.runs.before_commit")

    def after_commit(self) -> None:
        trip("postgres.runs.after_commit")
