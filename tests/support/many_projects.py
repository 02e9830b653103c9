"""A Postgres store with many projects: one is written as users write, and copied as it is into the others."""

from __future__ import annotations

from pathlib import Path

from segue import Segue
from segue.stores.memory_changes import MemoryChange
from segue.stores.postgres import PostgresStore
from segue.testing.memories import kept, memory

SEED = "seed"
TABLES = (
    "namespaces", "streams", "events", "snapshots", "runs", "audiences", "memories", "memory_counts",
    "memory_vectors", "memory_words", "memory_trail",
)  # fmt: skip


def write_seed(url: str, home: Path, *, sessions: int, notes: int, memories: int) -> list[str]:
    """A project as users make it; the ids of its sessions."""
    with Segue(store=url, home=home, folder=home) as segue:
        made = [
            segue.start(f"goal {number}: change the parser of part {number}") for number in range(sessions)
        ]
        for number, session in enumerate(made):
            for first in range(0, notes, 50):
                texts = [f"note {number} {n}" for n in range(first, min(notes, first + 50))]
                session.checkpoint(decide=[(text, "because of a test") for text in texts])
        store = segue.workspace.store
        for first in range(0, memories, 200):
            adds = [
                kept(memory(f"m{n}", f"lesson {n} about module {n % 97} and case {n % 89}"))
                for n in range(first, min(memories, first + 200))
            ]
            store.memories.write(MemoryChange(adds=adds))
        return [session.id for session in made]


def copy_projects(store: PostgresStore, first: int, last: int) -> None:
    """The seed once more for each number, in a project of its own; the statistics are as the server makes
    them."""
    for table in TABLES:
        columns = [
            name
            for (name,) in store.database.fetch(
                "SELECT attname::text FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
                " AND NOT attisdropped ORDER BY attnum",
                (f"segue.{table}",),
            )
        ]
        names, rest = ", ".join(columns), ", ".join(columns[1:])
        with store.database._connection(float("inf")) as db:
            db.silence_seconds_max = 3_600.0  # type: ignore[attr-defined]
            db.execute(
                f"INSERT INTO segue.{table} ({names}) SELECT 'p' || g, {rest} FROM segue.{table},"
                f" generate_series({first}, {last}) g WHERE namespace = '{SEED}'"
            )


def settle(store: PostgresStore) -> None:
    """Statistics and visibility as after some time."""
    with store.database._connection(float("inf")) as db:
        db.silence_seconds_max = 3_600.0  # type: ignore[attr-defined]
        for table in TABLES:
            db.execute(f"VACUUM (ANALYZE) segue.{table}")
