"""Every store passes the suite that we ship."""

from __future__ import annotations

from pathlib import Path

from segue.stores.base import Journal, Runs
from segue.stores.memory.journal import VolatileJournal
from segue.stores.sqlite import SqliteJournal
from segue.testing import JournalSuite, RunsSuite


class TestVolatile(JournalSuite):
    def make(self, tmp_path: Path) -> Journal:
        return VolatileJournal()


class TestSqlite(JournalSuite):
    durable = True

    def make(self, tmp_path: Path) -> Journal:
        return SqliteJournal(tmp_path / "segue.db")


class TestVolatileRuns(RunsSuite):
    def make(self, tmp_path: Path) -> Runs:
        return VolatileJournal().runs


class TestSqliteRuns(RunsSuite):
    durable = True

    def make(self, tmp_path: Path) -> Runs:
        return SqliteJournal(tmp_path / "segue.db").runs
