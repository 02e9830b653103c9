"""The embedded store: journal, runs, memories and a server's own tables, in one file."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from ..._failpoints import trip
from .database import BUSY_TIMEOUT_MS, Database
from .journal import SqliteJournal

if TYPE_CHECKING:  # most commands need the journal alone
    from ..memory_changes import MemoryChange
    from ..sql_runs import SqlRuns
    from ..sql_server_tables import SqlServerTables
    from .memories import SqliteMemories


class SqliteStore(SqliteJournal):
    """A store in one SQLite file."""

    def __init__(
        self, path: Path | str, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS, vfs: str | None = None,
        lock: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(Database(Path(path), busy_timeout_ms=busy_timeout_ms, vfs=vfs, lock=lock))
        self.machine = ""

    @cached_property
    def runs(self) -> SqlRuns:
        """What was observed of runs."""
        from ..sql_runs import SqlRuns
        from .sql import SqliteSql

        return SqlRuns(
            SqliteSql(self.database),
            lambda: trip("store.runs.before_commit"),
            lambda: trip("store.runs.after_commit"),
        )

    @cached_property
    def memories(self) -> SqliteMemories:
        """What was learnt."""
        from .memories import SqliteMemories

        return SqliteMemories(self.database)

    @cached_property
    def server_tables(self) -> SqlServerTables:
        """What a server keeps for itself."""
        from ..sql_server_tables import SqlServerTables
        from .sql import SqliteSql

        return SqlServerTables(SqliteSql(self.database))

    def _learn(self, db: apsw.Cursor, change: MemoryChange) -> None:
        self.memories.apply(db, change)
