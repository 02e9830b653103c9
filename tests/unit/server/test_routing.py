"""A request comes to the route that its path spells out, and its response goes to whoever still listens."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse

from segue.services.server.projects import Projects
from segue.surfaces.http.app import application
from segue.surfaces.http.server.context import ServerContext, ServerOptions
from segue.surfaces.http.server.route import route


@route("GET", "/things/all", role="reader")
def everything() -> list[str]:
    return ["all"]


@route("GET", "/things/{id}", role="reader")
def thing(id: str) -> str:
    return id


@route("PUT", "/things/{id}", role="writer", status=204)
def put_thing(id: str) -> None:
    pass


@route("POST", "/things/{id}/parts", role="writer")
def add_part(id: str, body: dict[str, int]) -> dict[str, int]:
    return {id: sum(body.values())}


@route("GET", "/broken", role="reader")
def broken() -> str:
    raise ZeroDivisionError("a secret")


@route("GET", "/full/{error}", role="reader")
def full(error: str) -> str:
    raise OSError(int(error), os.strerror(int(error)), "/srv/secret")


told: list[str] = []


async def _parts() -> AsyncGenerator[bytes, None]:
    try:
        while True:
            yield b"on"
            await asyncio.sleep(0.01)
    finally:
        told.append("ended")


@route("GET", "/stream", role="reader", media_type="text/event-stream")
async def stream() -> Response:
    return StreamingResponse(_parts(), media_type="text/event-stream")


async def _torn() -> AsyncGenerator[bytes, None]:
    yield b"begun"
    raise ZeroDivisionError("a secret")


@route("GET", "/torn", role="reader", media_type="text/event-stream")
async def torn() -> Response:
    return StreamingResponse(_torn(), media_type="text/event-stream")


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Starlette]:
    projects = Projects(tmp_path)
    server = ServerContext(projects, ServerOptions(body_bytes_max=100), log=told.append)
    operations = [everything, thing, put_thing, add_part, broken, full, stream, torn]
    yield application(server, operations)
    projects.close()


def asked(
    app: Starlette, method: str, path: str, *messages: dict[str, Any], role: str = "writer", query: str = ""
) -> tuple[int, dict[str, str], bytes]:
    """(status, headers, body) of the response to a request that comes in these messages."""
    sent: list[dict[str, Any]] = []
    waiting = list(messages) or [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.sleep(0.05)
            return {"type": "http.disconnect"}
        return waiting.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    key = app.state.server.keys.create(project="p", role=role).key
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "path": path, "query_string": query.encode(),
        "headers": [(b"host", b"localhost"), (b"authorization", f"Bearer {key}".encode())],
    }  # fmt: skip
    asyncio.run(asyncio.wait_for(app(scope, receive, send), 10))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(one.get("body", b"") for one in sent[1:])


def test_a_part_that_is_spelt_out_goes_before_a_parameter(app: Starlette) -> None:
    assert asked(app, "GET", "/things/all")[2] == b'["all"]'
    assert asked(app, "GET", "/things/other")[2] == b'"other"'
    assert asked(app, "GET", "//things/other/")[2] == b'"other"'
    assert asked(app, "GET", "/things/{}")[2] == b'"{}"'
    assert asked(app, "GET", "/things/{id}")[2] == b'"{id}"'


@pytest.mark.parametrize("path", ["/", "/things", "/things/a/b", "/things/a/parts/b", "/thing"])
def test_what_is_no_path_of_ours_is_not_found(app: Starlette, path: str) -> None:
    assert asked(app, "GET", path)[0] == 404


def test_another_method_is_told_which_there_are(app: Starlette) -> None:
    status, headers, _ = asked(app, "DELETE", "/things/a/parts")
    assert (status, headers["allow"]) == (405, "OPTIONS, POST")
    status, headers, body = asked(app, "OPTIONS", "/things/a")
    assert (status, headers["allow"], body) == (204, "GET, HEAD, OPTIONS, PUT", b"")
    status, headers, body = asked(app, "POST", "/things/a")
    assert (status, headers["allow"]) == (405, "GET, HEAD, OPTIONS, PUT")
    assert json.loads(body)["code"] == "usage" and headers["content-type"] == "application/problem+json"


def test_a_role_that_is_not_enough_is_refused_before_the_body_is_read(app: Starlette) -> None:
    assert asked(app, "POST", "/things/a/parts", role="reader")[0] == 403


def test_a_body_comes_in_parts_and_one_that_is_cut_off_takes_no_effect(app: Starlette) -> None:
    parts = [
        {"type": "http.request", "body": b'{"a": 1,', "more_body": True},
        {"type": "http.request", "body": b'"b": 2}', "more_body": False},
    ]
    assert asked(app, "POST", "/things/a/parts", *parts)[2] == b'{"a":3}'
    cut = {"type": "http.request", "body": b"{}", "more_body": True}
    assert asked(app, "POST", "/things/a/parts", cut)[0] == 400


def test_of_a_parameter_that_comes_twice_the_first_counts_and_of_the_path_before_all(app: Starlette) -> None:
    assert asked(app, "GET", "/things/a", query="id=b&id=c")[2] == b'"a"'
    assert asked(app, "GET", "/things/a", query="other=1")[0] == 400


def test_a_fault_is_logged_without_its_text(app: Starlette) -> None:
    told.clear()
    status, _, body = asked(app, "GET", "/broken")
    assert status == 500 and b"secret" not in body
    assert "ZeroDivisionError" in told[0] and "secret" not in told[0]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errno.ENOSPC, "store_full"),
        (errno.EDQUOT, "store_full"),
        (errno.EROFS, "access"),
        (errno.EIO, "store"),
        (errno.EMFILE, "store"),
        (errno.ENOENT, "store"),
    ],
)
def test_an_error_of_the_machine_is_told_by_its_code_and_is_nobodys_mistake(
    app: Starlette, error: int, code: str
) -> None:
    told.clear()
    status, headers, body = asked(app, "GET", f"/full/{error}")
    problem = json.loads(body)
    assert (status, problem["status"], problem["code"]) == (503, 503, code) and problem["hint"]
    assert problem["detail"] == os.strerror(error) and "secret" not in told[0]
    assert ("retry-after" in headers) == (code == "store_full")


def test_a_stream_ends_when_nobody_listens(app: Starlette) -> None:
    told.clear()
    status, headers, body = asked(app, "GET", "/stream")
    assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert body.startswith(b"onon") and "ended" in told


def test_a_stream_of_which_only_the_head_is_wanted_does_not_begin(app: Starlette) -> None:
    told.clear()
    status, headers, body = asked(app, "HEAD", "/stream")
    assert (status, headers["content-type"], body) == (200, "text/event-stream; charset=utf-8", b"")
    assert "ended" not in told


def test_a_stream_that_fails_stays_without_its_end_and_the_fault_is_logged(app: Starlette) -> None:
    told.clear()
    status, _, body = asked(app, "GET", "/torn")
    assert (status, body) == (200, b"begun")
    assert any("ZeroDivisionError" in line for line in told) and not any("secret" in line for line in told)


def test_what_answers_nothing_has_no_content(app: Starlette) -> None:
    status, headers, body = asked(app, "PUT", "/things/a")
    assert (status, body) == (204, b"") and not {"content-length", "content-type"} & set(headers)


def test_a_body_that_grows_beyond_the_limit_is_refused_while_it_comes(app: Starlette) -> None:
    parts = [{"type": "http.request", "body": b" " * 60, "more_body": True} for _ in range(3)]
    status, _, body = asked(app, "POST", "/things/a/parts", *parts)
    assert (status, json.loads(body)["code"]) == (413, "too_large")
