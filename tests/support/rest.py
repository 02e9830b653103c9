"""A server and the command line on one store, to compare what a route returns with what a command prints."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.postgres_store import needs_postgres, url_for
from tests.support.server import SegueServer

STORES = [pytest.param("", id="embedded"), pytest.param("postgres", marks=needs_postgres, id="postgres")]


@contextmanager
def serving(store: str, home: Path) -> Iterator[SegueServer]:
    """A server on the embedded file, or on a namespace of its own in Postgres."""
    with SegueServer(home, url_for(home) if store else "", options=["--rate", "0"]) as running:
        yield running


def printed(server: SegueServer, folder: Path, *words: str) -> Any:
    """What `segue … --json` prints, in a process of its own, on the server's own store."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SEGUE_")}
    kept |= {"SEGUE_HOME": str(server.home), "HOME": str(server.home), "SEGUE_EMBEDDER": "static"}
    if server.store:
        kept["SEGUE_STORE"] = server.store
    ran = subprocess.run(
        [sys.executable, "-m", "segue", "--json", *words],
        cwd=folder,
        env=kept,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(ran.stdout)


def done(answer: tuple[int, Any, dict[str, str]], status: int = 200) -> Any:
    """The body of a response, which must have this status."""
    assert answer[0] == status, answer[:2]
    return answer[1]


def begun(server: SegueServer, id: str, *items: str, **more: Any) -> str:
    """A new session with this id."""
    made = done(
        server.ask("POST", "/v1/sessions", {"goal": f"goal of {id}", "items": items, "id": id, **more}), 201
    )
    assert made["session"] == id
    return id


def raw(
    server: SegueServer, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, bytes, Any]:
    """Send a request as it is, without the headers that a client would add."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body or None, {"Authorization": f"Bearer {server.token}", **named})
    answer = connection.getresponse()
    found = answer.status, answer.read(), answer.headers
    connection.close()
    return found
