"""Care of a Postgres store: what the doctor wants to know, rewriting tables, taking in what others wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from ..._failpoints import trip
from ...core.base.values import Value
from ...core.journal.event import Event
from ...core.journal.pieces import address as address_of
from ...errors import AccessError, StaleVersion
from .connection import driver
from .database import Database, changed, many, patient, rows
from .journal import INSERT, PostgresStore, put_pieces
from .schema import WORDS_INDEXED, Db

TABLES = (
    "events", "pieces", "snapshots", "runs", "project_facts", "memories", "memory_words", "memory_vectors",
    "memory_votes", "memory_trail",
)  # fmt: skip


class Facts(Value):
    """A server and a database, as they say of themselves."""

    version: str
    schema: int
    pgvector: str
    """Its version; empty where the database does not have it."""
    pgvector_available: bool
    durable: str
    """What could cost acknowledged writes in a power cut; empty if nothing."""
    standby: bool
    size_bytes: int
    connections: int
    connections_max: int
    driver: str
    role: str
    owns: bool
    """Whether our role owns the tables."""
    words_indexed: bool
    """Whether the index for searching is whole."""


_OWNS = """
    SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('segue.events')
"""
_FACTS = f"""
    SELECT current_setting('server_version'),
        coalesce((SELECT extversion FROM pg_extension WHERE extname = 'vector'), ''),
        EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector'),
        current_setting('fsync'), current_setting('full_page_writes'), pg_is_in_recovery(),
        coalesce((SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = 'segue' AND c.relkind = 'r'), 0)::bigint,
        (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
        current_setting('max_connections')::integer, current_user::text,
        coalesce((SELECT pg_has_role(relowner, 'USAGE') FROM pg_class
            WHERE oid = to_regclass('segue.events')), true),
        {WORDS_INDEXED}
"""


def facts(database: Database) -> Facts:
    """Look at a server; raises as every read does."""
    [(version, vector, available, fsync, pages, standby, size, used, most, role, owns, indexed)] = (
        database.fetch(_FACTS)
    )
    settings = {"fsync": fsync, "full_page_writes": pages}
    off = ", ".join(f"{name} is off" for name, value in settings.items() if value == "off")
    schema = database.ready.schema if database.ready else 0
    own = f"psycopg {driver().__version__}"
    return Facts(version, schema, vector, available, off, standby, size, used, most, own, role, owns, indexed)


class TableState(Value):
    """A table, as the statistics of the server tell it."""

    name: str
    live: int
    dead: int
    """Rows that are no more, and whose room is not free yet."""
    rows_bytes: int
    index_bytes: int
    vacuumed: str
    """When it was last vacuumed; empty if never."""
    vacuum_at: int
    """From how many dead rows on the server's own vacuum should come by."""
    autovacuum: bool
    """Whether it may."""
    transactions: int
    """How old its oldest row is; at two thousand million the server stops."""

    @property
    def size_bytes(self) -> int:
        """With its indexes."""
        return self.rows_bytes + self.index_bytes


class VacuumState(Value):
    """What keeps the server from cleaning up behind updates and deletions."""

    autovacuum: bool
    """Whether it is on at all."""
    oldest_seconds: float
    """For how long the oldest transaction is open, of whomever: rows that it might see are kept."""
    oldest: str
    """Whose that is: process, user and program."""
    slot: str
    """A replication slot or a prepared transaction that keeps rows, if there is one."""
    tables: list[TableState]
    """Those with the most dead rows first."""


_TABLES = """
    SELECT s.relname::text, s.n_live_tup, s.n_dead_tup, pg_table_size(s.relid), pg_indexes_size(s.relid),
        coalesce(to_char(greatest(s.last_vacuum, s.last_autovacuum) AT TIME ZONE 'UTC',
            'YYYY-MM-DD"T"HH24:MI:SS"Z"'), ''),
        (coalesce(o.options ->> 'autovacuum_vacuum_threshold',
                current_setting('autovacuum_vacuum_threshold'))::float8
            + coalesce(o.options ->> 'autovacuum_vacuum_scale_factor',
                current_setting('autovacuum_vacuum_scale_factor'))::float8 * s.n_live_tup)::bigint,
        coalesce(o.options ->> 'autovacuum_enabled', 'on') NOT IN ('off', 'false'),
        age(c.relfrozenxid)
    FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid CROSS JOIN LATERAL (
        SELECT coalesce(json_object_agg(option_name, option_value), '{}') AS options
        FROM pg_options_to_table(c.reloptions)) o
    WHERE s.schemaname = 'segue' ORDER BY s.n_dead_tup DESC, s.relname
"""
_VACUUM = """
    SELECT current_setting('autovacuum') = 'on' AND current_setting('track_counts') = 'on',
        coalesce(extract(epoch FROM clock_timestamp() - t.xact_start)::float8, 0),
        coalesce(concat_ws(', ', 'process ' || t.pid, t.usename, nullif(t.application_name, '')), ''),
        coalesce((SELECT 'replication slot ' || slot_name FROM pg_replication_slots
            WHERE NOT active AND (xmin IS NOT NULL OR catalog_xmin IS NOT NULL) LIMIT 1),
            (SELECT 'prepared transaction ' || gid FROM pg_prepared_xacts ORDER BY prepared LIMIT 1), '')
    FROM (SELECT 1) one LEFT JOIN (SELECT pid, usename, application_name, xact_start FROM pg_stat_activity
        WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'
        ORDER BY xact_start LIMIT 1) t ON true
"""


def vacuum_state(database: Database) -> VacuumState:
    """What the server's statistics and activity tell of its cleaning up."""
    [(autovacuum, seconds, whose, slot)] = database.fetch(_VACUUM)
    tables = [TableState(*row) for row in database.fetch(_TABLES)]
    return VacuumState(autovacuum, seconds, whose, slot, tables)


def owns_tables(db: Db) -> bool:
    """Whether our role owns the tables."""
    return bool(rows(db, _OWNS)[0][0])


_MAY_CHANGE = """
    SELECT current_user::text, CASE WHEN to_regclass('segue.events') IS NOT NULL
            THEN (SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('segue.events'))
        WHEN to_regnamespace('segue') IS NOT NULL THEN has_schema_privilege('segue', 'CREATE')
        ELSE has_database_privilege(current_database(), 'CREATE') END
"""


def owner_role(database: Database) -> str:
    """Our role, if it owns the tables or would on making them; else empty. Makes and changes nothing."""
    [(role, owns)] = database.fetch_as_is(_MAY_CHANGE)
    return str(role) if owns else ""


def compact(database: Database) -> None:
    """Rewrite the tables: what was deleted is in their files no more. Nobody writes meanwhile."""

    def work(db: Db, _: UUID) -> bool:
        if not owns_tables(db):
            hint = "run it with the address of the role that owns them"
            raise AccessError("only the owner of the tables can rewrite them", hint=hint)
        with patient(db):
            for table in TABLES:
                db.execute(f"VACUUM (FULL, ANALYZE) segue.{table}")
        return True

    database.writing(work, lambda *_: None)


def copy_in(journal: PostgresStore, stream: str, after: int, events: Sequence[Event]) -> None:
    """Put events of another store behind a version, as they are, hashes and all; durable when it returns.
    The caller has proven that they follow each other. StaleVersion if the stream is not there any more."""

    def work(db: Db, attempt: UUID) -> bool:
        namespace = journal.namespace
        if not after:
            sql = "INSERT INTO segue.streams VALUES (%s, %s, 0, %s) ON CONFLICT DO NOTHING"
            changed(db, sql, (namespace, stream, events[0].prev))
        sql = (
            "UPDATE segue.streams SET version = %s, hash = %s"
            " WHERE namespace = %s AND name = %s AND version = %s AND hash = %s"
        )
        last = events[-1]
        moved = changed(db, sql, (last.version, last.hash, namespace, stream, after, events[0].prev))
        if not moved:
            raise StaleVersion(stream, after, journal.head_in(db, stream).version)
        own = (namespace, stream)
        many(db, INSERT, [(*own, e.version, e.header(), e.body, e.hash, attempt, e.erased) for e in events])
        trip("postgres.copy.before_commit")
        return True

    def done(db: Db, attempt: UUID) -> bool | None:
        return journal.is_there(db, events[0], attempt) or None

    journal.database.transaction(work, done)
    trip("postgres.copy.after_commit")


def copy_pieces(journal: PostgresStore, pieces: Mapping[str, bytes]) -> None:
    """Put pieces of another store in; one that a scrub rewrote stays what it is."""
    found = [
        (journal.namespace, bytes.fromhex(address), address_of(body) != address, body)
        for address, body in pieces.items()
    ]

    def work(db: Db, _: UUID) -> bool:
        put_pieces(db, found)
        return True

    journal.database.transaction(work, lambda *_: None)
