"""The store for teams: journal, runs, memories and a server's own tables, in a namespace."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from ..._failpoints import trip
from .address import Address
from .database import BUSY_TIMEOUT_MS, Database
from .journal import PostgresJournal

if TYPE_CHECKING:
    from psycopg import Connection

    from ..memory_changes import MemoryChange
    from ..sql_runs import SqlRuns
    from ..sql_server_tables import SqlServerTables
    from .memories import PostgresMemories


class PostgresStore(PostgresJournal):
    """A store in a namespace of a Postgres database."""

    def __init__(self, where: Address | str | Database, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> None:
        if not isinstance(where, Database):
            address = Address(where) if isinstance(where, str) else where
            where = Database(address, busy_timeout_ms=busy_timeout_ms)
        super().__init__(where)
        self.machine = ""
        """Set by whoever shares the store with other machines: part of the names of streams of its own."""

    def beside(self, namespace: str) -> Self:
        """The store of another namespace of this database; both share their connections."""
        store = type(self)(self.database.beside(namespace))
        store.machine = self.machine
        return store

    @cached_property
    def runs(self) -> SqlRuns:
        """What was observed of runs."""
        from ..sql_runs import SqlRuns
        from .sql import PostgresSql

        return SqlRuns(
            PostgresSql(self.database),
            lambda: trip("postgres.runs.before_commit"),
            lambda: trip("postgres.runs.after_commit"),
        )

    @cached_property
    def memories(self) -> PostgresMemories:
        """What was learnt."""
        from .memories import PostgresMemories

        return PostgresMemories(self.database)

    @cached_property
    def server_tables(self) -> SqlServerTables:
        """What a server keeps for itself."""
        from ..sql_server_tables import SqlServerTables
        from .sql import PostgresSql

        return SqlServerTables(PostgresSql(self.database))

    def _learn(self, db: Connection[Any], change: MemoryChange, attempt: UUID) -> None:
        self.memories.apply(db, change, attempt)
