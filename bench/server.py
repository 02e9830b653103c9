"""What the server costs: `progress.update` over HTTP, beside a bare Starlette application with one insert.

`make bench-server`. Both run in processes of their own on loopback, on the same kind of store, with the same
ASGI server, and are asked in turn within this run: by one client for latency, by many for throughput. Then
many clients work on Segue for `--seconds`, with no error allowed, and its memory is looked at. The client is
a plain one on asyncio; on a machine of two cores it takes one of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
from bench.common import machine, must_be_compiled, table
from tests.support.postgres import PostgresServer
from tests.support.server import SegueServer

CLIENTS = 200
STEPS_A_SESSION = 50
"""Every answer tells all that is completed, so a session without an end would measure that list."""
SLICES = 4
AEGIS = """
Aegis Memory 2.7.0, measured earlier on its own server and Postgres (one client, loopback, milliseconds):
update_session with five fields p50 10.5 to 24.0, p99 18 to 52; get_session p50 6.5 to 14.0; 267 MB a worker.
Four clients of 25 `mark_complete` each left 28 of 100; of 300 acknowledged creates 18 were not there for a
second connection. Its default rate limit stops a client after 60 requests a minute."""


# -- the bare one ------------------------------------------------------------------------------------


class Change(msgspec.Struct):
    """What is sent: five fields."""

    completed_items: list[str]
    in_progress_item: str
    next_items: list[str]
    summary: str
    last_action: str


def bare(store: str) -> None:
    """Serve one route that decodes the body, does one durable insert and answers; prints its port."""
    import socket

    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    insert = _postgres_insert(store) if store.startswith("postgres") else _file_insert(store)

    async def update(request: Request) -> Response:
        change = msgspec.json.decode(await request.body(), type=Change)
        await run_in_threadpool(insert, msgspec.json.encode(change))
        return Response(msgspec.json.encode(change), media_type="application/json")

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(2_048)
    print(listening.getsockname()[1], flush=True)
    app = Starlette(routes=[Route("/memories/ace/session/{id}", update, methods=["PATCH"])])
    config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[listening])


def _file_insert(path: str) -> Any:
    import apsw

    local = threading.local()

    def connected() -> Any:
        db = apsw.Connection(path)
        db.set_busy_timeout(10_000)
        db.pragma("journal_mode", "wal")
        db.pragma("synchronous", "FULL")
        local.db = db
        return db

    connected().execute("CREATE TABLE IF NOT EXISTS bare (id INTEGER PRIMARY KEY, body BLOB)")

    def insert(body: bytes) -> None:
        db = getattr(local, "db", None) or connected()
        db.execute("INSERT INTO bare (body) VALUES (?)", (body,))

    return insert


def _postgres_insert(url: str) -> Any:
    import psycopg

    local = threading.local()
    with psycopg.connect(url, autocommit=True) as first:
        first.execute("CREATE TABLE IF NOT EXISTS bare (id bigserial PRIMARY KEY, body bytea)")

    def insert(body: bytes) -> None:
        db = getattr(local, "db", None)
        if db is None:
            db = local.db = psycopg.connect(url, autocommit=True)
        db.execute("INSERT INTO bare (body) VALUES (%s)", (body,))

    return insert


class BareServer:
    """The bare one as a process."""

    def __init__(self, store: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.server", "--bare", store], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self.pid = self._process.pid
        self.token = ""

    def __enter__(self) -> BareServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(30)


# -- the client --------------------------------------------------------------------------------------


class Client:
    """One connection that works on one session."""

    def __init__(self, port: int, token: str, session: str) -> None:
        self._port, self._session = port, session
        self._head = (
            f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        )
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.number = 0
        self.seconds: list[float] = []
        self.errors = 0
        self.refused: list[str] = []
        """What errors were answered with; empty where the connection was closed."""

    async def create(self) -> None:
        await self._ask("POST", "/memories/ace/session", {"session_id": self._session})

    async def update(self) -> None:
        """Say how far the session is, in five fields."""
        if self.number and self.number % STEPS_A_SESSION == 0:  # a session of a day, not of a year
            self._session = f"{self._session.partition('.')[0]}.{self.number}"
            await self.create()
        n = self.number = self.number + 1
        body = {
            "completed_items": [f"step {n}"], "in_progress_item": f"step {n + 1}",
            "next_items": [f"step {n + 2}", f"step {n + 3}"], "summary": f"{n} steps are done",
            "last_action": f"finished step {n}, as planned",
        }  # fmt: skip
        begun = time.perf_counter()
        status = await self._ask("PATCH", f"/memories/ace/session/{self._session}", body)
        self.seconds.append(time.perf_counter() - begun)
        self.errors += status != 200

    async def _ask(self, method: str, path: str, value: Any) -> int:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        body = json.dumps(value).encode()
        writer.write(
            f"{method} {path} HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        )
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            _, _, rest = head.partition(b"content-length:")
            answer = await reader.readexactly(int(rest.split(b"\r\n", 1)[0]))
        except (asyncio.IncompleteReadError, OSError):
            self._streams = None
            self.refused.append("")
            return 0
        status = int(head.split(b" ", 2)[1])
        if status >= 400:
            self.refused.append(f"{status} {answer[:200].decode(errors='replace')}")
        return status

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            await self._streams[1].wait_closed()


async def work(clients: Sequence[Client], seconds: float) -> None:
    """All of them, one request behind the other, for a while."""
    end = time.perf_counter() + seconds

    async def update_until_end(client: Client) -> None:
        while time.perf_counter() < end:
            await client.update()

    await asyncio.gather(*(update_until_end(client) for client in clients))


def drained(clients: Sequence[Client]) -> tuple[list[float], int]:
    """What they measured, and how often something went wrong; they begin anew."""
    seconds = sorted(second for client in clients for second in client.seconds)
    errors = sum(client.errors for client in clients)
    for client in clients:
        client.seconds, client.errors = [], 0
    return seconds, errors


def at(seconds: Sequence[float], share: float) -> float:
    """A quantile of sorted seconds, in milliseconds."""
    return 1000 * seconds[min(len(seconds) - 1, int(share * len(seconds)))] if seconds else 0.0


def resident_mb(pid: int) -> float:
    """What a process has in memory."""
    output = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True).stdout
    return int(output.strip() or 0) / 1024


def processor_seconds(pid: int) -> float:
    """What a process has taken of the processors; 0 where that cannot be read."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# -- the tables --------------------------------------------------------------------------------------


class Pair:
    """Clients of the bare one and of Segue."""

    def __init__(self, bare_one: BareServer, segue: SegueServer, count: int, mark: str) -> None:
        token = segue.key(role="writer", project=f"bench-{mark}")
        self.pids = (bare_one.pid, segue.pid)
        self.sides = {
            "bare Starlette, one insert": [Client(bare_one.port, "", f"{mark}-{n}") for n in range(count)],
            "Segue, progress.update": [Client(segue.port, token, f"{mark}-{n}") for n in range(count)],
        }

    async def begin(self) -> None:
        for client in self.sides["Segue, progress.update"]:
            await client.create()
        for clients in self.sides.values():
            await work(clients, 0.5)
            drained(clients)

    async def close(self) -> None:
        for clients in self.sides.values():
            for client in clients:
                await client.close()


class SideResult:
    """What came of one side."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.errors = 0
        self.took = self.processor = 0.0


async def in_turn(pair: Pair, seconds: float) -> dict[str, SideResult]:
    """Both for so many seconds, in slices."""
    sides = {name: SideResult() for name in pair.sides}
    for _ in range(SLICES):
        for (name, clients), pid in zip(pair.sides.items(), pair.pids, strict=True):
            side, begun, before = sides[name], time.perf_counter(), processor_seconds(pid)
            await work(clients, seconds / SLICES)
            side.took += time.perf_counter() - begun
            side.processor += processor_seconds(pid) - before
            seen, errors = drained(clients)
            side.seconds += seen
            side.errors += errors
    for side in sides.values():
        side.seconds.sort()
    return sides


def table_rows(kind: str, count: int, sides: dict[str, SideResult]) -> list[list[object]]:
    """Rows of a table."""
    rates = {name: len(side.seconds) / side.took for name, side in sides.items()}
    base = next(iter(rates.values()))
    return [
        [
            kind, count, name, f"{rates[name]:,.0f}", f"{rates[name] / base:.2f}×",
            f"{at(side.seconds, 0.5):.1f}", f"{at(side.seconds, 0.99):.1f}",
            f"{1000 * side.processor / max(1, len(side.seconds)):.2f}", side.errors,
        ]
        for name, side in sides.items()
    ]  # fmt: skip


async def steady(segue: SegueServer, count: int, seconds: float, mark: str) -> list[object]:
    """Many clients for a while, and what the server has in memory meanwhile."""
    token = segue.key(role="writer", project=f"steady-{mark}")
    clients = [Client(segue.port, token, f"steady-{n}") for n in range(count)]
    for client in clients:
        await client.create()
    await work(clients, min(2.0, seconds / 4))
    drained(clients)
    sizes = [resident_mb(segue.pid)]
    for _ in range(2):
        await work(clients, seconds / 2)
        sizes.append(resident_mb(segue.pid))
    seen, errors = drained(clients)
    for client in clients:
        await client.close()
    median = statistics.median(seen) * 1000
    return [
        mark, count, f"{seconds:g}", f"{len(seen):,}", errors, f"{median:.1f}", f"{at(seen, 0.99):.1f}",
        f"{at(seen, 0.99) / median:.1f}×", " → ".join(f"{size:.0f}" for size in sizes),
    ]  # fmt: skip


async def measured(kind: str, bare_one: BareServer, segue: SegueServer, options: argparse.Namespace) -> Any:
    """The rows of one kind of store."""
    rows = []
    for count in (1, options.clients):
        pair = Pair(bare_one, segue, count, f"{kind}-{count}".lower())
        await pair.begin()
        rows += table_rows(kind, count, await in_turn(pair, options.turn))
        await pair.close()
    return rows, await steady(segue, options.clients, options.seconds, kind.lower())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bare", default="", help=argparse.SUPPRESS)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--seconds", type=float, default=60.0, help="of the steady load")
    parser.add_argument("--turn", type=float, default=12.0, help="seconds for each of the two")
    parser.add_argument("--stores", default="embedded,Postgres")
    options = parser.parse_args()
    if options.bare:
        bare(options.bare)
        return
    must_be_compiled()
    rows, loads = [], []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="segue-bench-")))
        for kind in options.stores.split(","):
            url = store = ""
            if kind == "Postgres":
                database = PostgresServer().start()
                stack.callback(database.stop)
                url, store = database.url(), database.url(namespace="bench")
            bare_one = stack.enter_context(BareServer(url or str(folder / "bare.db")))
            segue = stack.enter_context(SegueServer(folder / kind, store, options=["--rate", "0"]))
            new_rows, load = asyncio.run(measured(kind, bare_one, segue, options))
            rows += new_rows
            loads.append(load)
    print(f"{machine()}, {os.cpu_count()} cores; the client takes its share of them")
    head = ["store", "clients", "what", "requests/s", "of bare", "p50 ms", "p99 ms", "processor ms", "errors"]
    table("`progress.update` over HTTP, beside one insert", head, rows)
    head = ["store", "clients", "seconds", "requests", "errors", "p50 ms", "p99 ms", "p99/p50", "server MB"]
    table("Steady load on Segue", head, loads)
    print(AEGIS)


if __name__ == "__main__":
    main()
