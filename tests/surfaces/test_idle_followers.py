"""Clients that follow a session and never read what they are sent."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support.server import SegueServer

CLIENTS, NOTES = 80, 40
WORDS = "word " * 12_000
GROWTH_MB_MAX = 60
"""What the notes would take is 2.4 MB for each client that was given all of them."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SegueServer]:
    running = SegueServer(tmp_path / "server", options=["--rate", "0"]).start()
    yield running
    running.stop()


def memory_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def follower(server: SegueServer) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", server.port))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.sendall(
        f"GET /v1/sessions/one/events/follow HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Authorization: Bearer {server.token}\r\n\r\n".encode()
    )
    assert client.recv(12) == b"HTTP/1.1 200"
    return client


@pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED: the memory of a process is read from /proc")
def test_clients_that_never_read_take_little_memory(server: SegueServer) -> None:
    assert server.ask("POST", "/v1/sessions", {"goal": "followed", "id": "one"})[0] == 201
    with ExitStack() as clients:
        for _ in range(CLIENTS):
            clients.enter_context(follower(server))
        pid = server.pid
        before = memory_mb(pid)
        for number in range(NOTES):
            note = {"command": "Note", "text": f"{number} {WORDS}"}
            assert server.ask("POST", "/v1/sessions/one/commands", {"commands": [note]})[0] == 200
        assert memory_mb(pid) - before < GROWTH_MB_MAX
    assert server.ask("GET", "/health")[0] == 200 and os.path.exists(f"/proc/{pid}")
