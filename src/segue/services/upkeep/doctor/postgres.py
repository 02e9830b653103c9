"""The doctor's look at a store that is a server: does it answer, is it durable, is it whole."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ....settings import Settings
from ....stores.postgres import PostgresStore
from ....stores.postgres.upkeep import TableState, VacuumState, facts, vacuum_state
from ...workspace.data_folder import DataFolder
from .finding import Diagnosis, behind_copies, every_event_read, of_server

CONNECTIONS_SHARE_MAX = 0.9
DEAD_SHARE_MAX, DEAD_ROWS_MIN = 0.5, 50_000
"""A table with a larger share of dead rows, and at least so many, is not vacuumed as it should be."""
TRANSACTIONS_MAX = 1_000_000_000
OPEN_SECONDS_MAX = 900.0
"""A transaction that is open for longer keeps the server from cleaning up."""
INDEX_SHARE_MAX, INDEX_BYTES_MIN = 3.0, 100 << 20
"""Indexes that are so many times as large as the rows, and at least so large, have grown hollow."""


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
    if not found.words_indexed:
        detail = "the index of words is not finished: searching takes longer"
        hint = "run `segue schema --upgrade` as the role that owns the tables"
        yield Diagnosis("search", "warn", detail, hint)
    if found.connections > CONNECTIONS_SHARE_MAX * found.connections_max:
        detail = f"{found.connections} of {found.connections_max} are in use"
        yield Diagnosis("connections", "warn", detail, "allow more there, or fewer for each with ?pool=N")
    yield vacuum(vacuum_state(journal.database))
    yield behind_copies(home, journal)
    detail = "are made on the server (pg_basebackup or pg_dump); `segue migrate` makes a copy"
    yield Diagnosis("backups", "ok", detail)
    more = f"{found.size_bytes / 1e6:.1f} MB with all namespaces"
    yield every_event_read(journal, more, "restore the database from its backup")


def vacuum(found: VacuumState) -> Diagnosis:
    """Whether the server cleans up behind updates and deletions, and what is largest."""
    tables = found.tables
    old = max(tables, key=lambda table: table.transactions, default=None)
    if old is not None and old.transactions > TRANSACTIONS_MAX:
        detail = f"{old.name} has not been frozen for {old.transactions:,} transactions"
        hint = f"VACUUM (FREEZE) segue.{old.name}; at two thousand million the server stops"
        return Diagnosis("vacuum", "bad", detail, hint)
    bloated = [table for table in tables if table.dead > max(DEAD_ROWS_MIN, DEAD_SHARE_MAX * table.live)]
    dead = (
        f"{bloated[0].name} has {bloated[0].dead:,} dead rows beside {bloated[0].live:,}" if bloated else ""
    )
    if not found.autovacuum:
        detail = "; ".join(filter(None, ("autovacuum is off", dead)))
        hint = "set autovacuum and track_counts to on, then VACUUM (ANALYZE) once"
        return Diagnosis("vacuum", "warn", detail, hint)
    off = [table.name for table in tables if not table.autovacuum]
    if off:
        hint = f"ALTER TABLE segue.{off[0]} RESET (autovacuum_enabled)"
        return Diagnosis("vacuum", "warn", f"autovacuum is off for {', '.join(off)}", hint)
    if found.slot:
        told = "; ".join(filter(None, (f"{found.slot} keeps dead rows from being cleaned up", dead)))
        hint = "who needs it? what nobody needs is to be dropped"
        return Diagnosis("vacuum", "warn", told, hint)
    if found.oldest_seconds > OPEN_SECONDS_MAX:
        detail = f"a transaction is open for {found.oldest_seconds / 60:,.0f} minutes ({found.oldest})"
        hint = "end it: until then no dead row is cleaned up that it might see"
        return Diagnosis("vacuum", "warn", "; ".join(filter(None, (detail, dead))), hint)
    if bloated:
        behind = bloated[0]
        when = f"last vacuumed at {behind.vacuumed}" if behind.vacuumed else "never vacuumed"
        detail = f"{dead}, {when}; the server should have come by at {behind.vacuum_at:,}"
        hint = f"VACUUM (ANALYZE) segue.{behind.name}; then give autovacuum a higher cost limit"
        return Diagnosis("vacuum", "warn", detail, hint)
    return _sizes(tables)


def _sizes(tables: list[TableState]) -> Diagnosis:
    if not tables:
        return Diagnosis("vacuum", "ok", "no statistics yet")
    heavy = [
        table
        for table in tables
        if table.index_bytes > max(INDEX_BYTES_MIN, INDEX_SHARE_MAX * table.rows_bytes)
    ]
    if heavy:
        first = max(heavy, key=lambda table: table.index_bytes)
        detail = (
            f"indexes of {first.name} take {first.index_bytes / 1e6:,.1f} MB,"
            f" its rows {first.rows_bytes / 1e6:,.1f} MB"
        )
        hint = f"REINDEX TABLE CONCURRENTLY segue.{first.name}"
        return Diagnosis("vacuum", "warn", detail, hint)
    largest = max(tables, key=lambda table: table.size_bytes)
    size, indexes = largest.size_bytes / 1e6, largest.index_bytes / 1e6
    detail = f"no table has many dead rows; the largest is {largest.name}, {size:,.1f} MB"
    return Diagnosis("vacuum", "ok", f"{detail}, {indexes:,.1f} MB of it indexes")
