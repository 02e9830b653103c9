"""What a durable checkpoint costs, beside a bare insert and beside another checkpointer.

`make bench-store`. Everything is interleaved and reported as ratios within this run.
"""

from __future__ import annotations

import os
import random
import string
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench.common import machine, median_ms, must_be_compiled, table, timed

from segue import Segue, Session
from segue.stores.sqlite import SqliteStore

SIZES = {"10 KB": 10_000, "100 KB": 100_000, "1 MB": 1_000_000}
ROUNDS = 1000
TURN = 50
ROW_BYTES = 330
"""About what the event of a checkpoint takes in the store, all columns together."""


def text(rng: random.Random, length: int) -> str:
    return "".join(rng.choices(string.ascii_letters + " ", k=length))


def message(rng: random.Random, number: int, **more: object) -> dict[str, Any]:
    """About 1 KB, as an agent's conversation holds it."""
    plain = {"id": f"msg-{number}", "role": "assistant", "content": text(rng, 940), "tokens": number + 300}
    return plain | more


def open_segue(folder: Path) -> Segue:
    (folder / "project").mkdir(parents=True, exist_ok=True)
    return Segue(home=folder / "home", folder=folder / "project")


def grown_session(seg: Segue, size: int, rng: random.Random) -> Session:
    """A real session whose state has about this size: items, decisions, findings."""
    session = seg.start(f"grow to {size}")
    for start in range(0, size // 400, 100):
        count = min(100, size // 400 - start)
        session.checkpoint(
            add=[f"item {start + i} {text(rng, 60)}" for i in range(count)],
            done=[f"finished {start + i} {text(rng, 60)}" for i in range(count)],
            decide=[(f"choice {start + i} {text(rng, 40)}", text(rng, 40)) for i in range(count)],
        )
    return session


def bare_inserter(seg: Segue, length: int) -> Callable[[], object]:
    """An insert of so many bytes on the connection that Segue itself uses."""
    assert isinstance(seg.workspace.store, SqliteStore)
    db = seg.workspace.store.database.connection()
    db.execute("CREATE TABLE IF NOT EXISTS bare (id INTEGER PRIMARY KEY, body BLOB)")
    body = os.urandom(length)
    return lambda: db.execute("INSERT INTO bare (body) VALUES (?)", (body,))


def checkpoint_row(name: str, size: int, kind: str, folder: Path) -> tuple[str, ...]:
    """One checkpoint, one bare insert, and so on; then the bare ones alone."""
    rng = random.Random(size)
    seg = open_segue(folder)
    if kind == "session":
        session = grown_session(seg, size, rng)
    else:
        session = seg.start("hold a large agent state")
        session.save_agent("planner", {"messages": [message(rng, i) for i in range(size // 1000)]})
    bare = bare_inserter(seg, ROW_BYTES)
    steps = [partial(session.done, f"step {n} of the work that is under way") for n in range(ROUNDS)]
    pairs = [(timed(step), timed(bare)) for step in steps]
    ours, theirs = [a for a, _ in pairs], [b for _, b in pairs]
    alone = median_ms([timed(bare) for _ in range(ROUNDS)])
    seg.close()
    mine, other = median_ms(ours), median_ms(theirs)
    ratios = (mine / other, sum(ours) / sum(theirs), mine / alone)
    return (name, kind, f"{mine:.3f}", f"{other:.3f}", *(f"{ratio:.2f}" for ratio in ratios))


def checkpoint_cost() -> None:
    rows = []
    for name, size in SIZES.items():
        for kind in ("session", "agent state"):
            with tempfile.TemporaryDirectory() as folder:
                rows.append(checkpoint_row(name, size, kind, Path(folder)))
    head = (
        "size",
        "of",
        "checkpoint ms",
        "bare insert ms",
        "ratio",
        "of means",
        "to inserts in a tight loop",
    )
    table("A durable checkpoint against a bare insert of as many bytes (limit 2.5)", head, rows)


def status_cost() -> None:
    with tempfile.TemporaryDirectory() as folder:
        seg = open_segue(Path(folder))
        small, large = seg.start("ten events"), seg.start("ten thousand events")
        for i in range(4):
            small.checkpoint(done=f"a{i}", begin=f"b{i}")
        for i in range(5000):
            large.checkpoint(done=f"finished item number {i}", note=f"edited file {i}.py")
        versions = (small.state.version, large.state.version)
        warm = [(timed(small.status), timed(large.status)) for _ in range(60)]
        home = Path(folder)
        cold = [(cold_status(home, small.id), cold_status(home, large.id)) for _ in range(30)]
        rows = []
        for name, seen in (("same process, again", warm), ("a new Segue()", cold)):
            a, b = median_ms([a for a, _ in seen]), median_ms([b for _, b in seen])
            rows.append((name, versions[0], f"{a:.3f}", versions[1], f"{b:.3f}", f"{b - a:.3f}"))
        head = ("how", "events", "ms", "events", "ms", "more ms")
        table("Status of a long session (limit: 2 ms more)", head, rows)
        seg.close()


def cold_status(folder: Path, id: str) -> float:
    """Seconds for the status of a session in a Segue that has not seen it; its file is open."""
    seg = open_segue(folder)
    seg.workspace.store.streams("nothing")
    seconds = timed(lambda: seg.session(id).status())
    seg.workspace.store.close()
    return seconds


def agent_row(name: str, size: int, folder: Path, **more: object) -> tuple[str, ...]:
    """1,000 saves of one state, to us and to the other, 50 at a turn."""
    from langgraph.checkpoint.base import empty_checkpoint
    from langgraph.checkpoint.sqlite import SqliteSaver

    rng = random.Random(size)
    seg = open_segue(folder)
    session = seg.start("save often")
    path = folder / "langgraph.db"
    messages = [message(rng, i, **more) for i in range(size // 1000)]
    put, their_put, configs = [], [], [{"configurable": {"thread_id": "t", "checkpoint_ns": ""}}]
    with SqliteSaver.from_conn_string(str(path)) as saver:
        saver.setup()
        for start in range(1, ROUNDS + 1, TURN):
            values = []
            for number in range(start, start + TURN):
                messages = [*messages[1:], message(rng, number + 10_000, **more)]
                values.append({"messages": messages, "plan": ["analyse", "model", f"step {number % 7}"]})
            put += [timed(partial(session.save_agent, "planner", value)) for value in values]
            for number, value in enumerate(values, start):
                checkpoint: Any = empty_checkpoint()
                checkpoint["channel_values"] = value
                checkpoint["channel_versions"] = versions = {"messages": number, "plan": number}
                meta: Any = {"source": "loop", "step": number, "parents": {}}
                save = partial(saver.put, configs[-1], checkpoint, meta, versions)
                their_put.append(timed(lambda save=save: configs.append(save())))
        ask: Any = {"configurable": {"thread_id": "t"}}
        gets = [
            (timed(partial(session.load_agent, "planner")), timed(partial(saver.get_tuple, ask)))
            for _ in range(40)
        ]
    assert session.load_agent("planner") == values[-1]
    seg.workspace.store.close()
    ours_mb = sum(f.stat().st_size for f in (folder / "home").glob("segue.db*")) / 1e6
    theirs_mb = path.stat().st_size / 1e6
    a, b = median_ms(put[-100:]), median_ms(their_put[-100:])
    g, h = median_ms([g for g, _ in gets]), median_ms([h for _, h in gets])
    times = (f"{a:.3f}", f"{b:.3f}", f"{b / a:.1f}x", f"{g:.3f}", f"{h:.3f}", f"{g / h:.2f}x")
    return (name, *times, f"{ours_mb:.1f}", f"{theirs_mb:.0f}", f"{theirs_mb / ours_mb:.0f}x")


def agent_states() -> None:
    rows = []
    for name, size in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            rows.append(agent_row(name, size, Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        rows.append(agent_row("1 MB, each message with a boolean", SIZES["1 MB"], Path(folder), cached=False))
    head = ("state", "put ms", "theirs", "faster", "get ms", "theirs", "of theirs", "MB", "theirs", "smaller")
    table("1,000 saves of an agent state, 1 KB changed each, against langgraph-checkpoint-sqlite", head, rows)


PARTS = {"checkpoint": checkpoint_cost, "status": status_cost, "agent": agent_states}

if __name__ == "__main__":
    must_be_compiled()
    print(machine())
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
