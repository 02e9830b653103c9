"""The tables, as numbered migrations that are never edited once released.

Migrations only add, so the Segue of one minor version ago can still read. A store says in
``meta`` from which schema on it can be read; a schema that says nothing of the kind is refused.

An event's id is its stream's number and its version in one integer (``id_of``): one tree holds
the streams in order, and its uniqueness is the version check. A row of ``events`` is complete in
itself (its header names the stream, its hash proves the header), so that each can be read alone
when pages around it are gone (``salvage``).
"""

from __future__ import annotations

import apsw

from ..proofs import too_new

APPLICATION_ID = 0x53454755
"""``SEGU``, in the file's header."""

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE streams (no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE events (
        id INTEGER PRIMARY KEY,
        header BLOB NOT NULL,
        body BLOB NOT NULL,
        hash BLOB NOT NULL,
        erased INTEGER NOT NULL
    );
    CREATE TABLE pieces (
        no INTEGER PRIMARY KEY, address BLOB NOT NULL, erased INTEGER NOT NULL, body BLOB NOT NULL
    );
    CREATE UNIQUE INDEX pieces_by_address ON pieces (address);
    CREATE TABLE snapshots (
        stream INTEGER PRIMARY KEY, version INTEGER NOT NULL, fold INTEGER NOT NULL,
        state BLOB NOT NULL, card BLOB NOT NULL
    );
    """,
    """
    CREATE TABLE runs (
        no INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, agent TEXT NOT NULL, native TEXT NOT NULL,
        project TEXT NOT NULL, session TEXT NOT NULL, path TEXT NOT NULL, cwd TEXT NOT NULL,
        last REAL NOT NULL, facts BLOB NOT NULL, reading BLOB NOT NULL
    );
    CREATE INDEX runs_by_project ON runs (project, last);
    CREATE INDEX runs_by_session ON runs (session);
    """,
    """
    CREATE TABLE audiences (no INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, live INTEGER NOT NULL,
        words INTEGER NOT NULL);
    CREATE TABLE memories (
        no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, audience INTEGER NOT NULL, live INTEGER NOT NULL,
        length INTEGER NOT NULL, hash BLOB NOT NULL, type TEXT NOT NULL, agent TEXT NOT NULL,
        session TEXT NOT NULL, created TEXT NOT NULL, revision INTEGER NOT NULL
    );
    CREATE UNIQUE INDEX memories_by_hash ON memories (audience, hash) WHERE live;
    CREATE INDEX memories_by_time ON memories (audience, created);
    CREATE INDEX memories_by_session ON memories (session) WHERE session != '';
    CREATE TABLE memory_bodies (no INTEGER PRIMARY KEY, hash BLOB NOT NULL, body BLOB NOT NULL);
    CREATE TABLE memory_counts (
        no INTEGER PRIMARY KEY, helpful INTEGER NOT NULL DEFAULT 0, harmful INTEGER NOT NULL DEFAULT 0,
        recalled INTEGER NOT NULL DEFAULT 0, recalled_at TEXT NOT NULL DEFAULT ''
    );
    CREATE TABLE memory_votes (
        no INTEGER NOT NULL, voter TEXT NOT NULL, vote TEXT NOT NULL, at TEXT NOT NULL,
        context TEXT NOT NULL, PRIMARY KEY (no, voter)
    ) WITHOUT ROWID;
    CREATE TABLE memory_trail (
        line INTEGER PRIMARY KEY, no INTEGER NOT NULL, act TEXT NOT NULL, at TEXT NOT NULL,
        actor TEXT NOT NULL, reason TEXT NOT NULL
    );
    CREATE INDEX memory_trail_by_memory ON memory_trail (no);
    CREATE TABLE memory_bits (
        model TEXT NOT NULL, no INTEGER NOT NULL, audience INTEGER NOT NULL, bits BLOB NOT NULL,
        PRIMARY KEY (model, no)
    ) WITHOUT ROWID;
    CREATE TABLE memory_vectors (no INTEGER PRIMARY KEY, model TEXT NOT NULL, body BLOB NOT NULL);
    CREATE TABLE memory_stamp (stamp INTEGER PRIMARY KEY);
    INSERT INTO memory_stamp VALUES (1);
    CREATE VIRTUAL TABLE memory_words USING fts5(
        words, content='', contentless_delete=1, detail=none,
        tokenize="ascii tokenchars '_./\\:#@+$=~-'"
    );
    """,
    """
    CREATE TABLE server_keys (
        id TEXT PRIMARY KEY, hash TEXT NOT NULL, role TEXT NOT NULL, project TEXT NOT NULL,
        agent TEXT NOT NULL, name TEXT NOT NULL, created TEXT NOT NULL, created_by TEXT NOT NULL,
        expires TEXT NOT NULL, revoked TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE server_audit (
        no INTEGER PRIMARY KEY, at TEXT NOT NULL, key TEXT NOT NULL, project TEXT NOT NULL,
        act TEXT NOT NULL, status INTEGER NOT NULL, about TEXT NOT NULL
    );
    CREATE TABLE server_answers (
        id TEXT PRIMARY KEY, request TEXT NOT NULL, status INTEGER NOT NULL, type TEXT NOT NULL,
        body BLOB NOT NULL, at TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX server_answers_by_time ON server_answers (at);
    """,
    """
    CREATE TABLE project_facts (
        project TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, at REAL NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (project, kind, key)
    ) WITHOUT ROWID;
    CREATE INDEX project_facts_by_time ON project_facts (kind, project, at);
    """,
    """
    CREATE TABLE server_quotas (
        project TEXT PRIMARY KEY, sessions INTEGER NOT NULL, events INTEGER NOT NULL,
        memories INTEGER NOT NULL, bytes INTEGER NOT NULL, requests INTEGER NOT NULL
    ) WITHOUT ROWID;
    """,
)
STREAM_BITS = 32
NAME_STORE = "INSERT OR IGNORE INTO meta VALUES ('store', lower(hex(randomblob(16))))"
"""The id of a store: its backups have it too, and a store that was made anew has another."""


def id_of(stream: int, version: int) -> int:
    """The id of an event."""
    return stream << STREAM_BITS | version


SCHEMA = len(MIGRATIONS)
MEMORIES_SINCE = 3
"""The first schema that has memories."""
READABLE_FROM = 1
"""The oldest schema whose Segue can read a store of this schema."""


def statements(script: str) -> list[str]:
    """The statements of a migration."""
    return [statement for statement in script.split(";") if statement.strip()]


def may_write(db: apsw.Connection) -> bool:
    """Whether a store is not of a newer schema. Raises SchemaTooNew if it cannot even be read."""
    return _version(db) <= SCHEMA or _readable(db)


def prepare(db: apsw.Connection) -> bool:
    """Bring a store to this schema; says whether it may be written. Raises SchemaTooNew."""
    if _version(db) >= SCHEMA:
        return may_write(db)
    db.execute("BEGIN IMMEDIATE")
    try:
        current = _version(db)
        if current < SCHEMA:
            for script in MIGRATIONS[current:]:
                for statement in statements(script):
                    db.execute(statement)
            readable = f"{SCHEMA}:{READABLE_FROM}"
            db.execute("INSERT OR REPLACE INTO meta VALUES ('readable_from', ?)", (readable,))
            db.execute(NAME_STORE)
            db.pragma("application_id", APPLICATION_ID)
            db.pragma("user_version", SCHEMA)
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    return prepare(db) if current > SCHEMA else True


def _version(db: apsw.Connection) -> int:
    version: int = db.pragma("user_version")
    return version


def _readable(db: apsw.Connection) -> bool:
    """A newer schema: False if it says that this Segue may read it; never to be written here."""
    newer = _version(db)
    try:
        row = db.execute("SELECT value FROM meta WHERE key = 'readable_from'").fetchone()
    except apsw.SQLError:
        row = None
    schema, _, oldest = str(row[0] if row else "").partition(":")
    if schema == str(newer) and oldest.isdecimal() and int(oldest) <= SCHEMA:
        return False
    raise too_new(newer, SCHEMA, altered=schema == str(SCHEMA))
