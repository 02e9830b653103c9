"""What attacks without a key cost the others: times of `/health` and memory, before and meanwhile.

`make bench-attacks`. The server is a process of its own on loopback. Others ask for `/health`, each time on a
connection of its own, first undisturbed, then while a stranger sends requests without an end, ten a second or
one after the other, or holds connections that say nothing. The stranger is a process of its own on the same
cores; what his work alone takes from them is measured with a socket of nobody's that closes every connection.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from bench.common import machine, table
from tests.support import attacks
from tests.support.server import SegueServer

NOBODY = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    while True:
        connection = server.accept()[0]
        connection.recv(65_536)
        connection.close()
"""


def measured(server: SegueServer, under: AbstractContextManager[Any], count: int) -> list[str]:
    """p50 and p99 of `/health` in milliseconds, and the memory, while something goes on."""
    before = attacks.resident_mb(server)
    with under:
        took = attacks.health_seconds(server, count)
        after = attacks.resident_mb(server)
    p50, p99 = attacks.percentile(took, 0.5) * 1000, attacks.percentile(took, 0.99) * 1000
    return [f"{p50:.2f}", f"{p99:.2f}", f"{before:.0f}", f"{after:.0f}"]


@contextmanager
def nobody() -> Iterator[int]:
    """The port of a process that takes a buffer of each connection and closes it."""
    with subprocess.Popen([sys.executable, "-c", NOBODY], stdout=subprocess.PIPE) as process:
        assert process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def main() -> int:
    wish = argparse.ArgumentParser(description=__doc__)
    wish.add_argument("--count", type=int, default=2_000, help="requests for each row")
    wish.add_argument("--megabytes", type=int, default=100)
    wish.add_argument("--connections", type=int, default=1_200)
    args = wish.parse_args()
    rows = []

    def row(what: str, port: int, kind: str, pause: float) -> None:
        with attacks.stranger(port, kind, args.megabytes * 1_000_000, pause) as told:
            figures = measured(server, nullcontext(), args.count)
        rows.append([what, *figures, told["last"]])

    with tempfile.TemporaryDirectory() as home, SegueServer(Path(home), options=["--log", "none"]) as server:
        attacks.health_seconds(server, 200)  # warm
        rows.append(["nothing", *measured(server, nullcontext(), args.count), ""])
        with nobody() as port:
            row("the same, to nobody", port, "header", 0)
        for kind in attacks.KINDS:
            row(f"{kind}, ten a second", server.port, kind, 0.1)
            row(f"{kind}, without a pause", server.port, kind, 0)
        idle = attacks.idle(server, args.connections)
        rows.append([f"{args.connections} idle", *measured(server, idle, args.count), ""])
        rows.append(["nothing", *measured(server, nullcontext(), args.count), ""])
    print(f"{machine()}\n")
    table(
        "Attacks without a key",
        ["meanwhile", "p50 ms", "p99 ms", "MB before", "MB after", "the last one"],
        rows,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
