"""Segue servers for tests of the remote store: the real one, shared, and a small one that tests control.

The small one (``Portal``) is real HTTP in front of an embedded store, in this process: a key for each role,
one route, problems as JSON, and whatever a test wants to happen in between. ``Cutting`` is a network that
breaks: a proxy that lets a request through, and loses the answer when it is told to.
"""

from __future__ import annotations

import atexit
import gzip
import hashlib
import http.client
import json
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from ssl import SSLContext
from typing import Any

from tests.support.server import SegueServer, temporary

from segue.core.server import access
from segue.errors import SegueError
from segue.services.server import store_over_http
from segue.stores.base import Journal
from segue.stores.remote import RemoteStore
from segue.stores.sqlite import SqliteStore

KEY = "test-key-of-an-admin"


class Access(access.Access):
    """What a key gives access to."""

    role: str = "admin"
    project: str = "default"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    open: set[socket.socket]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember connections, so that stopping the server closes them, too."""
        self.open = {one for one in getattr(self, "open", set()) if one.fileno() >= 0} | {request}
        super().process_request(request, client_address)

    def server_close(self) -> None:
        super().server_close()
        for one in getattr(self, "open", set()):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of clients that are gone."""


class Portal:
    """A server on a free port of loopback, in a thread."""

    def __init__(
        self, folder: Path, *, port: int = 0, journal: Journal | None = None, tls: SSLContext | None = None
    ) -> None:
        self.journal: Any = journal or SqliteStore(folder / "server.db")
        self.keys = {KEY: Access("admin")}
        self.calls: list[str] = []
        self.answer: Callable[[str, Callable[[], bytes]], bytes] = lambda _, call: call()
        """What happens to a request: by default it is answered."""
        self._http = _Server(("127.0.0.1", port), self._handler())
        self.port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
            self.url = f"https://localhost:{self.port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def store(self, key: str = KEY, **more: Any) -> RemoteStore:
        """A client of it."""
        return RemoteStore(self.url, key, **more)

    def stop(self) -> None:
        """No longer there."""
        self._http.shutdown()
        self._http.server_close()
        self.journal.close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                access = server.keys.get(self.headers.get("Authorization", "").removeprefix("Bearer "))
                *_, port, method = self.path.split("/")
                server.calls.append(f"{port}/{method}")
                if access is None:
                    return self._problem(401, {"code": "not_known", "detail": "not a key of this server"})
                if body and self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                try:
                    name = f"{port}/{method}"
                    answer = server.answer(
                        name, lambda: store_over_http.call(server.journal, access, port, method, body)
                    )
                except SegueError as fault:
                    return self._problem(
                        fault.http_status,
                        {"code": fault.code, "detail": fault.message, "hint": fault.hint, **fault.facts()},
                    )
                except ConnectionError:
                    self.close_connection = True
                    return None
                self._send(200, "application/msgpack", answer)
                return None

            def _problem(self, status: int, content: dict[str, Any]) -> None:
                self._send(status, "application/problem+json", json.dumps(content).encode())

            def _send(self, status: int, kind: str, content: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                if len(content) > 1000 and "gzip" in self.headers.get("Accept-Encoding", ""):
                    content = gzip.compress(content, 1)
                    self.send_header("Content-Encoding", "gzip")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        return Handler


class Cutting:
    """A proxy to a server that loses answers or requests. ``cuts`` is called with the path of each request
    and returns ``""`` (nothing is lost), ``answer`` (the server carries it out, but the answer is lost) or
    ``request`` (it never arrives)."""

    def __init__(self, port: int, cuts: Callable[[str], str] = lambda _: "") -> None:
        self.cuts = cuts
        self.cut = 0
        self._target = port
        self._http = _Server(("127.0.0.1", 0), self._handler())
        self.port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        """No longer there."""
        self._http.shutdown()
        self._http.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        way = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                cut = way.cuts(self.path)
                if cut == "request":
                    return self._break()
                upstream = http.client.HTTPConnection("127.0.0.1", way._target, timeout=20)
                try:
                    headers = {k: v for k, v in self.headers.items() if k.lower() != "host"}
                    upstream.request("POST", self.path, body, headers)
                    answer = upstream.getresponse()
                    content = answer.read()
                except (OSError, http.client.HTTPException):
                    return self._break()
                finally:
                    upstream.close()
                if cut == "answer":
                    return self._break()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("connection", "transfer-encoding", "date", "server"):
                        self.send_header(name, value)
                if answer.headers.get("Content-Length") is None:
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                return None

            def _break(self) -> None:
                way.cut += 1
                self.close_connection = True
                self.connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00"
                )

        return Handler


@cache
def shared() -> SegueServer:
    """The real server of this test process, with a project for each test, so that tests do not see each
    other's data."""
    server = temporary().start()
    atexit.register(server.stop)
    return server


def journal_for(place: Path | str) -> RemoteStore:
    """A store on the real server that this test alone has."""
    project = "t" + hashlib.sha256(str(place).encode()).hexdigest()[:20]
    server = shared()
    return RemoteStore(f"{server.url}?project={project}", server.token)


def serve(folder: str, port: str) -> None:
    """A server in a process of its own, until it is killed."""
    Portal(Path(folder), port=int(port))
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    serve(*sys.argv[1:])
