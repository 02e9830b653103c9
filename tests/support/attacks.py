"""What a stranger without a key does to a server, and what it costs the others meanwhile."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.server import SegueServer

_PIECE = 65_536
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


def connect(server: SegueServer, seconds: float = 30.0) -> socket.socket:
    """A connection to the server."""
    return socket.create_connection(("127.0.0.1", server.port), timeout=seconds)


def answer_to(server: SegueServer, *pieces: bytes, seconds: float = 30.0) -> bytes:
    """What the server says to these bytes until it closes the connection, or says nothing more."""
    with connect(server, seconds) as connection:
        with suppress(OSError):
            for piece in pieces:
                connection.sendall(piece)
        return _rest(connection)


def _rest(connection: socket.socket) -> bytes:
    found = b""
    with suppress(OSError):
        while piece := connection.recv(_PIECE):
            found += piece
    return found


def status_of(answer: bytes) -> int:
    """The status in an answer; 0 if there is none."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


class Attack:
    """Bytes without an end: how much of them the server took, and what it said."""

    def __init__(self, begin: bytes, piece: bytes, total: int) -> None:
        self.begin, self.piece, self.total = begin, piece, total
        self.sent = 0
        self.answer = b""

    def __call__(self, server: SegueServer) -> None:
        self.on(server.port)

    def on(self, port: int) -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=30.0) as connection:
            with suppress(OSError):
                connection.sendall(self.begin)
                while self.sent < self.total:
                    connection.sendall(self.piece)
                    self.sent += len(self.piece)
            self.answer = _rest(connection)


def endless(kind: str, total: int) -> Attack:
    """An attack by one request: a header, URL, number of headers, or trailer without an end."""
    letters = b"a" * _PIECE
    posted = b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    return {
        "header": Attack(GET + b"X: ", letters, total),
        "name": Attack(GET, letters, total),
        "url": Attack(b"GET /", letters, total),
        "headers": Attack(GET, b"X: a\r\n" * (_PIECE // 6), total),
        "lines": Attack(b"", b"\r\n" * (_PIECE // 2), total),
        "trailer": Attack(posted + b"1\r\nx\r\n0\r\nX: ", letters, total),
        "trailers": Attack(posted + b"1\r\nx\r\n0\r\n", b"X: a\r\n" * (_PIECE // 6), total),
        "chunks": Attack(posted, b"1\r\nx\r\n" * (_PIECE // 6), total),
    }[kind]


KINDS = ("header", "name", "url", "headers", "lines", "trailer", "trailers", "chunks")


@contextmanager
def idle(server: SegueServer, count: int, sent: bytes = b"GET /h") -> Iterator[list[socket.socket]]:
    """So many connections that sent the beginning of a request, and nothing more."""
    held: list[socket.socket] = []
    try:
        for _ in range(count):
            held.append(connect(server))
            with suppress(OSError):
                held[-1].sendall(sent)
        yield held
    finally:
        for one in held:
            one.close()


@contextmanager
def stranger(port: int, kind: str, total: int, pause: float) -> Iterator[dict[str, str]]:
    """Repeat an attack meanwhile, in a process of its own, with a pause before each but the first; at the
    end the mapping tells what became of the last one."""
    told: dict[str, str] = {}
    command = [sys.executable, "-m", "tests.support.attacks", str(port), kind, str(total), str(pause)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        process.stdout.readline()
        try:
            yield told
        finally:
            process.stdin.close()
            told["last"] = process.stdout.read().decode().strip()


def _repeat(port: int, kind: str, total: int, pause: float) -> None:
    over = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    print("ready", flush=True)
    attack = endless(kind, total)
    while True:
        with suppress(OSError):
            attack = endless(kind, total)
            attack.on(port)
        if over.wait(pause):
            break
    print(f"{attack.sent / 1e6:.1f} of {total / 1e6:.0f} MB taken, {status_of(attack.answer) or 'reset'}")


def health_seconds(server: SegueServer, count: int) -> list[float]:
    """How long others wait for ``/health``, each on a connection of its own, in order of the time."""
    took = []
    for _ in range(count):
        begun = time.perf_counter()
        status = status_of(answer_to(server, GET + b"Connection: close\r\n\r\n"))
        took.append(time.perf_counter() - begun)
        assert status == 200, f"others got {status}"
    return sorted(took)


def percentile(values: list[float], part: float) -> float:
    """The value below which this part of sorted values lies."""
    return values[min(len(values) - 1, int(len(values) * part))]


def resident_mb(server: SegueServer) -> float:
    """The memory of the server, in MB."""
    pages = int(Path(f"/proc/{server.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    _repeat(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
