"""What a Postgres store costs when it has grown: the same work at 10,000 events and at many more.

`make bench-growth ARGS="--events 10000000"`. A project is written as users write, measured, and copied as it
is into others until the database has so many events; then the same project is measured again. A session has
100 events; for ten events there is a memory.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.common import machine, table
from tests.support.many_projects import SEED, copy_projects, settle, write_seed
from tests.support.postgres import PostgresServer

from segue import Segue
from segue.core.memories.model import MemoryFilter
from segue.stores.postgres import PostgresStore
from segue.testing.memories import HERE

SESSIONS, NOTES, MEMORIES = 100, 98, 1_000
PROJECT_EVENTS = SESSIONS * (NOTES + 2)
STEP = 20
"""So many projects are copied at once."""
ROUNDS = 150
LIMITS = {"append": 1.3, "list": 2.0, "search": 2.0, "resume": 2.0}


def measured(url: str, home: Path, sessions: list[str]) -> dict[str, float]:
    """Medians in milliseconds, each by a process's own warm connection."""
    with Segue(store=url, home=home, folder=home) as segue:
        store = segue.workspace.store
        session = segue.session(sessions[0])

        def resume() -> object:
            segue.workspace.repository.forget()
            return segue.session(sessions[7]).state

        work: dict[str, Callable[[], object]] = {
            "append": lambda: session.note("measured"),
            "list": lambda: segue.list(everywhere=True),
            "search": lambda: store.memories.match(HERE, ["module", "lesson"], MemoryFilter(), 20),
            "resume": resume,
        }
        found = {}
        for name, call in work.items():
            for _ in range(20):
                call()
            times = []
            for _ in range(ROUNDS if name == "append" else ROUNDS // 5):
                began = time.perf_counter()
                call()
                times.append((time.perf_counter() - began) * 1000)
            found[name] = statistics.median(times)
        return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    wanted = parser.parse_args().events
    os.environ.setdefault("SEGUE_EMBEDDER", "static")
    print(machine())
    with PostgresServer() as server, tempfile.TemporaryDirectory() as folder:
        server.query("ALTER SYSTEM SET max_wal_size = '8GB'")
        server.query("ALTER SYSTEM SET maintenance_work_mem = '512MB'")
        server.query("SELECT pg_reload_conf()")
        url, home = server.url(namespace=SEED), Path(folder)
        sessions = write_seed(url, home, sessions=SESSIONS, notes=NOTES, memories=MEMORIES)
        store = PostgresStore(url)
        settle(store)
        before = measured(url, home, sessions)
        began = time.perf_counter()
        projects = max(1, wanted // PROJECT_EVENTS)
        for first in range(1, projects + 1, STEP):
            copy_projects(store, first, min(projects, first + STEP - 1))
        settle(store)
        took = time.perf_counter() - began
        after = measured(url, home, sessions)
        names = ("events", "streams", "memories")
        counts = {n: server.query(f"SELECT reltuples::bigint FROM pg_class WHERE oid = 'segue.{n}'::regclass")
                  for n in names}  # fmt: skip
        [(size,)] = server.query("SELECT pg_database_size(current_database())")
        print(", ".join(f"{int(str(counts[n][0][0])):,} {n}" for n in names),
              f"{int(str(size)) / 1e9:.1f} GB, copied in {took:.0f} s")  # fmt: skip
        rows = [
            [name, f"{before[name]:.2f} ms", f"{after[name]:.2f} ms", f"{after[name] / before[name]:.2f}",
             f"{LIMITS[name]:g}"]
            for name in LIMITS
        ]  # fmt: skip
        head = ["", f"{PROJECT_EVENTS:,} events", f"{projects * PROJECT_EVENTS:,} events", "ratio", "limit"]
        table("Growth", head, rows)
        store.close()


if __name__ == "__main__":
    main()
