"""What a Postgres store costs when it has grown: the same work at 10,000 events and at many more.

`make bench-growth ARGS="--events 10000000 --folder /a/large/disk"`. A project is written as users write
(100 sessions of 100 events, 1,000 memories) and copied into others until the database has so many events.
Then the same is done in turn on a database with that one project and on the large one, there in projects and
sessions that are chosen anew each time. What is in a folder that is given stays there: whoever is interrupted
goes on, and a second call only measures.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench.common import machine, table
from tests.support.many_projects import SEED, Language, copy_projects, projects_there, settle, write_seed
from tests.support.postgres import PostgresServer

from segue import Segue
from segue.effects.vectors.static import StaticEmbedder
from segue.stores.postgres import PostgresStore

SESSIONS, NOTES, MEMORIES = 100, 98, 1_000
PROJECT_EVENTS = SESSIONS * (NOTES + 2)
STEP = 20
"""So many projects are copied at once."""
PROJECTS, ROUNDS = 20, 300
LIMITS = {"append": 1.3, "list": 2.0, "search": 2.0, "resume": 2.0, "recall": 2.0}
SETTINGS = """
shared_buffers = 1GB
max_wal_size = 8GB
maintenance_work_mem = 1GB
wal_level = minimal
max_wal_senders = 0
"""
_SIZES = """
    SELECT relname::text, reltuples::bigint, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class
    WHERE relnamespace = 'segue'::regnamespace AND relkind = 'r' AND reltuples > 0
    ORDER BY pg_total_relation_size(oid) DESC
"""


class Client:
    """Somebody at work in some projects of a database, in others each time."""

    def __init__(self, server: PostgresServer, home: Path, projects: list[str], opened: ExitStack) -> None:
        self._random, self._language = random.Random(11), Language()
        home.mkdir()
        with Segue(store=server.url(namespace=SEED), home=home, folder=home) as segue:
            cards = [card for card in segue.list(everywhere=True) if card.status == "active"]
        self._ids = [card.id for card in cards]
        self._segues: list[Segue] = []
        for number, project in enumerate(projects):
            folder = home / f"{number}"
            folder.mkdir(parents=True)
            url = server.url(namespace=project, pool="1")
            about = {"embedder": StaticEmbedder(), "project": cards[0].project}  # whose memories they are
            self._segues.append(opened.enter_context(Segue(store=url, home=folder, folder=folder, **about)))
        self.times: dict[str, list[float]] = {name: [] for name in LIMITS}

    def work(self, name: str) -> None:
        """Do this once, and note how long it took."""
        segue, session = self._random.choice(self._segues), self._random.choice(self._ids)
        words = self._language.sentence(3)
        calls: dict[str, Callable[[], object]] = {
            "list": lambda: segue.list(everywhere=True), "resume": lambda: segue.session(session).state,
            "search": lambda: segue.search(words).hits, "recall": lambda: segue.recall(words),
        }  # fmt: skip
        if name == "append":
            opened = segue.session(session)
            assert opened.state.version  # it is at work already
            text = self._language.sentence()
            calls["append"] = lambda: opened.note(text)
        if name == "resume":
            segue.workspace.repository.forget()
        began = time.perf_counter()
        found = calls[name]()
        self.times[name].append((time.perf_counter() - began) * 1000)
        assert found, f"{name} gave nothing"


def fill(server: PostgresServer, home: Path, wanted: int) -> None:
    """Copy the seed until there are so many events; goes on where somebody was interrupted."""
    is_new = not server.query("SELECT to_regclass('segue.meta')")[0][0] or not _has_seed(server)
    if is_new:
        write_seed(server.url(namespace=SEED), home, sessions=SESSIONS, notes=NOTES, memories=MEMORIES)
    store = PostgresStore(server.url(namespace=SEED))
    there, projects = projects_there(store), wanted // PROJECT_EVENTS - 1
    was_interrupted = server.query("SELECT to_regclass('public.later')")[0][0]
    if there >= projects and not was_interrupted:
        if is_new:
            settle(store)
        return
    began = time.perf_counter()
    server.query("CREATE TABLE IF NOT EXISTS public.later (name text, definition text)")
    server.query(
        "INSERT INTO public.later SELECT indexname, indexdef FROM pg_indexes"
        " WHERE schemaname = 'segue' AND indexdef LIKE '%USING gin%'"
    )
    for (name,) in server.query("SELECT DISTINCT name FROM public.later"):
        server.query(f"DROP INDEX IF EXISTS segue.{name}")
    for first in range(there + 1, projects + 1, STEP):
        copy_projects(store, first, min(projects, first + STEP - 1))
    print(f"copied in {time.perf_counter() - began:.0f} s", flush=True)
    for (definition,) in server.query("SELECT DISTINCT definition FROM public.later"):
        server.query(str(definition))
    server.query("DROP TABLE public.later")
    print(f"with indexes {time.perf_counter() - began:.0f} s", flush=True)
    settle(store)
    store.close()
    print(f"vacuumed {time.perf_counter() - began:.0f} s", flush=True)


def _has_seed(server: PostgresServer) -> bool:
    sql = f"SELECT count(*) FROM segue.search_sources WHERE namespace = '{SEED}'"
    return int(str(server.query(sql)[0][0])) == SESSIONS


def told(small: Client, large: Client, events: int) -> None:
    """The table of what was measured."""
    rows = []
    for name, limit in LIMITS.items():
        before, after = (statistics.median(client.times[name]) for client in (small, large))
        worst = [statistics.quantiles(client.times[name], n=100)[98] for client in (small, large)]
        rows.append([
            name, f"{before:.2f} ms", f"{after:.2f} ms", f"{after / before:.2f}", f"{limit:g}",
            f"{worst[0]:.1f} ms", f"{worst[1]:.1f} ms",
        ])  # fmt: skip
    head = ["", f"{PROJECT_EVENTS:,} events", f"{events:,} events", "ratio", "limit", "p99", "p99"]
    table("Growth", head, rows)


def sizes(server: PostgresServer) -> int:
    """The table of what everything takes; how many events there are."""
    rows, counts = [], {}
    for name, count, own, indexes in server.query(_SIZES):
        counts[str(name)] = rows_there = int(str(count))
        whole = int(str(own)) + int(str(indexes))
        rows.append([
            name, f"{rows_there:,}", f"{int(str(own)) / 1e6:,.1f} MB", f"{int(str(indexes)) / 1e6:,.1f} MB",
            f"{whole / rows_there:,.0f}",
        ])  # fmt: skip
    table("Sizes", ["table", "rows", "rows take", "indexes take", "bytes a row, with indexes"], rows)
    return counts["events"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only-fill", action="store_true")
    args = parser.parse_args()
    print(machine(), flush=True)
    with ExitStack() as opened:
        home = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        os.environ["HOME"] = str(home)  # the search finds no transcripts of whoever measures
        large = opened.enter_context(PostgresServer(settings=SETTINGS, folder=args.folder))
        fill(large, home / "seed", args.events)
        beside = args.folder.with_name(f"{args.folder.name}-small") if args.folder else None
        small = opened.enter_context(PostgresServer(settings=SETTINGS, folder=beside))
        fill(small, home / "small", PROJECT_EVENTS)
        if args.only_fill:
            return
        events = sizes(large)
        names = [SEED, *(f"p{n}" for n in range(1, args.events // PROJECT_EVENTS))]
        chosen = random.Random(5).sample(names, min(PROJECTS, len(names)))
        clients = (
            Client(small, home / "a", [SEED] * PROJECTS, opened), Client(large, home / "b", chosen, opened),
        )  # fmt: skip
        for name in LIMITS:
            for number in range(2 * ROUNDS + 40 if name == "append" else ROUNDS // 3 + 40):
                if number == 40:  # what was before was warming up
                    for client in clients:
                        client.times[name].clear()
                for client in clients:
                    client.work(name)
        told(*clients, events)


if __name__ == "__main__":
    main()
