"""Which connections a server holds, and how long it waits for what a client has begun."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import uvicorn
from tests.support.certificates import certificate
from uvicorn.server import ServerState

from segue.surfaces.http.server.connections import (
    ConnectionLimits,
    ConnectionTable,
    TlsAcceptor,
    neighbourhood,
)
from segue.surfaces.http.server.protocol import LimitedProtocol

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Held:
    """A connection in a given state."""

    def __init__(self, *, idle: bool = True, served: bool = False) -> None:
        self.idle, self.served, self.is_ended = idle, served, False

    def is_idle(self) -> bool:
        return self.idle

    def has_served(self) -> bool:
        return self.served

    def end(self) -> None:
        self.is_ended = True


def test_the_oldest_that_waits_and_was_never_answered_goes_first() -> None:
    table = ConnectionTable(ConnectionLimits(3, 3), lambda what: None)
    busy, answered, waiting = Held(idle=False), Held(served=True), Held()
    for one in (busy, answered, waiting):
        assert table.admit("10.0.0.1", one)
    for _ in range(2):
        assert table.admit("10.0.0.2", Held(idle=False))
    assert (busy.is_ended, answered.is_ended, waiting.is_ended) == (False, True, True)
    assert table.admit("10.0.0.3", Held()) is None, "all are at work"


def test_one_address_pays_for_its_own_connections() -> None:
    counted: list[str] = []
    table = ConnectionTable(ConnectionLimits(100, 2), counted.append)
    other = Held()
    assert table.admit("10.0.0.9", other)
    first = Held()
    for one in (first, Held(), Held()):
        assert table.admit("10.0.0.1", one)
    assert first.is_ended and not other.is_ended and counted == ["connections_closed"]


def test_a_place_that_was_left_is_free() -> None:
    table = ConnectionTable(ConnectionLimits(1, 1), lambda what: None)
    place = table.admit("10.0.0.1", Held(idle=False))
    assert place and table.admit("10.0.0.1", Held()) is None
    table.leave(place)
    assert table.admit("10.0.0.1", Held())


@pytest.mark.parametrize("address", ["10.1.2.3", "::ffff:10.1.2.3", "fd00::7"])
def test_a_trusted_proxy_is_not_counted_as_one_address(address: str) -> None:
    limits = ConnectionLimits(50, 1, ("10.0.0.0/8", "fd00::/16"))
    table = ConnectionTable(limits, lambda what: None)
    held = [Held() for _ in range(10)]
    assert all(table.admit(address, one) for one in held) and not any(one.is_ended for one in held)


def test_a_network_of_64_bits_counts_as_one_address() -> None:
    assert (
        neighbourhood("2001:db8::1") == neighbourhood("2001:db8::ffff:2%eth0") != neighbourhood("2001:db9::1")
    )
    assert neighbourhood("::ffff:10.0.0.1") == neighbourhood("10.0.0.1") != neighbourhood("10.0.0.2")


def test_limits_leave_files_for_the_store() -> None:
    assert ConnectionLimits().within(65_536) == ConnectionLimits()
    few = ConnectionLimits().within(1_024)
    assert (few.connections, few.per_address) == (512, 256)


# -- on the wire -----------------------------------------------------------------------------------


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """Answers at once; /body after the body, /large with more than a socket holds."""
    while scope["path"] == "/body" and (await receive()).get("more_body"):
        pass
    content = b"x" * (50_000_000 if scope["path"] == "/large" else 2)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": content})


@contextmanager
def serving(limits: ConnectionLimits, tls: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[str]]]:
    """A port that is served so, and what was counted."""
    counted: list[str] = []
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    loop = asyncio.new_event_loop()
    config = uvicorn.Config(_app, log_config=None, access_log=False, lifespan="off", ws="none")
    config.load()
    state, table = ServerState(), ConnectionTable(limits, counted.append)

    def protocol() -> LimitedProtocol:
        return LimitedProtocol(
            table, counted.append, config=config, server_state=state, app_state={}, _loop=loop
        )

    async def serve() -> Any:
        if tls:
            return TlsAcceptor(listening, table, protocol, tls)
        return await loop.create_server(protocol, sock=listening)

    async def end() -> None:
        server.close()
        for one in list(state.connections):
            one.end()  # type: ignore[union-attr]
        await asyncio.sleep(0.1)

    server = loop.run_until_complete(serve())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1], counted
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        listening.close()
        loop.close()


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def read_to_end(connection: socket.socket) -> bytes:
    found = b""
    with suppress(ConnectionError):
        while piece := connection.recv(1 << 16):
            found += piece
    return found


SHORT = ConnectionLimits(head_seconds=0.5, stall_seconds=0.5)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"", b""),
        (b"GET / HTT", b"HTTP/1.1 408"),
        (REQUEST + b"GET /", b"HTTP/1.1 200"),
        (b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nab", b""),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nab", b"HTTP/1.1 200"),
    ],
    ids=["nothing", "half a head", "half of the next head", "half a body", "half a body that nobody wants"],
)
def test_what_does_not_come_in_time_is_not_waited_for(sent: bytes, said: bytes) -> None:
    with serving(SHORT) as (port, _), connect(port) as connection:
        connection.sendall(sent)
        begun = time.monotonic()
        assert read_to_end(connection).startswith(said)
        assert 0.3 < time.monotonic() - begun < 5


def test_a_client_that_asks_nothing_more_is_left_without_a_word() -> None:
    with serving(SHORT) as (port, counted), connect(port) as connection:
        connection.sendall(REQUEST)
        assert read_to_end(connection).count(b"HTTP/1.1") == 1
        assert not counted


def test_a_body_that_moves_on_is_waited_for() -> None:
    with serving(SHORT) as (port, _), connect(port) as connection:
        connection.sendall(b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n\r\n")
        for _ in range(8):
            time.sleep(0.2)
            connection.sendall(b"x")
        assert connection.recv(100).startswith(b"HTTP/1.1 200")


def test_a_client_that_does_not_read_its_response_is_not_waited_for() -> None:
    with serving(SHORT) as (port, counted), connect(port) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        deadline = time.monotonic() + 8
        while "connections_stalled" not in counted and time.monotonic() < deadline:
            time.sleep(0.1)
        assert counted == ["connections_stalled"]


def test_a_slow_reader_gets_the_whole_response() -> None:
    with serving(SHORT) as (port, counted), connect(port) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        found = 0
        while piece := connection.recv(1 << 20):
            found += len(piece)
            time.sleep(0.02)
        assert found > 50_000_000 and not counted


def test_where_all_are_at_work_a_new_connection_is_told_so() -> None:
    with serving(ConnectionLimits(1, 1)) as (port, counted), connect(port) as busy:
        busy.sendall(b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nab")
        time.sleep(0.2)
        with connect(port) as late:
            assert read_to_end(late).startswith(b"HTTP/1.1 503")
        assert "connections_refused" in counted
        busy.sendall(b"cdefghi")
        assert busy.recv(100).startswith(b"HTTP/1.1 200")


def test_a_request_behind_one_that_is_answered_is_refused_after_it() -> None:
    with serving(SHORT) as (port, _), connect(port) as connection:
        connection.sendall(REQUEST + b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 200)
        assert read_to_end(connection).startswith(b"HTTP/1.1 200")


def test_handshakes_that_are_never_finished_shut_nobody_out(tmp_path: Any) -> None:
    pem = certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pem)
    client = ssl.create_default_context(cafile=pem)
    with serving(ConnectionLimits(20, 10, head_seconds=2.0), tls) as (port, counted):
        held = [connect(port) for _ in range(40)]
        for _ in range(5):
            with client.wrap_socket(connect(port), server_hostname="localhost") as connection:
                connection.sendall(REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
                assert read_to_end(connection).startswith(b"HTTP/1.1 200")
        assert counted.count("connections_closed") >= 30
        begun = time.monotonic()
        for one in held:
            assert read_to_end(one) == b""
            one.close()
        assert time.monotonic() - begun < 8
