"""A process that works on a thread until it is killed: ``python -m tests.integrations.langgraph.worker``.

``puts NAME COUNT`` puts checkpoints and writes, and prints each id once it is durable. ``graph`` runs the
graph of the guide's example, whose second step waits to be killed where the file ``wait`` is.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import empty_checkpoint
from tests.integrations.langgraph.graphs import chain, of

from segue.integrations.langgraph import SegueSaver


def puts(saver: SegueSaver, name: str, count: int) -> None:
    config: Any = {"configurable": {"thread_id": "shared", "checkpoint_ns": ""}}
    newest = saver.get_tuple(config)
    items = list(newest.checkpoint["channel_values"]["items"]) if newest else []
    for step in range(count):
        items = [*items[-60:], f"{name} {step} " + "word " * 60]
        made = empty_checkpoint()
        made["channel_values"] = {"items": items, "by": name}
        made["channel_versions"] = {"items": step + 1, "by": 1}
        config = saver.put(config, made, {"source": "loop", "step": step}, made["channel_versions"])
        print("put", made["id"], items[-1].split(" word")[0], flush=True)
        saver.put_writes(config, [("items", [made["id"]])], f"task-{name}")
        print("written", made["id"], flush=True)


def graph(saver: SegueSaver) -> None:
    def wait(name: str, state: Any) -> None:
        print("begun", name, flush=True)
        while name == "build" and Path("wait").exists():
            time.sleep(0.01)

    print(chain(saver, "read", "build", "test", before=wait).invoke(
        None if saver.get_tuple(of("job")) else {"task": "Ship it", "done": []}, of("job"), durability="sync"
    )["done"])  # fmt: skip


if __name__ == "__main__":
    with SegueSaver() as opened:
        if sys.argv[1] == "puts":
            puts(opened, sys.argv[2], int(sys.argv[3]))
        else:
            graph(opened)
