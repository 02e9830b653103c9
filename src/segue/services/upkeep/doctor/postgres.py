"""The doctor's look at a store that is a server: does it answer, is it durable, is it whole."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ....settings import Settings
from ....stores.postgres import PostgresStore
from ....stores.postgres.upkeep import TableState, facts, tables
from ...workspace.data_folder import DataFolder
from .finding import Diagnosis, behind_copies, every_event_read, of_server

CONNECTIONS_SHARE_MAX = 0.9
DEAD_SHARE_MAX, DEAD_ROWS_MIN = 0.5, 50_000
"""A table with a larger share of dead rows, and at least so many, is not vacuumed as it should be."""
TRANSACTIONS_MAX = 1_000_000_000


def look(home: DataFolder, settings: Settings) -> Iterator[Diagnosis]:
    """Everything worth a look; changes nothing but what opening a store changes."""
    where, timeout_ms = settings.text("store"), int(settings.number("busy_timeout_ms"))
    store = partial(PostgresStore, where, busy_timeout_ms=timeout_ms)
    return of_server(store, lambda journal: _server(home, journal))


def _server(home: DataFolder, journal: PostgresStore) -> Iterator[Diagnosis]:
    found = facts(journal.database)
    detail = f"{home.shared_store}: Postgres {found.version}, {found.driver}, schema {found.schema}"
    if found.standby:
        detail += "; a standby, which is read-only"
        yield Diagnosis("server", "warn", detail, "name the primary as well")
    else:
        yield Diagnosis("server", "ok", f"{detail}, namespace {journal.namespace}")
    if found.durable:
        hint = "switch it on again: a power cut there can lose acknowledged writes"
        yield Diagnosis("durability", "bad", found.durable, hint)
    else:
        yield Diagnosis("durability", "ok", "an acknowledged commit is on the server's disk")
    if found.owns:
        detail = f"{found.role} owns the tables and may change or drop them"
        hint = "fine for one person; servers should use another role: `segue schema --roles DATABASE`"
        yield Diagnosis("role", "ok", detail, hint)
    else:
        yield Diagnosis("role", "ok", f"{found.role} can write, but not change tables")
    if journal.database.vector:
        yield Diagnosis("vectors", "ok", f"pgvector {found.pgvector} finds the nearest")
    elif found.pgvector_available:
        detail = "without pgvector: this role may not create it; search is exact"
        hint = "let a superuser run CREATE EXTENSION vector in this database"
        yield Diagnosis("vectors", "ok", detail, hint)
    else:
        yield Diagnosis("vectors", "ok", "without pgvector: search is exact, in this process")
    if found.connections > CONNECTIONS_SHARE_MAX * found.connections_max:
        detail = f"{found.connections} of {found.connections_max} are in use"
        yield Diagnosis("connections", "warn", detail, "allow more there, or fewer per process with ?pool=N")
    yield _vacuum(tables(journal.database))
    yield behind_copies(home, journal)
    detail = "are made on the server (pg_basebackup or pg_dump); `segue migrate` makes a copy"
    yield Diagnosis("backups", "ok", detail)
    more = f"{found.size_bytes / 1e6:.1f} MB with all namespaces"
    yield every_event_read(journal, more, "restore the database from its backup")


def _vacuum(found: list[TableState]) -> Diagnosis:
    """Whether the server cleans up behind updates and deletions, and what is largest."""
    for table in found:
        if table.transactions > TRANSACTIONS_MAX:
            detail = f"{table.name} has not been frozen for {table.transactions:,} transactions"
            return Diagnosis(
                "vacuum", "bad", detail, "ask a superuser to find out why autovacuum does not run"
            )
        if table.dead > max(DEAD_ROWS_MIN, DEAD_SHARE_MAX * table.live):
            detail = f"{table.name} has {table.dead:,} dead rows for {table.live:,} live ones"
            hint = "check that autovacuum is on and no transaction stays open: pg_stat_activity"
            return Diagnosis("vacuum", "warn", detail, hint)
    if not found:
        return Diagnosis("vacuum", "ok", "no statistics yet")
    largest = max(found, key=lambda table: table.size_bytes)
    detail = f"no table has many dead rows; the largest is {largest.name}, {largest.size_bytes / 1e6:.1f} MB"
    return Diagnosis("vacuum", "ok", detail)
