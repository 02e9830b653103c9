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
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
from bench.common import machine, table
from bench.server import STEPS_A_SESSION, Client, at, drained, resident_mb, work
from tests.support.cluster.programs import missing
from tests.support.cluster.rig import Cluster

CLIENTS = 200
DISK_BYTES = 5 << 30
PROCESSES = 10
"""Among which the clients of the library are divided."""
POOL = 8
WARM_SECONDS = 5.0
REST, LIBRARY = "REST, two servers", "library"
LOOKS = 6
"""How often memory is looked at in a turn."""


class Turn(msgspec.Struct):
    """What a process of clients is to do."""

    url: str
    port: int
    token: str
    mark: str
    clients: int
    by_library: int
    seconds: float


class Seen(msgspec.Struct):
    """What clients of one way saw."""

    seconds: list[float] = []
    errors: list[str] = []


def by_library(url: str, folder: Path, count: int, seconds: float) -> Seen:
    """Clients of the library, a thread each, for a while behind some seconds that do not count. They say when
    all are ready, and begin when they are told to."""
    seen, ready = Seen(), threading.Barrier(count + 1)
    threads = [
        threading.Thread(target=_note, args=(url, folder / str(n), ready, seconds, seen))
        for n in range(count)
    ]
    for thread in threads:
        thread.start()
    ready.wait()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    ready.wait()
    for thread in threads:
        thread.join()
    return seen


def _note(url: str, home: Path, ready: threading.Barrier, seconds: float, seen: Seen) -> None:
    from segue import Segue
    from segue.errors import SegueError

    home.mkdir(parents=True)
    number = 0
    with Segue(store=url, home=home, folder=home) as segue:
        session = segue.start("a session of a day")
        ready.wait()
        ready.wait()
        began = time.perf_counter() + WARM_SECONDS
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
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([*words, str(seconds)], stdin=pipe, stdout=pipe)

    def until_ready(self) -> None:
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def begin(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(b"go\n")
        self._process.stdin.flush()

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

    @contextmanager
    def looking(self, seconds: float) -> Iterator[None]:
        """Within the block, look every so many seconds."""
        over = threading.Event()

        def look() -> None:
            while not over.wait(seconds):
                self._look()

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self._look()

    def _look(self) -> None:
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


async def by_rest(wish: Turn, count: int, begin: Callable[[], None]) -> Seen:
    """Clients of REST for a while, behind some seconds that do not count."""
    clients = [Client(wish.port, wish.token, f"{wish.mark}-{n}") for n in range(count)]
    for client in clients:
        await client.create()
    begin()
    await work(clients, WARM_SECONDS)
    drained(clients)
    for client in clients:
        client.refused = []
    await work(clients, wish.seconds)
    found, _ = drained(clients)
    told = [one or "the connection was closed" for client in clients for one in client.refused]
    return Seen(found, told)


def turn(wish: Turn) -> dict[str, Seen]:
    """All clients for a while, in this process and others."""
    count = wish.by_library // PROCESSES
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="segue-bench-")))
        homes = [folder / str(n) for n in range(PROCESSES if count else 0)]
        others = [LibraryProcess(wish.url, home, count, wish.seconds) for home in homes]
        for other in others:
            stack.callback(other.end)
        for other in others:
            other.until_ready()

        def begin() -> None:
            for other in others:
                other.begin()

        rest = asyncio.run(by_rest(wish, wish.clients - wish.by_library, begin))
        told = [other.seen() for other in others]
    library = Seen([s for one in told for s in one.seconds], [e for one in told for e in one.errors])
    return {REST: rest, LIBRARY: library}


def measured(cluster: Cluster, options: argparse.Namespace) -> tuple[dict[str, Seen], Sizes]:
    """What clients of both ways saw in all turns, and what the cluster had in memory meanwhile."""
    sizes = Sizes(cluster)
    seen: dict[str, Seen] = {}
    token = cluster.servers[0].key(role="writer", project="bench-rest")
    url = cluster.pooled(namespace="bench", pool="2")
    for number in range(options.turns):
        seconds = 60 * options.minutes / options.turns
        wish = Turn(
            url,
            cluster.balancer.servers,
            token,
            f"rest-{number}",
            options.clients,
            options.by_library,
            seconds,
        )
        words = [*shlex.split(options.prefix), sys.executable, "-m", "bench.cluster", "--turn"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as load:
            assert load.stdin is not None
            load.stdin.write(msgspec.json.encode(wish))
            load.stdin.close()
            with sizes.looking(seconds / LOOKS):
                assert load.stdout is not None
                output = load.stdout.read()
        for way, one in msgspec.json.decode(output, type=dict[str, Seen]).items():
            before = seen.setdefault(way, Seen())
            before.seconds += one.seconds
            before.errors += one.errors
    return seen, sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--turn", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--by-library", type=int, default=CLIENTS // 2, help="so many of them; others: REST")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--pool", type=int, default=POOL, help="connections of PgBouncer to Postgres")
    parser.add_argument("--turns", type=int, default=1, help="the minutes in so many parts, on one cluster")
    parser.add_argument("--prefix", default="", help="words before the command of the clients, as of a lock")
    options = parser.parse_args()
    if options.library:
        url, folder, count, seconds = options.library
        sys.stdout.buffer.write(
            msgspec.json.encode(by_library(url, Path(folder), int(count), float(seconds)))
        )
        return
    if options.turn:
        wish = msgspec.json.decode(sys.stdin.buffer.read(), type=Turn)
        sys.stdout.buffer.write(msgspec.json.encode(turn(wish)))
        return
    if missing():
        sys.exit(f"error: apt-get install {' '.join(missing())}")
    os.environ.setdefault("SEGUE_EMBEDDER", "static")
    with Cluster(disk_bytes=DISK_BYTES, pool=options.pool) as cluster:
        cluster.serve()
        before = os.getloadavg()[0]
        seen, sizes = measured(cluster, options)
        where = "in memory" if cluster.small_disks else "on disk"
    print(f"{machine()}, {os.cpu_count()} cores, Postgres' data {where}, load {before:.1f} before,")
    print(f"{options.pool} connections of PgBouncer to Postgres")
    report(options, seen, sizes)


def report(options: argparse.Namespace, seen: dict[str, Seen], sizes: Sizes) -> None:
    """The tables."""
    rows, by_library = [], options.by_library
    counts = {REST: options.clients - by_library, LIBRARY: by_library}
    for way, one in seen.items():
        if not counts[way]:
            continue
        one.seconds.sort()
        p50, p99 = at(one.seconds, 0.5), at(one.seconds, 0.99)
        rows.append(
            [
                way, counts[way], f"{len(one.seconds):,}",
                f"{len(one.seconds) / options.minutes / 60:.0f}", len(one.errors),
                f"{p50:.0f}", f"{p99:.0f}", f"{p99 / max(p50, 0.001):.1f}×",
            ]
        )  # fmt: skip
        for told, number in Counter(one.errors).most_common(5):
            print(f"  {number} × {told}")
    head = ["way", "clients", "writes", "a second", "errors", "p50 ms", "p99 ms", "p99/p50"]
    table(f"{options.clients} clients for {options.minutes:g} minutes through PgBouncer", head, rows)
    shown = sizes.rows[:: max(1, len(sizes.rows) // 10)]
    head = ["MB", *("" for _ in shown)]
    table("Memory, in equal steps", head, [[n, *(f"{row[n]:.0f}" for row in shown)] for n in shown[0]])


if __name__ == "__main__":
    main()
