"""The id of a request: taken over or made, in the answer, in an error, and in every line of the log."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.support.server import SegueServer

from segue.services.server.projects import Projects
from segue.stores.remote import RemoteStore
from segue.surfaces.http.app import application
from segue.surfaces.http.server.context import ServerContext, ServerOptions
from segue.surfaces.http.server.route import route


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegueServer]:
    with SegueServer(tmp_path_factory.mktemp("server")) as running:
        yield running


def logged(server: SegueServer, **facts: str) -> list[dict[str, Any]]:
    """The lines of a request; they are written once it was answered."""
    deadline = time.monotonic() + 5
    while True:
        lines = [json.loads(line) for line in server.log.read_text().splitlines()]
        found = [line for line in lines if facts.items() <= line.items()]
        if found or time.monotonic() > deadline:
            return found
        time.sleep(0.02)


def test_an_id_that_the_client_sends_is_in_the_answer_and_in_the_log(server: SegueServer) -> None:
    status, _, headers = server.ask("GET", "/v1/sessions", X_Request_Id="from-the-client-1")
    assert status == 200 and headers["x-request-id"] == "from-the-client-1"
    [line] = logged(server, id="from-the-client-1")
    assert (line["event"], line["method"], line["path"], line["status"]) == (
        "request", "GET", "/v1/sessions", 200,
    )  # fmt: skip
    assert "code" not in line and line["ms"] > 0 and line["project"] == "default"


@pytest.mark.parametrize("given", ["", "x" * 65, "grün"])
def test_without_one_that_may_be_logged_each_request_gets_its_own(server: SegueServer, given: str) -> None:
    named = {"X_Request_Id": given.encode().decode("latin-1")} if given else {}
    ids = [server.ask("GET", "/v1/sessions", **named)[2]["x-request-id"] for _ in range(2)]
    assert ids[0] != ids[1] and given not in ids and all(len(id) == 16 for id in ids)


@pytest.mark.parametrize(
    ("path", "token", "status", "code"),
    [
        ("/v1/sessions/none", None, 404, "unknown_session"),
        ("/nowhere", None, 404, ""),
        ("/v1/sessions", "wrong", 401, "not_known"),
        ("/v1/sessions?colour=red", None, 400, "usage"),
    ],
)
def test_an_error_has_the_id_and_the_log_its_code(
    server: SegueServer, path: str, token: str | None, status: int, code: str
) -> None:
    got, problem, headers = server.ask("GET", path, token=token)
    assert got == status and problem["request"] == headers["x-request-id"]
    [line] = logged(server, id=problem["request"])
    assert line["status"] == status and line.get("code", "") == code


@route("GET", "/v1/broken", role="reader")
def broken() -> str:
    """A fault of ours, whose text holds part of a request."""
    raise ZeroDivisionError("a text of a request")


def test_a_fault_of_the_server_is_logged_with_the_id_of_its_request(tmp_path: Path) -> None:
    lines: list[str] = []
    made = ServerContext(Projects(tmp_path), ServerOptions(auth=False), log=lines.append)
    with TestClient(application(made, [broken]), base_url="http://localhost") as client:
        told = client.get("/v1/broken", headers={"X-Request-Id": "abc"})
    assert told.status_code == 500 and told.json()["request"] == "abc"
    fault, request = map(json.loads, lines)
    assert (fault["event"], fault["id"], fault["kind"]) == ("fault", "abc", "ZeroDivisionError")
    assert (request["event"], request["id"], request["code"]) == ("request", "abc", "unforeseen")
    assert "a text of a request" not in "".join(lines)


def test_the_remote_store_sends_an_id_and_names_it_when_the_server_is_at_fault(
    server: SegueServer,
) -> None:
    store = RemoteStore(server.url, server.token)
    store.streams()
    [line] = logged(server, path="/v1/store/journal/streams")
    assert len(line["id"]) == 16
    response = _Response()
    fault = store.client._error(response, {"code": "unforeseen", "detail": "an error in the server"})  # type: ignore[arg-type]
    assert "(request 0123456789abcdef)" in fault.message
    store.close()


class _Response:
    """The head of an answer to a request that failed in the server."""

    status = 500
    headers = {"X-Request-Id": "0123456789abcdef"}
