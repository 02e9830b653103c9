"""What a quota costs: an append through a server, in a project with every quota and in one without, in turn.

`python -m bench.quotas`. One server on Postgres, one client of the remote store for each project, asked one
after the other, so that both meet the same machine; the ratio of the medians counts.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.common import machine, table
from tests.support.postgres import PostgresServer
from tests.support.server import SegueServer

from segue.stores.base import Append
from segue.stores.remote import RemoteStore
from segue.testing.stores import drafts

WARM_UP = 100
QUOTA = {"sessions": 10**6, "events": 10**9, "memories": 10**6, "bytes": 10**12, "requests": 10**9}


def appending(store: RemoteStore) -> Callable[[], float]:
    """Append an event of some hundred bytes to a session, and say how long it took."""
    version = 0

    def append() -> float:
        nonlocal version
        begun = time.perf_counter()
        store.append(Append(f"session/s{version // 500}", version % 500, drafts("x" * 300)))
        version += 1
        return time.perf_counter() - begun

    return append


def in_turn(calls: Sequence[Callable[[], float]], count: int) -> list[list[float]]:
    """How long each call took, so many times, one after the other in changing order."""
    seconds: list[list[float]] = [[] for _ in calls]
    for turn in range(count + WARM_UP):
        for number in range(len(calls)) if turn % 2 else reversed(range(len(calls))):
            took = calls[number]()
            if turn >= WARM_UP:
                seconds[number].append(took)
    return seconds


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--appends", type=int, default=2_000)
    count = options.parse_args().appends
    os.environ.setdefault("SEGUE_EMBEDDER", "hash")
    home = Path(tempfile.mkdtemp(prefix="segue-bench-"))
    names = ("without quotas", "with all of them")
    with (
        PostgresServer() as postgres,
        SegueServer(home, postgres.database("quotas"), options=["--rate", "0"]) as server,
    ):
        assert server.ask("PUT", "/v1/quotas/limited", QUOTA)[0] == 200
        stores = [RemoteStore(server.url, server.key(project=name)) for name in ("free", "limited")]
        seconds = in_turn([appending(store) for store in stores], count)
        for store in stores:
            store.close()
    rows = [
        [
            name,
            f"{1000 * statistics.median(found):.3f}",
            f"{1000 * statistics.quantiles(found, n=100)[98]:.2f}",
        ]
        for name, found in zip(names, seconds, strict=True)
    ]
    free, limited = map(statistics.median, seconds)
    print(machine())
    table("An append through a server", ("project", "p50, ms", "p99, ms"), rows)
    print(f"\nratio of the medians: {limited / free:.3f}")


if __name__ == "__main__":
    main()
