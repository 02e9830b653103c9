"""The doctor's look at a store that is a server: does it answer, is it durable, is it whole."""

from __future__ import annotations

from collections.abc import Iterator

from ....errors import SegueError
from ....settings import Settings
from ....stores.base import Journal
from ....stores.postgres import PostgresStore
from ....stores.postgres.upkeep import Facts, facts
from ...workspace.data_folder import DataFolder
from .finding import Diagnosis, further, proven

CONNECTIONS_SHARE_MAX = 0.9


def look(home: DataFolder, settings: Settings) -> Iterator[Diagnosis]:
    """Everything worth a look; changes nothing but what opening a store changes."""
    where = settings.text("store")
    try:
        journal = PostgresStore(where, busy_timeout_ms=int(settings.number("busy_timeout_ms")))
    except SegueError as fault:
        yield Diagnosis("server", "bad", fault.message, further(fault.hint))
        return
    try:
        found = facts(journal.database)
        yield from _server(home, journal, found)
        yield _whole(journal, found)
    except SegueError as fault:
        yield Diagnosis("server", "bad", fault.message, further(fault.hint))
    finally:
        journal.close()


def _server(home: DataFolder, journal: PostgresStore, found: Facts) -> Iterator[Diagnosis]:
    detail = f"{home.shared_store}: Postgres {found.version}, {found.driver}, schema {found.schema}"
    if found.standby:
        yield Diagnosis(
            "server", "warn", f"{detail}; a standby: it can only be read", "name the primary, too"
        )
    else:
        yield Diagnosis("server", "ok", f"{detail}, namespace {journal.namespace}")
    if found.durable:
        hint = "set it on again: a power cut there can lose what was acknowledged"
        yield Diagnosis("durability", "bad", found.durable, hint)
    else:
        yield Diagnosis("durability", "ok", "a commit that is acknowledged is on the server's disk")
    if journal.database.vector:
        yield Diagnosis("vectors", "ok", f"pgvector {found.pgvector} finds the nearest")
    elif found.pgvector_available:
        hint = "let a superuser run CREATE EXTENSION vector in this database"
        yield Diagnosis(
            "vectors", "ok", "without pgvector: this role may not create it; search is exact", hint
        )
    else:
        yield Diagnosis("vectors", "ok", "without pgvector: search is exact, in this process")
    if found.connections > CONNECTIONS_SHARE_MAX * found.connections_max:
        detail = f"{found.connections} of {found.connections_max} are in use"
        yield Diagnosis("connections", "warn", detail, "allow more there, or fewer for each with ?pool=N")
    yield Diagnosis(
        "backups", "ok", "are the server's: pg_basebackup or pg_dump; `segue migrate` makes a copy"
    )


def _whole(journal: Journal, found: Facts) -> Diagnosis:
    try:
        for stream, _ in journal.streams():
            journal.read(stream)
        return proven(journal, f"{found.size_bytes / 1e6:.1f} MB with all namespaces")
    except SegueError as fault:
        return Diagnosis("store", "bad", fault.message, "restore the database from its backup")
