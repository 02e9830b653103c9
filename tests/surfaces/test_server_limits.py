"""What strangers without a key can do to a real server: nothing that others notice."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import attacks
from tests.support.attacks import GET, answer_to, status_of
from tests.support.rest import raw
from tests.support.server import SegueServer
from tests.surfaces.conftest import Cli

MEGABYTES = 10
CONNECTIONS = 120
ENDING = b"Connection: close\r\n\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegueServer]:
    """One that takes fewer connections than are opened to it."""
    limits = ["--rate", "0", "--max-connections", "100", "--max-per-address", "80"]
    with SegueServer(tmp_path_factory.mktemp("server"), options=limits) as running:
        yield running


@pytest.mark.parametrize("kind", attacks.KINDS)
def test_a_request_without_an_end_is_ended_and_takes_no_memory(server: SegueServer, kind: str) -> None:
    before = attacks.resident_mb(server)
    attack = attacks.endless(kind, MEGABYTES * 1_000_000)
    attack(server)
    assert attack.sent < attack.total and status_of(attack.answer) in (0, 400, 401, 414, 431)
    assert attacks.resident_mb(server) < before + MEGABYTES
    assert attacks.health_seconds(server, 5)[-1] < 2


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (GET + b"X: " + b"a" * 30_000 + b"\r\n" + ENDING, 200),
        (GET + b"X: " + b"a" * 50_000 + b"\r\n" + ENDING, 431),
        (GET + b"X: a\r\n" * 90 + ENDING, 200),
        (GET + b"X: a\r\n" * 110 + ENDING, 431),
        (b"GET /v1/" + b"a" * 8_000 + b" HTTP/1.1\r\nHost: localhost\r\n" + ENDING, 401),
        (b"GET /v1/" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: localhost\r\n" + ENDING, 414),
        (b"nonsense\r\n\r\n", 400),
    ],
)
def test_headers_and_urls_have_a_limit_and_what_is_over_it_is_said(
    server: SegueServer, sent: bytes, status: int
) -> None:
    answer = answer_to(server, sent)
    assert status_of(answer) == status
    if status != 200:
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b"application/problem+json" in head and json.loads(body)["status"] == status


@pytest.mark.parametrize(("size", "status"), [(1, 400), (100, 401)])
def test_a_body_in_many_chunks_of_a_byte_is_refused(server: SegueServer, size: int, status: int) -> None:
    head = b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n" + ENDING
    chunks = (b"%x\r\n" % size + b"x" * size + b"\r\n") * 300
    assert status_of(answer_to(server, head + chunks + b"0\r\n\r\n")) == status


def test_connections_that_say_nothing_shut_nobody_out(server: SegueServer) -> None:
    alone = attacks.health_seconds(server, 100)
    before = attacks.resident_mb(server)
    with attacks.idle(server, CONNECTIONS) as held:
        meanwhile = attacks.health_seconds(server, 100)
        assert attacks.resident_mb(server) < before + 10
        ended = [one for one in held[:40] if not _is_open(one)]
    assert attacks.percentile(meanwhile, 0.5) <= max(3 * attacks.percentile(alone, 0.5), 0.02)
    assert len(ended) == 40, "the oldest ones did not make room"


def _is_open(connection: object) -> bool:
    connection.settimeout(0.05)  # type: ignore[attr-defined]
    try:
        return bool(connection.recv(1))  # type: ignore[attr-defined]
    except TimeoutError:
        return True
    except OSError:
        return False


def test_the_body_of_a_request_that_was_refused_is_not_taken_for_ever(server: SegueServer) -> None:
    begun = time.monotonic()
    head = b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
    with attacks.connect(server, 60) as connection:
        connection.sendall(head)
        assert connection.recv(100).startswith(b"HTTP/1.1 401")
        with pytest.raises(OSError):
            while time.monotonic() < begun + 40:
                connection.sendall(b"x")
                time.sleep(0.2)
    assert time.monotonic() < begun + 30


def test_a_trusted_proxy_may_have_more_connections_than_others(tmp_path: Path) -> None:
    options = ["--max-per-address", "4", "--proxy", "127.0.0.0/8"]
    with SegueServer(tmp_path, options=options) as behind, attacks.idle(behind, 20) as held:
        assert attacks.health_seconds(behind, 3) and all(_is_open(one) for one in held)


def test_a_proxy_that_is_no_address_is_refused(cli: Cli) -> None:
    told = cli("--json", "serve", "--port", "0", "--proxy", "caddy", code=64)
    assert "not the address of a proxy" in told.value["error"]["message"]


# -- the host --------------------------------------------------------------------------------------


def _lines(server: SegueServer, *headers: str, version: str = "1.1") -> int:
    key = [f"Authorization: Bearer {server.token}"]
    lines = [f"GET /v1/sessions HTTP/{version}", *headers, *key, "Connection: close", "", ""]
    return status_of(answer_to(server, "\r\n".join(lines).encode()))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (["Host: localhost"], 200),
        (["Host: 127.0.0.1:80"], 200),
        (["Host: [::1]:80"], 200),
        ([], 400),
        (["Host: localhost", "Host: localhost"], 400),
        (["Host: local host"], 400),
        (["Host: localhost/x"], 400),
        (["Host: user@localhost"], 400),
        (["Host: localhost", "Authorization: Bearer other"], 400),
        (["Host: evil.example"], 421),
        (["Host: localhost", "Segue-Project: default", "Segue-Project: default"], 400),
        (["Host: localhost", "Segue-Actor: a", "Segue-Actor: b"], 400),
        (["Host: localhost", "Idempotency-Key: a", "Idempotency-Key: b"], 400),
    ],
)
def test_the_host_is_looked_at_with_keys_too(server: SegueServer, headers: list[str], status: int) -> None:
    assert _lines(server, *headers) == status


def test_http_1_0_needs_no_host_where_any_will_do(tmp_path: Path) -> None:
    with SegueServer(tmp_path, options=["--proxy", "127.0.0.1"]) as behind:
        assert status_of(answer_to(behind, b"GET /health HTTP/1.0\r\n\r\n")) == 200
        assert _lines(behind, "Host: segue.example") == 200


def test_a_server_answers_to_the_names_that_it_is_given(tmp_path: Path) -> None:
    with SegueServer(tmp_path, options=["--allow-host", "Segue.example"]) as named:
        assert _lines(named, "Host: segue.example:443") == 200
        assert _lines(named, "Host: localhost") == 200
        assert _lines(named, "Host: evil.example") == 421


@pytest.mark.parametrize(
    ("url", "host", "status"),
    [
        ("http://localhost/v1/sessions", "localhost", 200),
        ("http://LOCALHOST:80/v1/sessions", "localhost", 200),
        ("http://localhost/v1/sessions", "localhost:80", 200),
        ("http://evil.example/v1/sessions", "localhost", 421),
        ("http://localhost:81/v1/sessions", "localhost", 421),
        ("http://user@localhost/v1/sessions", "localhost", 421),
        ("http://evil.example", "localhost", 421),
        ("http://evil.example/v1/sessions", "evil.example", 421),
    ],
)
def test_a_url_with_another_host_than_the_header_is_refused(
    server: SegueServer, url: str, host: str, status: int
) -> None:
    key = f"Authorization: Bearer {server.token}"
    lines = [f"GET {url} HTTP/1.1", f"Host: {host}", key, "Connection: close", "", ""]
    assert status_of(answer_to(server, "\r\n".join(lines).encode())) == status


# -- bodies in chunks ------------------------------------------------------------------------------


def _chunked(server: SegueServer, *headers: str, coding: str = "chunked", trailer: str = "") -> int:
    goal = f"goal {trailer.partition(':')[0]} {coding}"
    body = json.dumps({"goal": goal})
    head = ["POST /v1/sessions HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers]
    lines = [*head, f"Transfer-Encoding: {coding}", "Connection: close", "", f"{len(body):x}", body, "0"]
    whole = "\r\n".join([*lines, *([trailer] if trailer else []), "", ""])
    return status_of(answer_to(server, whole.encode()))


def test_headers_after_the_body_count_for_nothing(server: SegueServer) -> None:
    key = f"Authorization: Bearer {server.token}"
    assert _chunked(server, key) == 201
    assert _chunked(server, trailer=key) == 401
    for trailer in ("Segue-Project: nowhere/else", "Host: evil.example", "Segue-Actor: forged", "Host: a b"):
        assert _chunked(server, key, trailer=trailer) == 201
    listed = json.loads(raw(server, "GET", "/v1/audit")[1])
    assert "forged" not in json.dumps(listed)


@pytest.mark.parametrize("coding", ["gzip, chunked", "chunked, chunked", "identity, chunked", "xchunked"])
def test_a_transfer_coding_that_nobody_decodes_is_refused(server: SegueServer, coding: str) -> None:
    assert _chunked(server, f"Authorization: Bearer {server.token}", coding=coding) in (400, 501)


# -- keys and bodies -------------------------------------------------------------------------------


def test_no_key_is_made_where_none_is_asked_for(tmp_path: Path) -> None:
    with SegueServer(tmp_path, options=["--no-auth"]) as open_one:
        asked = {"role": "admin", "project": "*"}
        status, body, _ = open_one.ask("POST", "/v1/keys", asked, token="")
        assert status == 403 and "segue key create" in body["hint"]
        key = open_one.first_key()
        status, made, _ = open_one.ask("POST", "/v1/keys", asked, token=key)
        assert status == 201
        assert open_one.ask("POST", f"/v1/keys/{made['id']}/rotate", {}, token="")[0] == 403
        assert open_one.ask("DELETE", f"/v1/keys/{made['id']}", token="")[0] == 403
        assert open_one.ask("DELETE", f"/v1/keys/{made['id']}", token=key)[0] == 200


@pytest.mark.parametrize(
    "body",
    [
        b"garbage" * 500,
        b"\x1f\x8b" + bytes(range(256)) * 9,
        gzip.compress(b'{"role": "reader"}', mtime=0) + b"more",
        b"",
    ],
)
def test_a_body_that_is_no_gzip_is_400(server: SegueServer, body: bytes) -> None:
    typed = {"Content_Type": "application/json", "Content_Encoding": "gzip"}
    assert raw(server, "POST", "/v1/keys", body, **typed)[0] == 400
