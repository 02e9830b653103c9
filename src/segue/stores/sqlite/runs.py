"""Runs on SQLite, in the file of the journal."""

from __future__ import annotations

from ..._failpoints import trip
from ..sql_runs import SqlRuns


class SqliteRuns(SqlRuns):
    """Runs in a file."""

    def before_commit(self) -> None:
        trip("store.runs.before_commit")

    def after_commit(self) -> None:
        trip("store.runs.after_commit")
