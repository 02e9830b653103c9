"""What a team of 200 sees of a whole cluster: half of it by REST, half by the library, all through PgBouncer.

`make bench-cluster`. Three Postgres under Patroni with a synchronous standby, etcd, HAProxy, PgBouncer in
transaction mode and two servers run on this machine; data are in memory where mounts are allowed. Each client
works on sessions of its own, one write behind the other, without a pause: by REST through HAProxy and a
server, or by the library on PgBouncer, in processes of their own. Nothing fails here; that is `make
soak-cluster`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec
from bench.common import machine, table
from bench.server import STEPS_A_SESSION, Client, at, drained, resident_mb, work
from tests.support.cluster.programs import missing
from tests.support.cluster.rig import Cluster

CLIENTS = 200
DISK_BYTES = 5 << 30
PROCESSES = 2
"""Among which the clients of the library are divided."""
WARM_SECONDS = 5.0


class Seen(msgspec.Struct):
    """What clients of one way saw."""

    seconds: list[float] = []
    errors: list[str] = []


def by_library(url: str, folder: Path, count: int, seconds: float) -> Seen:
    """Clients of the library, a thread each, for a while behind some seconds that do not count."""
    seen = Seen()
    began = time.perf_counter() + WARM_SECONDS
    threads = [
        threading.Thread(target=_note, args=(url, folder / str(n), began, seconds, seen))
        for n in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


def _note(url: str, home: Path, began: float, seconds: float, seen: Seen) -> None:
    from segue import Segue
    from segue.errors import SegueError

    home.mkdir(parents=True)
    number = 0
    with Segue(store=url, home=home, folder=home) as segue:
        session = segue.start("a session of a day")
        while (now := time.perf_counter()) < began + seconds:
            number += 1
            try:
                if number % STEPS_A_SESSION == 0:
                    session = segue.start("a session of a day")
                    continue
                session.note(f"step {number} is done, as planned")
            except SegueError as fault:
                seen.errors.append(f"{type(fault).__name__}: {fault.message[:100]}")
            if now > began:
                seen.seconds.append(time.perf_counter() - now)


class LibraryProcess:
    """Clients of the library in a process of their own."""

    def __init__(self, url: str, folder: Path, count: int, seconds: float) -> None:
        words = [sys.executable, "-m", "bench.cluster", "--library", url, str(folder), str(count)]
        self._process = subprocess.Popen([*words, str(seconds)], stdout=subprocess.PIPE)

    def seen(self) -> Seen:
        output, _ = self._process.communicate(timeout=3_600)
        return msgspec.json.decode(output, type=Seen)

    def end(self) -> None:
        self._process.kill()


class Sizes:
    """What the parts of a cluster have in memory, looked at again and again."""

    def __init__(self, cluster: Cluster) -> None:
        self.parts = {f"server {n}": [server.pid] for n, server in enumerate(cluster.servers, 1)}
        self.parts["PgBouncer"] = [cluster.pooler.program.pid]
        self._primary = cluster.primary()
        self.rows: list[dict[str, float]] = []

    def look(self) -> None:
        """Note the sizes of now."""
        row = {name: sum(map(resident_mb, pids)) for name, pids in self.parts.items()}
        row["Postgres (private)"] = sum(_private_mb(pid) for pid in self._primary.pids())
        self.rows.append(row)


def _private_mb(pid: int) -> float:
    """What a process has for itself: the buffers that all of Postgres shares would count for each."""
    try:
        fields = Path(f"/proc/{pid}/smaps_rollup").read_text().split("\n")
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in fields if line.startswith("Private_")) / 1024


async def by_rest(clients: Sequence[Client], seconds: float, sizes: Sizes, looks: int) -> None:
    """Clients of REST for a while, with looks at the sizes in between."""
    for client in clients:
        await client.create()
    await work(clients, WARM_SECONDS)
    drained(clients)
    sizes.look()
    for _ in range(looks):
        await work(clients, seconds / looks)
        await asyncio.to_thread(sizes.look)


def measured(cluster: Cluster, folder: Path, count: int, seconds: float) -> tuple[dict[str, Seen], Sizes]:
    """What clients of both ways saw, and what the cluster had in memory meanwhile."""
    half, sizes = count // 2, Sizes(cluster)
    url = cluster.pooled(namespace="bench", pool="2")
    token = cluster.servers[0].key(role="writer", project="bench-rest")
    with ExitStack() as stack:
        each = half // PROCESSES
        others = [LibraryProcess(url, folder / str(n), each, seconds) for n in range(PROCESSES)]
        for other in others:
            stack.callback(other.end)
        clients = [Client(cluster.balancer.servers, token, f"rest-{n}") for n in range(count - half)]
        asyncio.run(by_rest(clients, seconds, sizes, looks=10))
        found, errors = drained(clients)
        told = [other.seen() for other in others]
    by_rest_seen = Seen(found, ["status"] * errors)
    library = Seen([s for one in told for s in one.seconds], [e for one in told for e in one.errors])
    return {"REST, two servers": by_rest_seen, "library": library}, sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--minutes", type=float, default=10.0)
    options = parser.parse_args()
    if options.library:
        url, folder, count, seconds = options.library
        seen = by_library(url, Path(folder), int(count), float(seconds))
        sys.stdout.buffer.write(msgspec.json.encode(seen))
        return
    if missing():
        sys.exit(f"error: apt-get install {' '.join(missing())}")
    os.environ.setdefault("SEGUE_EMBEDDER", "static")
    seconds = 60 * options.minutes
    with (
        tempfile.TemporaryDirectory(prefix="segue-bench-") as folder,
        Cluster(disk_bytes=DISK_BYTES) as cluster,
    ):
        cluster.serve()
        before = os.getloadavg()[0]
        seen, sizes = measured(cluster, Path(folder), options.clients, seconds)
        where = "in memory" if cluster.small_disks else "on disk"
    print(f"{machine()}, {os.cpu_count()} cores, Postgres' data {where}, load {before:.1f} before")
    rows = []
    for way, one in seen.items():
        one.seconds.sort()
        p50, p99 = at(one.seconds, 0.5), at(one.seconds, 0.99)
        rows.append(
            [
                way, options.clients // 2, f"{len(one.seconds):,}", f"{len(one.seconds) / seconds:.0f}",
                len(one.errors), f"{p50:.0f}", f"{p99:.0f}", f"{p99 / max(p50, 0.001):.1f}×",
            ]
        )  # fmt: skip
        for told in sorted(set(one.errors))[:5]:
            print(f"  {told}")
    head = ["way", "clients", "writes", "a second", "errors", "p50 ms", "p99 ms", "p99/p50"]
    table(f"{options.clients} clients for {options.minutes:g} minutes through PgBouncer", head, rows)
    head = ["MB", *(f"{int(share * 10)} %" for share in range(len(sizes.rows)))]
    names = list(sizes.rows[0])
    table("Memory", head, [[name, *(f"{row[name]:.0f}" for row in sizes.rows)] for name in names])


if __name__ == "__main__":
    main()
