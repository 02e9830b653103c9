"""The tables, as numbered migrations that are never edited once released; made under one lock.

Every table has the namespace first in its key, and no key or number spans two of them: the database can be
distributed (Citus) or partitioned by it. Migrations only add, so the Segue of one minor version ago can still
read; ``meta`` says from which schema on. Servers that start at once wait for each other at an advisory lock,
and whoever comes second finds the work done.

With pgvector there is a column more (``embedding``). It is added, and filled, whenever a Segue finds that the
database has the extension by now; without it all else works.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from ...core.base.values import Value
from ...errors import AccessError, StoreUnavailable
from ..proofs import too_new

if TYPE_CHECKING:
    from psycopg import Connection

    Db = Connection[Any]
else:  # the driver is loaded when a store is used, not before
    Db = Any

LOCK = 0x5345475545
"""``SEGUE``: the advisory lock of migrations."""
_NAME = 'text COLLATE "C" NOT NULL'
HELD = "segue.words_of(namespace, words)"
"""The words of a text, each behind a mark of its namespace: to an index a word of one project is another than
that of the next. It is made of what is there: a Segue of before writes nothing that is not found."""
HELD_MARK = 6
"""So many hexadecimal digits mark a namespace. Two may share a mark: that costs time, and mixes nothing."""
_WORDS_OF = f"""
    CREATE OR REPLACE FUNCTION segue.words_of(namespace text, words tsvector) RETURNS tsvector
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
        SELECT array_to_tsvector(ARRAY(SELECT
            left(encode(sha256(convert_to(namespace, 'UTF8')), 'hex'), {HELD_MARK}) || lexeme
        FROM unnest(words)))
    $$;
    GRANT EXECUTE ON FUNCTION segue.words_of(text, tsvector) TO PUBLIC;
"""
WORDS_SINCE = 7
"""The schema that has the function."""
_WORDS_INDEX = "search_texts_by_word"
WORDS_INDEXED = f"""
    EXISTS (SELECT 1 FROM pg_index WHERE indexrelid = to_regclass('segue.{_WORDS_INDEX}') AND indisvalid)
"""
_WORDS_INDEX_BEFORE = ("search_texts_held", "search_texts_held_by_project")
_INDEXED_AT_ONCE_BYTES_MAX = 64 << 20
"""An index over more texts takes long: it is left to whoever upgrades the tables on purpose."""

MIGRATIONS: tuple[str, ...] = (
    f"""
    CREATE TABLE segue.namespaces (namespace {_NAME} PRIMARY KEY, stamp bigint NOT NULL DEFAULT 1);
    CREATE TABLE segue.streams (
        namespace {_NAME}, name {_NAME}, version bigint NOT NULL, hash bytea NOT NULL,
        PRIMARY KEY (namespace, name)
    ) WITH (fillfactor = 80);
    CREATE TABLE segue.events (
        namespace {_NAME}, stream {_NAME}, version bigint NOT NULL, header bytea NOT NULL,
        body bytea NOT NULL, hash bytea NOT NULL, attempt uuid NOT NULL, erased boolean NOT NULL,
        PRIMARY KEY (namespace, stream, version)
    );
    CREATE TABLE segue.attempts (
        namespace {_NAME}, attempt uuid NOT NULL, at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (namespace, attempt)
    );
    CREATE TABLE segue.pieces (
        namespace {_NAME}, address bytea NOT NULL, erased boolean NOT NULL, body bytea NOT NULL,
        PRIMARY KEY (namespace, address)
    );
    CREATE TABLE segue.snapshots (
        namespace {_NAME}, stream {_NAME}, version bigint NOT NULL, fold integer NOT NULL,
        state bytea NOT NULL, card bytea NOT NULL, PRIMARY KEY (namespace, stream)
    );
    CREATE TABLE segue.runs (
        namespace {_NAME}, key {_NAME}, agent {_NAME}, native {_NAME}, project {_NAME}, session {_NAME},
        path {_NAME}, cwd {_NAME}, last double precision NOT NULL, facts bytea NOT NULL,
        reading bytea NOT NULL, PRIMARY KEY (namespace, key)
    );
    CREATE INDEX runs_by_project ON segue.runs (namespace, project, last);
    CREATE INDEX runs_by_session ON segue.runs (namespace, session);
    CREATE TABLE segue.audiences (
        namespace {_NAME}, no bigint NOT NULL, key bytea NOT NULL, live bigint NOT NULL,
        words bigint NOT NULL, PRIMARY KEY (namespace, no), UNIQUE (namespace, key)
    );
    CREATE TABLE segue.memories (
        namespace {_NAME}, no bigint NOT NULL, id {_NAME}, audience bigint NOT NULL, live boolean NOT NULL,
        length integer NOT NULL, hash bytea NOT NULL, type {_NAME}, agent {_NAME}, session {_NAME},
        created {_NAME}, revision integer NOT NULL, body_hash bytea NOT NULL, body bytea NOT NULL,
        PRIMARY KEY (namespace, no), UNIQUE (namespace, id)
    );
    CREATE UNIQUE INDEX memories_by_hash ON segue.memories (namespace, audience, hash) WHERE live;
    CREATE INDEX memories_by_time ON segue.memories (namespace, audience, created, no);
    CREATE INDEX memories_by_session ON segue.memories (namespace, session, no) WHERE live;
    CREATE TABLE segue.memory_counts (
        namespace {_NAME}, no bigint NOT NULL, helpful integer NOT NULL DEFAULT 0,
        harmful integer NOT NULL DEFAULT 0, recalled integer NOT NULL DEFAULT 0,
        recalled_at {_NAME} DEFAULT '', PRIMARY KEY (namespace, no)
    );
    CREATE TABLE segue.memory_votes (
        namespace {_NAME}, no bigint NOT NULL, voter {_NAME}, vote {_NAME}, at {_NAME}, context {_NAME},
        PRIMARY KEY (namespace, no, voter)
    );
    CREATE TABLE segue.memory_trail (
        namespace {_NAME}, line bigint NOT NULL, no bigint NOT NULL, act {_NAME}, at {_NAME},
        actor {_NAME}, reason {_NAME}, PRIMARY KEY (namespace, line)
    );
    CREATE INDEX memory_trail_by_memory ON segue.memory_trail (namespace, no);
    CREATE TABLE segue.memory_vectors (
        namespace {_NAME}, no bigint NOT NULL, audience bigint NOT NULL, model {_NAME},
        size integer NOT NULL, bits bytea NOT NULL, body bytea NOT NULL, PRIMARY KEY (namespace, no)
    );
    CREATE INDEX memory_vectors_by_audience ON segue.memory_vectors (namespace, model, audience);
    CREATE TABLE segue.memory_words (
        namespace {_NAME}, no bigint NOT NULL, words tsvector NOT NULL, PRIMARY KEY (namespace, no)
    );
    CREATE INDEX memory_words_held ON segue.memory_words USING gin (words) WITH (fastupdate = off);
    """,
    f"""
    CREATE TABLE segue.server_keys (
        namespace {_NAME}, id {_NAME}, hash {_NAME}, role {_NAME}, project {_NAME}, agent {_NAME},
        name {_NAME}, created {_NAME}, created_by {_NAME}, expires {_NAME}, revoked {_NAME},
        PRIMARY KEY (namespace, id)
    );
    CREATE TABLE segue.server_audit (
        namespace {_NAME}, no bigint GENERATED ALWAYS AS IDENTITY, at {_NAME}, key {_NAME}, project {_NAME},
        act {_NAME}, status integer NOT NULL, about {_NAME}, PRIMARY KEY (namespace, no)
    );
    CREATE TABLE segue.server_answers (
        namespace {_NAME}, id {_NAME}, request {_NAME}, status integer NOT NULL, type {_NAME},
        body bytea NOT NULL, at {_NAME}, PRIMARY KEY (namespace, id)
    );
    CREATE INDEX server_answers_by_time ON segue.server_answers (namespace, at);
    """,
    f"""
    CREATE TABLE segue.search_sources (
        namespace {_NAME}, key {_NAME}, about bytea NOT NULL, steps bigint NOT NULL, version bigint NOT NULL,
        sum bigint NOT NULL, last double precision NOT NULL, PRIMARY KEY (namespace, key)
    );
    CREATE TABLE segue.search_texts (
        namespace {_NAME}, source {_NAME}, no bigint NOT NULL, step bigint NOT NULL, kind integer NOT NULL,
        at bigint NOT NULL, failed boolean NOT NULL, body text NOT NULL, words tsvector NOT NULL,
        PRIMARY KEY (namespace, source, no)
    );
    """,
    f"""
    CREATE TABLE segue.project_facts (
        namespace {_NAME}, project {_NAME}, kind {_NAME}, key {_NAME}, at double precision NOT NULL,
        body bytea NOT NULL, PRIMARY KEY (namespace, project, kind, key)
    );
    CREATE INDEX project_facts_by_time ON segue.project_facts (namespace, kind, project, at);
    """,
    f"""
    CREATE TABLE segue.server_quotas (
        namespace {_NAME}, project {_NAME}, sessions bigint NOT NULL, events bigint NOT NULL,
        memories bigint NOT NULL, bytes bigint NOT NULL, requests bigint NOT NULL,
        PRIMARY KEY (namespace, project)
    );
    CREATE TABLE segue.server_usage (
        namespace {_NAME}, project {_NAME}, kind {_NAME}, server {_NAME}, amount bigint NOT NULL,
        at double precision NOT NULL, PRIMARY KEY (namespace, project, kind, server)
    ) WITH (fillfactor = 50);
    """,
    "",  # an index, in the place of which `index_words` makes another
    _WORDS_OF,
)
SCHEMA = len(MIGRATIONS)
READABLE_FROM = 1
"""The oldest schema whose Segue can read a store of this schema."""
WRITABLE_FROM = 3
"""The oldest schema whose Segue can also write to it: servers of both versions may run at the same time."""


class Ready(Value):
    """What was found when a store was opened."""

    writable: bool
    schema: int
    vector: str = ""
    """The schema of the extension pgvector, quoted; empty where it is not there."""


_LOOK = f"""
    SELECT current_setting('server_encoding'), current_setting('synchronous_commit'), pg_is_in_recovery(),
        to_regclass('segue.meta') IS NOT NULL,
        (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
            WHERE e.extname = 'vector'),
        EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector'),
        current_setting('transaction_read_only') = 'on',
        CASE WHEN to_regnamespace('segue') IS NULL THEN has_database_privilege(current_database(), 'CREATE')
            ELSE has_schema_privilege('segue', 'CREATE') END,
        EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('segue.memory_vectors')
            AND attname = 'embedding'),
        {WORDS_INDEXED}
"""


_BARE_AT_ONCE = 2_000
_BARE = """
    SELECT namespace, no, body FROM segue.memory_vectors WHERE (namespace, no) > (%s, %s)
    ORDER BY namespace, no LIMIT %s
"""


def prepare(db: Db, namespace: str) -> Ready:
    """Bring a database to this schema, and have the namespace; raises SchemaTooNew."""
    look = db.execute(_LOOK).fetchone() or ("",) * 10
    encoding, _, standby, there, vector, available, reads, owns, column, indexed = look
    if encoding != "UTF8":
        hint = "create one with `createdb -E UTF8`"
        raise StoreUnavailable(f"the database uses {encoding}, but Segue needs UTF8", hint=hint)
    found = _found(db) if there else Ready(True, 0)
    if not found.writable or standby or reads:
        return Ready(False, found.schema, vector if column else "")
    if found.schema < SCHEMA and not owns:
        told = f"the tables have schema {found.schema}, but this Segue needs {SCHEMA}"
        hint = "run `segue schema --upgrade` as the role that owns them"
        raise AccessError(f"{told}; this role may not change them", hint=hint)
    if owns and (found.schema < SCHEMA or (available and not column)):
        vector = _migrate(db)
        if found.schema < SCHEMA and not indexed:
            _index_few_words(db)
    elif not column:
        vector = ""
    sql = "INSERT INTO segue.namespaces (namespace) VALUES (%s) ON CONFLICT DO NOTHING"
    if not db.execute("SELECT 1 FROM segue.namespaces WHERE namespace = %s", (namespace,)).fetchone():
        db.execute(sql, (namespace,))
    return Ready(True, max(SCHEMA, found.schema), vector or "")


def _found(db: Db) -> Ready:
    """The schema that is there; not writable if it is a newer one that this Segue may read."""
    meta = dict(db.execute("SELECT key, value FROM segue.meta").fetchall())
    newer = int(meta.get("schema", "0"))
    if newer <= SCHEMA or int(meta.get("writable_from", str(newer))) <= SCHEMA:
        return Ready(True, newer)
    if int(meta.get("readable_from", str(newer))) > SCHEMA:
        raise too_new(newer, SCHEMA)
    return Ready(False, newer)


def _migrate(db: Db) -> str:
    """All missing migrations in one transaction; others wait meanwhile. Gives the schema of pgvector."""
    with db.transaction():
        db.execute("SET LOCAL lock_timeout = 0")  # whoever migrates may take long, and will be done
        db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        db.execute("CREATE SCHEMA IF NOT EXISTS segue")
        db.execute(f"CREATE TABLE IF NOT EXISTS segue.meta (key {_NAME} PRIMARY KEY, value {_NAME})")
        current = _found(db)
        if not current.writable:
            raise too_new(current.schema, SCHEMA)
        if current.schema > SCHEMA:  # somebody newer was faster
            return _add_vectors(db)
        for script in MIGRATIONS[current.schema :]:
            for statement in script.split(";"):
                if statement.strip():
                    db.execute(statement)
        sql = (
            "INSERT INTO segue.meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            " WHERE segue.meta.value <> excluded.value"
        )
        db.execute(sql, ("schema", str(SCHEMA)))
        db.execute(sql, ("readable_from", str(READABLE_FROM)))
        db.execute(sql, ("writable_from", str(WRITABLE_FROM)))
        if db.execute("SELECT pg_relation_size('segue.search_texts') = 0").fetchone() == (True,):
            db.execute(_words_index())
        return _add_vectors(db)


def _words_index(*, concurrently: bool = False) -> str:
    how = "CONCURRENTLY " if concurrently else ""
    return (
        f"CREATE INDEX {how}IF NOT EXISTS {_WORDS_INDEX} ON segue.search_texts"
        f" USING gin (({HELD})) WITH (fastupdate = off)"
    )


def _index_few_words(db: Db) -> None:
    """Build the index of words where that is soon done; if it cannot be now, the search takes longer and the
    doctor tells."""
    import psycopg

    size = db.execute("SELECT pg_relation_size('segue.search_texts')").fetchone() or (0,)
    if size[0] > _INDEXED_AT_ONCE_BYTES_MAX:
        return
    try:
        index_words(db)
    except psycopg.Error:
        if db.closed:
            raise


def index_words(db: Db) -> None:
    """Build the index of words beside those who write, if it is not whole, and drop those of before. One that
    was not finished (its builder died) is built anew."""
    state = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
    named = (f"segue.{_WORDS_INDEX}",)
    sql = "SELECT 1 FROM pg_stat_progress_create_index WHERE relid = 'segue.search_texts'::regclass"
    if db.execute(sql).fetchone():  # somebody is at it
        return
    found = db.execute(state, named).fetchone()
    if found is not None and not found[0]:
        db.execute(f"DROP INDEX CONCURRENTLY IF EXISTS segue.{_WORDS_INDEX}")
    if found != (True,):
        db.execute(_words_index(concurrently=True))
    for before in _WORDS_INDEX_BEFORE:
        if db.execute("SELECT to_regclass(%s)", (f"segue.{before}",)).fetchone() != (None,):
            db.execute(f"DROP INDEX CONCURRENTLY IF EXISTS segue.{before}")


def _add_vectors(db: Db) -> str:
    """The column for pgvector, filled; nothing where the extension is not to be had."""
    import psycopg

    try:
        with db.transaction():
            db.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.Error:  # not allowed, or not there: search is exact, and the doctor says so
        pass
    *_, vector, _, _, _, column, _ = db.execute(_LOOK).fetchone() or ("",) * 10
    if not vector or column:
        return vector or ""
    db.execute(f"ALTER TABLE segue.memory_vectors ADD COLUMN embedding {vector}.vector")
    db.execute(  # of those that older processes still write without it
        "CREATE INDEX memory_vectors_bare ON segue.memory_vectors (namespace, model) WHERE embedding IS NULL"
    )
    last: tuple[str, int] = ("", 0)
    while rows := db.execute(_BARE, (*last, _BARE_AT_ONCE)).fetchall():
        with db.cursor() as cursor:
            cursor.executemany(
                f"UPDATE segue.memory_vectors SET embedding = %s::{vector}.vector"
                " WHERE namespace = %s AND no = %s",
                [(as_vector(body), namespace, no) for namespace, no, body in rows],
            )
        last = rows[-1][:2]
    return str(vector)


def as_vector(body: bytes) -> str:
    """A vector of signed bytes as pgvector reads it."""
    return f"[{','.join(map(str, array('b', body)))}]"
