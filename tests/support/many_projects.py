"""A Postgres store with many projects: one is written as users write, and copied as it is into the others."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from segue import Segue
from segue.core.server.access import AuditLine, KeptResponse, KeyRecord
from segue.effects.vectors.static import StaticEmbedder
from segue.services.memories.service import memories_of
from segue.stores.base import ProjectFact, RunRow
from segue.stores.postgres import PostgresStore

SEED = "seed"
_TABLES = """
    SELECT c.relname::text, array_agg(a.attname::text ORDER BY a.attnum)
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = 'segue'::regnamespace AND c.relkind = 'r' AND c.relname <> 'meta'
    GROUP BY c.relname ORDER BY c.relname = 'namespaces', c.relname
"""
"""All tables with a namespace and their columns; the one that names the projects last."""
_WORDS = """
    INSERT INTO segue.memory_words (namespace, no, words)
    SELECT p.name, w.no, array_to_tsvector(
        ARRAY(SELECT word FROM unnest(tsvector_to_array(w.words)) word WHERE word NOT LIKE '~%%')
        || ARRAY(SELECT '~' || kind || left(encode(sha256(convert_to(p.name, 'UTF8') || '\\x00'
            || convert_to(value, 'UTF8')), 'hex'), 20)
            FROM (VALUES ('a', m.audience::text), ('t', m.type), ('g', m.agent), ('s', m.session))
            AS marks (kind, value)))
    FROM segue.memory_words w JOIN segue.memories m ON m.namespace = w.namespace AND m.no = w.no,
        (SELECT 'p' || g AS name FROM generate_series(%(first)s::int, %(last)s::int) g) p
    WHERE w.namespace = %(seed)s ORDER BY p.name
"""
"""The marks among the words are other ones in each project."""
_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu".split()


class Language:
    """Sentences with few words that are frequent and many that are rare, the same ones each time."""

    def __init__(self, size: int = 4_000) -> None:
        self._random = random.Random(7)
        self._words = ["".join(self._random.choices(_SYLLABLES, k=3)) + str(n % 10) for n in range(size)]
        self._weights = [1 / (place + 3) for place in range(size)]

    def sentence(self, count: int = 14) -> str:
        """So many words."""
        return " ".join(self._random.choices(self._words, self._weights, k=count))


def write_seed(url: str, home: Path, *, sessions: int, notes: int, memories: int) -> list[str]:
    """A project as users make it, with something in every table; the ids of its sessions."""
    language = Language()
    with Segue(store=url, home=home, folder=home, embedder=StaticEmbedder()) as segue:
        made = []
        for number in range(sessions):
            session = segue.start(f"goal {number}: {language.sentence(8)}")
            for first in range(0, notes, 50):
                count = min(notes - first, 50)
                session.checkpoint(decide=[(language.sentence(), language.sentence(6)) for _ in range(count)])
            if number % 3 == 0:
                session.save_agent("coder", {"plan": [language.sentence() for _ in range(40)]})
            if number % 2:
                session.complete(language.sentence())
            made.append(session)
        for first in range(0, memories, 200):
            rows = [{"content": language.sentence(16)} for _ in range(min(200, memories - first))]
            segue.memories.remember_many(rows)
        for found in segue.recall(language.sentence(3)):
            segue.memories.vote(found.memory.id, "helpful")
        while memories_of(segue.workspace).embed_some(200):
            pass
        segue.list(everywhere=True)
        ids = [session.id for session in made]
        store = segue.workspace.store
        assert isinstance(store, PostgresStore)
        _observe(store, ids)
        _serve(store, ids)
        segue.search("anything at all", seconds=600.0)
    with Segue(store=url, home=home / "again", folder=home) as segue:
        segue.list(everywhere=True)  # which makes snapshots of what it had to read whole
    return ids


def _observe(store: PostgresStore, sessions: Sequence[str]) -> None:
    """A run and some facts for each session, of the sizes that they have."""
    rows, facts = [], []
    for number, session in enumerate(sessions):
        name = f"{number:06}"
        about: dict[str, Any] = {"agent": "codex", "native": name, "project": f"repository {number % 5}"}
        where = {"session": session, "path": f"/home/u/{name}.jsonl", "cwd": "/home/u/work"}
        rows.append(
            RunRow(key=name, **about, **where, last=1e9 + number, facts=b"f" * 400, reading=bytes(3_000))
        )
        facts += [ProjectFact(about["project"], kind, name, 1e9, b"c" * 200) for kind in ("trace", "stats")]
    store.runs.put(rows)
    store.project_facts.put(facts)


def _serve(store: PostgresStore, sessions: Sequence[str]) -> None:
    tables = store.server_tables
    for number, session in enumerate(sessions):
        at = f"2026-01-01T{number // 60 % 24:02}:{number % 60:02}:00.000000Z"
        tables.put_key(KeyRecord(f"{number:012}", "h" * 64, "writer", "web", created=at))
        tables.note([AuditLine(at, f"{number:012}", "web", f"POST /v1/sessions/{session}/notes", 200)] * 3)
        tables.answer(KeptResponse(f"{number:032}", "r" * 64, 200, "application/json", b"{}" * 100, at))


def copy_projects(store: PostgresStore, first: int, last: int) -> None:
    """The seed once more for each number, in a project of its own, all or nothing."""
    with store.database._connection(time.monotonic() + 60.0) as db:
        db.silence_seconds_max = 3_600.0  # type: ignore[attr-defined]
        with db.transaction():
            for table, columns in db.execute(_TABLES).fetchall():
                if table == "memory_words":
                    db.execute(_WORDS, {"first": first, "last": last, "seed": SEED})
                    continue
                rest = ", ".join(name for name in columns if name != "namespace")
                db.execute(
                    f"INSERT INTO segue.{table} (namespace, {rest}) OVERRIDING SYSTEM VALUE"
                    f" SELECT 'p' || g, {rest} FROM segue.{table},"
                    f" generate_series({first}, {last}) g WHERE namespace = '{SEED}' ORDER BY g"
                )


def projects_there(store: PostgresStore) -> int:
    """How many copies there are."""
    sql = "SELECT count(*) FROM segue.namespaces WHERE namespace ~ '^p[0-9]+$'"
    return int(store.database.fetch(sql)[0][0])


def settle(store: PostgresStore) -> None:
    """Statistics and visibility as after some time."""
    with store.database._connection(time.monotonic() + 60.0) as db:
        db.silence_seconds_max = 3_600.0  # type: ignore[attr-defined]
        for (table,) in db.execute(
            "SELECT relname::text FROM pg_class WHERE relnamespace = 'segue'::regnamespace AND relkind = 'r'"
        ).fetchall():
            db.execute(f"VACUUM (ANALYZE) segue.{table}")
