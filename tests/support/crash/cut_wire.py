"""A connection to a Postgres server that can be cut at the worst moment.

A proxy on loopback. ``lose_answer``: the server gets a message and does what it says, and the answer never
comes back. ``lose_request``: the message itself is lost. ``delay_request``: the connection is lost, and the
message reaches the server later all the same, when the client has already tried again.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

SSL, GSS = (80877103).to_bytes(4, "big"), (80877104).to_bytes(4, "big")
"""What a client sends before it says who it is."""


class Starting:
    """A server that is still starting: it answers on its port, but accepts no client."""

    def __init__(self, port: int, seconds: float) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        self._over = threading.Timer(seconds, lambda: _shut(self._listener))
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self.asked = 0

    def __enter__(self) -> Starting:
        self._thread.start()
        self._over.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.cancel()
        _shut(self._listener)

    def wait(self) -> None:
        """Wait until the time is over; the port is free then."""
        self._thread.join()

    def _answer(self) -> None:
        fields = (b"SFATAL", b"VFATAL", b"C57P03", b"Mthe database system is starting up", b"")
        body = b"".join(field + b"\0" for field in fields)
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return self._listener.close()
            with client, suppress(OSError):
                while (head := client.recv(8)) and head[4:] in (SSL, GSS):
                    client.sendall(b"N")
                client.recv(4096)
                self.asked += 1
                client.sendall(b"E" + (len(body) + 4).to_bytes(4, "big") + body)


class Wire:
    """Forwards to a port, and cuts the connection on request."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._plan: tuple[str, bytes] | None = None
        self._lock = threading.Lock()
        self.cuts = 0
        self.late = threading.Event()
        """Set once a delayed message has been delivered and answered."""
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, how: str, at: bytes = b"") -> None:
        """Cut the connection with the next message that contains these bytes."""
        with self._lock:
            self._plan = (how, at)

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            for socket_ in (client, server):
                socket_.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            quiet = threading.Event()
            threading.Thread(target=self._up, args=(client, server, quiet), daemon=True).start()
            threading.Thread(target=self._down, args=(client, server, quiet), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket, quiet: threading.Event) -> None:
        with suppress(OSError):
            while body := client.recv(1 << 20):
                how = self._planned(body)
                if not how:
                    server.sendall(body)
                    continue
                quiet.set()
                if how == "lose_answer":
                    server.sendall(body)
                    time.sleep(0.3)  # it is done by then, or nearly
                _shut(client)
                if how == "delay_request":
                    time.sleep(0.8)
                    server.sendall(body)
                    time.sleep(0.3)
                    self.late.set()
                _shut(server)
                return
        _shut(server)

    def _planned(self, body: bytes) -> str:
        with self._lock:
            if self._plan is None or self._plan[1] not in body:
                return ""
            how, self._plan = self._plan[0], None
            self.cuts += 1
            return how

    @staticmethod
    def _down(client: socket.socket, server: socket.socket, quiet: threading.Event) -> None:
        with suppress(OSError):
            while body := server.recv(1 << 20):
                if not quiet.is_set():
                    client.sendall(body)
        _shut(client)


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
