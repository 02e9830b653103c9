"""What a session of the OpenAI Agents SDK costs in Segue's store, beside the SDK's own ``SQLiteSession``.

`make bench-openai-agents`. The two take turns, and the figures are ratios within this run. Both commit each
addition durably: a write-ahead log with full syncs.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from agents import SQLiteSession
from bench.common import machine, median_ms, must_be_compiled, table

from segue import Segue
from segue.integrations.openai_agents import SegueSession

LENGTHS = (0, 100, 1_000)
ROUNDS = 150
ITEMS_EACH = 2
Make = Callable[[str], Any]


def item(rng: random.Random) -> dict[str, str]:
    """About 500 bytes, as a turn of a conversation."""
    words = " ".join(rng.choice(("build", "test", "file", "error", "line", "done")) for _ in range(85))
    return {"role": "assistant", "content": words}


async def seconds(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def compared(makers: dict[str, Make], length: int, rng: random.Random) -> list[list[object]]:
    """Each operation on conversations that have so many items already, in turns."""
    name = f"conversation-{length}"
    sessions = {title: make(name) for title, make in makers.items()}
    for session in sessions.values():
        for _ in range(length // 50):
            await session.add_items([item(rng) for _ in range(50)])
    took: dict[tuple[str, str], list[float]] = {}
    for _ in range(ROUNDS):
        new = [item(rng) for _ in range(ITEMS_EACH)]
        for title in rng.sample(sorted(sessions), len(sessions)):
            session = sessions[title]
            took.setdefault(("add", title), []).append(await seconds(partial(session.add_items, new)))
            took.setdefault(("get", title), []).append(await seconds(session.get_items))
            took.setdefault(("pop", title), []).append(await seconds(session.pop_item))
    for _ in range(10):
        for title, make in makers.items():
            fresh = make(name)
            took.setdefault(("get by a new session", title), []).append(await seconds(fresh.get_items))
    theirs, ours = sorted(makers)[::-1]
    rows: list[list[object]] = []
    for operation in dict.fromkeys(operation for operation, _ in took):
        one, other = (median_ms(took[operation, title]) for title in (theirs, ours))
        rows.append(
            [f"{operation}, {length} items there", f"{one:.2f}", f"{other:.2f}", f"{other / one:.2f}"]
        )
    return rows


def main() -> int:
    must_be_compiled()
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with Segue(home=place / "segue", folder=place) as segue:
            makers: dict[str, Make] = {
                "segue": lambda name: SegueSession(name, segue),
                "sqlite": lambda name: SQLiteSession(name, place / "theirs.db"),
            }
            rows = [row for length in LENGTHS for row in asyncio.run(compared(makers, length, rng))]
    print(machine())
    table(
        f"A session of the OpenAI Agents SDK, medians of {ROUNDS} in ms; an addition has {ITEMS_EACH} items",
        ("operation", "SQLiteSession", "SegueSession", "ratio"), rows,
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
