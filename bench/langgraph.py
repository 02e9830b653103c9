"""What the checkpoints of a graph cost, beside LangGraph's own savers for SQLite and for Postgres.

`make bench-langgraph`; ``--checkpoints N`` for fewer than 10,000, ``--postgres`` with Postgres too, ``--only
objects``, ``--only messages`` or ``--only resumes`` for a part. The state is a list of messages, or of plain
objects, of which the first is dropped and one is added in each step. The savers take turns of 50 puts, and
everything is reported as ratios within this run. Puts are told as means, since what a saver puts off to a
later put counts too, and as medians.
"""

from __future__ import annotations

import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count as count_up, islice
from pathlib import Path
from typing import Any

from bench.common import machine, must_be_compiled, table, timed
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from tests.support.postgres import PostgresServer

from segue import Segue
from segue.integrations.langgraph import SegueSaver

SIZES = {"10 KB": 10, "100 KB": 100, "1 MB": 1_000}
PUTS = {"10 KB": 10_000, "100 KB": 10_000, "1 MB": 1_000}
"""Ten thousand states of 1 MB would be 10 GB for the others."""
TURN = 50
WHERE: Any = {"configurable": {"thread_id": "bench", "checkpoint_ns": ""}}
Make = Callable[[int], object]


class Contender:
    """A saver at work."""

    def __init__(self, name: str, saver: BaseCheckpointSaver[Any], size: Callable[[], int]) -> None:
        self.name, self.saver, self.size = name, saver, size
        self.config = WHERE
        self.seconds: list[float] = []

    def put(self, made: Any, step: int) -> None:
        start = time.perf_counter()
        self.config = self.saver.put(self.config, made, {"source": "loop", "step": step}, {"items": step})
        self.seconds.append(time.perf_counter() - start)


def words(rng: random.Random) -> list[str]:
    return ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(4_000)]


def makers(rng: random.Random) -> dict[str, Make]:
    """About 1 KB each."""
    known = words(rng)

    def text() -> str:
        return " ".join(rng.choices(known, k=145))

    return {
        "messages": lambda number: HumanMessage(content=text(), id=f"message-{number}"),
        "objects": lambda number: {"id": number, "text": text(), "numbers": [1, 2, number]},
    }


def steps(make: Make, length: int, count: int) -> Iterator[Any]:
    items = [make(number) for number in range(length)]
    for step in range(count):
        items = [*items[1:], make(length + step)]
        made = empty_checkpoint()
        made["channel_values"] = {"items": items, "step": step, "branch:to:work": None}
        made["channel_versions"] = dict.fromkeys(made["channel_values"], step + 1)
        made["versions_seen"] = {"work": {"branch:to:work": step}, "__input__": {}}
        yield made


def files_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.db"))


def contenders(folder: Path, server: PostgresServer | None, opened: ExitStack) -> list[Contender]:
    """Each with a place of its own; the peers first."""
    (folder / "peer").mkdir(parents=True)
    peer = opened.enter_context(sqlite3.connect(folder / "peer" / "peer.db", check_same_thread=False))
    ours = opened.enter_context(Segue(home=folder / "home", folder=folder))
    store: Any = ours.workspace.store

    def peer_size() -> int:
        peer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return files_in(folder / "peer")

    def our_size() -> int:
        store.database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return files_in(folder / "home")

    found = [
        Contender("SqliteSaver", SqliteSaver(peer), peer_size),
        Contender("Segue on SQLite", SegueSaver(ours), our_size),
    ]
    return found + (on_postgres(folder, server, opened) if server is not None else [])


def on_postgres(folder: Path, server: PostgresServer, opened: ExitStack) -> list[Contender]:
    import psycopg

    names = [f"{kind}{abs(hash(folder)) % 10**9}" for kind in ("peer", "ours")]
    with psycopg.connect(server.url(), autocommit=True) as db:
        for name in names:
            db.execute(f"CREATE DATABASE {name}")

    def size_of(name: str) -> Callable[[], int]:
        def size() -> int:
            with psycopg.connect(server.url(), autocommit=True) as db:
                row = db.execute("SELECT pg_database_size(%s)", (name,)).fetchone()
                assert row is not None
                return int(row[0])

        return size

    there = [server.url(database=name) for name in names]
    peer = opened.enter_context(PostgresSaver.from_conn_string(there[0]))
    peer.setup()
    ours = opened.enter_context(Segue(there[1], home=folder / "home-postgres", folder=folder))
    return [
        Contender("PostgresSaver", peer, size_of(names[0])),
        Contender("Segue on Postgres", SegueSaver(ours), size_of(names[1])),
    ]


def measured(kind: str, size: str, make: Make, count: int, server: PostgresServer | None) -> list[list[str]]:
    """The rows of one size: each saver, and ours beside the peer on the same database."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        savers = contenders(Path(name), server, opened)
        empty = [saver.size() for saver in savers]
        numbered = enumerate(steps(make, SIZES[size], count))
        for turn in count_up():
            block = list(islice(numbered, TURN))
            if not block:
                break
            for saver in savers if turn % 2 else savers[::-1]:
                for step, made in block:
                    saver.put(made, step)
        rows = []
        figures: list[tuple[float, float, float, float, float]] = []
        for saver, before in zip(savers, empty, strict=True):
            put = statistics.fmean(saver.seconds[TURN:]) * 1000
            gets = [timed(lambda s=saver: s.saver.get_tuple(WHERE)) for _ in range(20)]  # type: ignore[misc]
            lists = [timed(lambda s=saver: list(s.saver.list(WHERE, limit=10))) for _ in range(5)]  # type: ignore[misc]
            get, listed = statistics.median(gets) * 1000, statistics.median(lists) * 1000
            middle = statistics.median(saver.seconds[TURN:]) * 1000
            figures.append((put, get, listed, (saver.size() - before) / count, middle))
        for number, saver in enumerate(savers):
            put, get, listed, each, middle = figures[number]
            beside = ""
            if number % 2:
                other = figures[number - 1]
                faster = f"put {other[0] / put:.2f}× by means, {other[4] / middle:.2f}× by medians"
                beside = f"{faster}, {other[3] / each:.0f}× smaller"
            rows.append(
                [kind, size, f"{count:,}", saver.name, f"{put:.3f}", f"{middle:.3f}", f"{get:.3f}",
                 f"{listed:.2f}", f"{each:,.0f}", _pruned(saver), beside]
            )  # fmt: skip
        return rows


def _pruned(saver: Contender) -> str:
    """What is left on the disk when all but the newest checkpoint are gone, free pages not counted. The peers
    cannot prune."""
    if not isinstance(saver.saver, SegueSaver):
        return "-"
    saver.saver.prune(["bench"])
    store: Any = saver.saver.segue.workspace.store
    if "SQLite" not in saver.name:
        pieces = store.database.fetch("SELECT coalesce(sum(length(body)), 0) FROM segue.pieces")
        return f"{pieces[0][0] / 1000:,.0f} KB of pieces"
    db = store.database.connection()
    pages = db.pragma("page_count") - db.pragma("freelist_count")
    return f"{pages * db.pragma('page_size') / 1000:,.0f} KB"


def resumes(make: Make, count: int) -> None:
    """What another process pays to go on with a thread, with few checkpoints and with many: the first time,
    and again in a process that did it before."""
    rows = []
    for length in (10, 100):
        first: dict[int, list[float]] = {10: [], count: []}
        again: dict[int, list[float]] = {10: [], count: []}
        with tempfile.TemporaryDirectory() as name:
            for puts in first:
                with Segue(home=Path(name) / str(puts), folder=name) as segue:
                    saver = Contender("", SegueSaver(segue), int)
                    for step, made in enumerate(steps(make, length, puts)):
                        saver.put(made, step)
            for _ in range(15):
                for puts in first:
                    with Segue(home=Path(name) / str(puts), folder=name) as segue:
                        segue.workspace.store.head("session/bench")  # it is open
                        for found in (first, again, again, again):
                            resume = timed(lambda s=segue: SegueSaver(s).get_tuple(WHERE))  # type: ignore[misc]
                            found[puts].append(resume)
        for title, found in (("first", first), ("again", again)):
            few, many = (statistics.median(seconds) * 1000 for seconds in found.values())
            rows.append([f"{length} KB", title, f"{few:.2f}", f"{many:.2f}", f"{many / few:.2f}×"])
    table("Resume of a thread, in ms", ["state", "time", "10 checkpoints", f"{count:,}", "ratio"], rows)


def main() -> None:
    must_be_compiled()
    given = sys.argv[1:]
    most = int(given[given.index("--checkpoints") + 1]) if "--checkpoints" in given else 10_000
    only = given[given.index("--only") + 1] if "--only" in given else ""
    print(machine())
    rows = []
    with ExitStack() as opened:
        server = opened.enter_context(PostgresServer()) if "--postgres" in given else None
        for kind, make in makers(random.Random(7)).items():
            if only not in ("", kind):
                continue
            for size, puts in PUTS.items():
                rows += measured(kind, size, make, min(most, puts), server)
    head = "state|size|checkpoints|saver|put ms|median|get ms|newest 10 ms|bytes each|pruned|beside the peer"
    if rows:
        table("Checkpoints", head.split("|"), rows)
    if only in ("", "resumes"):
        resumes(makers(random.Random(8))["objects"], most)


if __name__ == "__main__":
    main()
