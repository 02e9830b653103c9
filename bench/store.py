"""What a durable checkpoint costs, beside a bare insert and beside another checkpointer.

`make bench-store`. Everything is interleaved and reported as ratios within this run.
"""

from __future__ import annotations

import gc
import os
import random
import string
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import machine, median_ms, must_be_compiled, table, timed

from segue import Segue, Session
from segue.stores.sqlite import SqliteJournal

SIZES = {"10 KB": 10_000, "100 KB": 100_000, "1 MB": 1_000_000}
ROUNDS = 1000


def text(rng: random.Random, length: int) -> str:
    return "".join(rng.choices(string.ascii_letters + " ", k=length))


def message(rng: random.Random, number: int) -> dict[str, Any]:
    """About 1 KB, as an agent's conversation holds it."""
    return {"id": f"msg-{number}", "role": "assistant", "content": text(rng, 940), "tokens": number + 300}


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


def bare_inserter(seg: Segue, length: int):  # type: ignore[no-untyped-def]
    assert isinstance(seg.journal, SqliteJournal)
    db = seg.journal.database.connection()
    db.execute("CREATE TABLE IF NOT EXISTS bare (id INTEGER PRIMARY KEY, body BLOB)")
    body = os.urandom(length)
    return lambda: db.execute("INSERT INTO bare (body) VALUES (?)", (body,))


def checkpoint_cost() -> None:
    rows = []
    for name, size in SIZES.items():
        for kind in ("a session of that size", "an agent state of that size"):
            with tempfile.TemporaryDirectory() as folder:
                rng = random.Random(size)
                seg = open_segue(Path(folder))
                if kind.startswith("a session"):
                    session = grown_session(seg, size, rng)
                else:
                    session = seg.start("hold a large agent state")
                    session.save_agent("planner", {"messages": [message(rng, i) for i in range(size // 1000)]})
                bare = bare_inserter(seg, 330)
                ours, theirs, alone = [], [], []
                for number in range(ROUNDS):
                    step = f"step {number} of the work that is under way"
                    ours.append(timed(lambda step=step: session.done(step)))
                    theirs.append(timed(bare))
                for _ in range(ROUNDS):
                    alone.append(timed(bare))
                mean = sum(ours) / sum(theirs)
                rows.append(
                    (name, kind, f"{median_ms(ours):.3f}", f"{median_ms(theirs):.3f}",
                     f"{median_ms(ours) / median_ms(theirs):.2f}", f"{mean:.2f}", f"{median_ms(ours) / median_ms(alone):.2f}")
                )  # fmt: skip
                seg.close()
    head = ("state", "of", "checkpoint ms", "bare insert ms", "ratio", "ratio of means", "ratio to inserts in a tight loop")
    table("A durable checkpoint against a bare insert of as many bytes (limit 2.0)", head, rows)


def status_cost() -> None:
    with tempfile.TemporaryDirectory() as folder:
        seg = open_segue(Path(folder))
        small, large = seg.start("ten events"), seg.start("ten thousand events")
        for i in range(4):
            small.checkpoint(done=f"a{i}", begin=f"b{i}")
        for i in range(5000):
            large.checkpoint(done=f"finished item number {i}", note=f"edited file {i}.py")
        versions = (small.state.version, large.state.version)
        warm = {s.id: [] for s in (small, large)}
        cold = {s.id: [] for s in (small, large)}
        for _ in range(60):
            for session in (small, large):
                warm[session.id].append(timed(session.status))
        for _ in range(30):
            for session in (small, large):
                fresh = open_segue(Path(folder))
                fresh.journal.streams("nothing")
                cold[session.id].append(timed(lambda f=fresh, s=session: f.session(s.id).status()))
                fresh.journal.close()
        rows = []
        for name, seen in (("same process, again", warm), ("a new Segue()", cold)):
            a, b = median_ms(seen[small.id]), median_ms(seen[large.id])
            rows.append((name, versions[0], f"{a:.3f}", versions[1], f"{b:.3f}", f"{b - a:.3f}"))
        table("Status of a long session (limit: 2 ms more)", ("how", "events", "ms", "events", "ms", "more ms"), rows)
        seg.close()


def agent_states() -> None:
    from langgraph.checkpoint.base import empty_checkpoint
    from langgraph.checkpoint.sqlite import SqliteSaver

    rows = []
    for name, size in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            rng = random.Random(size)
            seg = open_segue(Path(folder))
            session = seg.start("save often")
            path = Path(folder) / "langgraph.db"
            messages = [message(rng, i) for i in range(size // 1000)]
            put, their_put = [], []
            with SqliteSaver.from_conn_string(str(path)) as saver:
                saver.setup()
                config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
                for number in range(ROUNDS):
                    messages = [*messages[1:], message(rng, number + 10_000)]
                    plan = ["analyse", "model", f"step {number % 7}"]
                    value = {"messages": messages, "plan": plan}
                    put.append(timed(lambda v=value: session.save_agent("planner", v)))
                    checkpoint = empty_checkpoint()
                    checkpoint["channel_values"] = value
                    checkpoint["channel_versions"] = {"messages": number + 1, "plan": number + 1}
                    meta: Any = {"source": "loop", "step": number, "parents": {}}
                    new: Any = {"messages": number + 1, "plan": number + 1}
                    keep = {}

                    def their(c=checkpoint, m=meta, n=new, k=keep) -> None:  # type: ignore[no-untyped-def]
                        k["config"] = saver.put(config, c, m, n)

                    their_put.append(timed(their))
                    config = keep["config"]
                get, their_get = [], []
                for _ in range(40):
                    get.append(timed(lambda: session.load_agent("planner")))
                    their_get.append(timed(lambda: saver.get_tuple({"configurable": {"thread_id": "t"}})))
            assert session.load_agent("planner") == value
            seg.journal.close()
            ours_mb = sum(f.stat().st_size for f in (Path(folder) / "home").glob("segue.db*")) / 1e6
            theirs_mb = path.stat().st_size / 1e6
            a, b = median_ms(put[-100:]), median_ms(their_put[-100:])
            g, h = median_ms(get), median_ms(their_get)
            rows.append(
                (name, f"{a:.3f}", f"{b:.3f}", f"{b / a:.1f}x", f"{g:.3f}", f"{h:.3f}", f"{g / h:.2f}x",
                 f"{ours_mb:.1f}", f"{theirs_mb:.0f}", f"{theirs_mb / ours_mb:.0f}x")
            )  # fmt: skip
            gc.collect()
    head = ("state", "put ms", "theirs", "faster", "get ms", "theirs", "of theirs", "MB", "theirs", "smaller")
    table("1,000 saves of an agent state, 1 KB changed each, against langgraph-checkpoint-sqlite", head, rows)


if __name__ == "__main__":
    must_be_compiled()
    print(machine())
    wanted = sys.argv[1:] or ["checkpoint", "status", "agent"]
    if "checkpoint" in wanted:
        checkpoint_cost()
    if "status" in wanted:
        status_cost()
    if "agent" in wanted:
        agent_states()
