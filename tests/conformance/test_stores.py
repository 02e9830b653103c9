"""Every store passes the suite that we ship."""

from __future__ import annotations

from pathlib import Path

from segue.stores.base import Journal, ProjectFacts, Runs
from segue.stores.memory.store import VolatileStore
from segue.stores.sqlite import SqliteStore
from segue.testing import JournalSuite, ProjectFactsSuite, RunsSuite


class TestVolatile(JournalSuite):
    def make(self, tmp_path: Path) -> Journal:
        return VolatileStore()


class TestSqlite(JournalSuite):
    durable = True

    def make(self, tmp_path: Path) -> Journal:
        return SqliteStore(tmp_path / "segue.db")


class TestVolatileRuns(RunsSuite):
    def make(self, tmp_path: Path) -> Runs:
        return VolatileStore().runs


class TestSqliteRuns(RunsSuite):
    durable = True

    def make(self, tmp_path: Path) -> Runs:
        return SqliteStore(tmp_path / "segue.db").runs


class TestVolatileProjectFacts(ProjectFactsSuite):
    def make(self, tmp_path: Path) -> ProjectFacts:
        return VolatileStore().project_facts


class TestSqliteProjectFacts(ProjectFactsSuite):
    durable = True

    def make(self, tmp_path: Path) -> ProjectFacts:
        return SqliteStore(tmp_path / "segue.db").project_facts
