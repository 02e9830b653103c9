"""A request comes to the route that its path spells out, and its answer goes to whoever still listens."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from segue.core.server.access import Access
from segue.services.server.projects import Projects
from segue.surfaces.http.server.context import Rules, ServerContext
from segue.surfaces.http.server.route import route
from segue.surfaces.http.server.routing import Answer, Router


@route("GET", "/things/all", need="reader")
def everything() -> list[str]:
    return ["all"]


@route("GET", "/things/{id}", need="reader")
def thing(id: str) -> str:
    return id


@route("POST", "/things/{id}/parts", need="writer")
def add_part(id: str, data: dict[str, int]) -> dict[str, int]:
    return {id: sum(data.values())}


@route("GET", "/broken", need="reader")
def broken() -> str:
    raise ZeroDivisionError("a secret")


@route("GET", "/full/{error}", need="reader")
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


@route("GET", "/stream", need="reader", media_type="text/event-stream")
async def stream() -> Answer:
    return Answer(_parts(), "text/event-stream")


@asynccontextmanager
async def running() -> AsyncIterator[None]:
    yield


@pytest.fixture
def router(tmp_path: Path) -> Router:
    front = ServerContext(Projects(tmp_path), Rules(body_bytes_max=100), log=told.append)
    return Router(front, [everything, thing, add_part, broken, full, stream], running())


def asked(
    router: Router, method: str, path: str, *messages: dict[str, Any], role: str = "writer", query: str = ""
) -> tuple[int, dict[str, str], bytes]:
    """(status, headers, body) of an answer."""
    sent: list[dict[str, Any]] = []
    waiting = list(messages) or [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.sleep(0.05)
            return {"type": "http.disconnect"}
        return waiting.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": [],
        "segue_headers": {}, "segue_access": Access("k", role, "p"),
    }  # fmt: skip
    asyncio.run(asyncio.wait_for(router(scope, receive, send), 10))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(one.get("body", b"") for one in sent[1:])


def test_a_part_that_is_spelt_out_goes_before_a_parameter(router: Router) -> None:
    assert asked(router, "GET", "/things/all")[2] == b'["all"]'
    assert asked(router, "GET", "/things/other")[2] == b'"other"'
    assert asked(router, "GET", "//things/other/")[2] == b'"other"'
    assert asked(router, "GET", "/things/{}")[2] == b'"{}"'
    assert asked(router, "GET", "/things/{id}")[2] == b'"{id}"'


@pytest.mark.parametrize("path", ["/", "/things", "/things/a/b", "/things/a/parts/b", "/thing"])
def test_what_is_no_path_of_ours_is_not_found(router: Router, path: str) -> None:
    assert asked(router, "GET", path)[0] == 404


def test_another_method_is_told_which_there_are(router: Router) -> None:
    status, headers, _ = asked(router, "DELETE", "/things/a/parts")
    assert (status, headers["allow"]) == (405, "OPTIONS, POST")
    status, headers, body = asked(router, "OPTIONS", "/things/a")
    assert (status, headers["allow"], body) == (204, "GET, HEAD, OPTIONS", b"")


def test_a_role_that_is_not_enough_is_refused_before_the_body_is_read(router: Router) -> None:
    assert asked(router, "POST", "/things/a/parts", role="reader")[0] == 403


def test_a_body_comes_in_parts_and_one_that_is_cut_off_takes_no_effect(router: Router) -> None:
    parts = [
        {"type": "http.request", "body": b'{"a": 1,', "more_body": True},
        {"type": "http.request", "body": b'"b": 2}', "more_body": False},
    ]
    assert asked(router, "POST", "/things/a/parts", *parts)[2] == b'{"a":3}'
    cut = {"type": "http.request", "body": b"{}", "more_body": True}
    assert asked(router, "POST", "/things/a/parts", cut)[0] == 400


def test_of_a_parameter_that_comes_twice_the_first_counts_and_of_the_path_before_all(router: Router) -> None:
    assert asked(router, "GET", "/things/a", query="id=b&id=c")[2] == b'"a"'
    assert asked(router, "GET", "/things/a", query="other=1")[0] == 400


def test_a_fault_is_logged_without_its_text(router: Router) -> None:
    told.clear()
    status, _, body = asked(router, "GET", "/broken")
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
    router: Router, error: int, code: str
) -> None:
    told.clear()
    status, headers, body = asked(router, "GET", f"/full/{error}")
    problem = json.loads(body)
    assert (status, problem["status"], problem["code"]) == (503, 503, code) and problem["hint"]
    assert problem["detail"] == os.strerror(error) and "secret" not in told[0]
    assert ("retry-after" in headers) == (code == "store_full")


def test_a_stream_ends_when_nobody_listens(router: Router) -> None:
    told.clear()
    status, headers, body = asked(router, "GET", "/stream")
    assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert body.startswith(b"onon") and told == ["ended"]
