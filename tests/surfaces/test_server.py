"""The gate of a real server: keys, roles, projects, rates, limits, tags, and how it starts and ends."""

from __future__ import annotations

import gzip
import json
import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.rest import raw
from tests.support.server import SegueServer
from tests.surfaces.conftest import Cli

from segue.core.server.access import AuditLine
from segue.services.server.projects import Projects


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegueServer]:
    with SegueServer(
        tmp_path_factory.mktemp("server"), options=["--rate", "0", "--max-body", "1"]
    ) as running:
        yield running


# -- keys ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/keys", "/v1/audit", "/metrics", "/nowhere", "/schema"])
@pytest.mark.parametrize("token", ["", "x", "sgk_" + "0" * 12 + "_" + "a" * 43])
def test_without_a_key_that_is_known_everything_is_401(server: SegueServer, path: str, token: str) -> None:
    status, body, headers = server.ask("GET", path, token=token)
    assert status == 401 and body["code"] == "not_known"
    assert (
        headers["content-type"] == "application/problem+json"
        and "bearer" in headers["www-authenticate"].lower()
    )


def test_a_wrong_key_is_401_even_with_a_body_that_is_wrong_too(server: SegueServer) -> None:
    assert server.ask("POST", "/v1/keys", {"nonsense": 1}, token="x")[0] == 401


@pytest.mark.parametrize("path", ["/", "/health", "/ready", "/openapi.json"])
def test_what_balancers_and_readers_of_the_description_need_asks_for_no_key(
    server: SegueServer, path: str
) -> None:
    assert server.ask("GET", path, token="")[0] == 200


@pytest.mark.parametrize("path", ["/health", "/ready", "/v1/sessions", "/metrics", "/v1/nothing"])
def test_the_head_of_an_answer_may_be_asked_for_alone(server: SegueServer, path: str) -> None:
    status, body, headers = raw(server, "HEAD", path)
    known, whole, usual = raw(server, "GET", path)
    assert (status, body) == (known, b"") and headers["content-type"] == usual["content-type"]
    assert path == "/metrics" or headers["content-length"] == str(len(whole))
    assert raw(server, "HEAD", "/v1/keys", Authorization="Bearer x")[0] == 401
    assert raw(server, "HEAD", "/v1/sessions/import")[0] == 405


def test_the_head_of_a_stream_ends_at_once(server: SegueServer) -> None:
    assert server.ask("POST", "/v1/sessions", {"goal": "g", "id": "head"})[0] == 201
    status, body, headers = raw(server, "HEAD", "/v1/sessions/head/events/follow")
    assert (status, body) == (200, b"") and headers["content-type"].startswith("text/event-stream")


def test_a_key_is_shown_once_and_kept_as_a_hash(server: SegueServer) -> None:
    status, made, _ = server.ask("POST", "/v1/keys", {"project": "web", "role": "reader", "expires": "90d"})
    assert status == 201 and made["key"].startswith("sgk_") and made["expires"]
    listed = json.dumps(server.ask("GET", "/v1/keys")[1])
    assert made["id"] in listed and made["key"] not in listed
    secret = made["key"].split("_", 2)[2].encode()
    for path in server.home.rglob("*"):
        if path.is_file() and "segue" not in path.name:
            assert secret not in path.read_bytes(), path
    assert secret not in _database(server)


def _database(server: SegueServer) -> bytes:
    """All that stands in the tables, without opening the file as a file."""
    import subprocess
    import sys

    code = (
        "import sys, pathlib; files = pathlib.Path(sys.argv[1]).rglob('segue*.db*');"
        "sys.stdout.buffer.write(b''.join(path.read_bytes() for path in files))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, str(server.home)], capture_output=True, check=True
    ).stdout


def test_a_revoked_key_is_unknown_at_once(server: SegueServer) -> None:
    _, made, _ = server.ask("POST", "/v1/keys", {"role": "reader"})
    assert server.ask("GET", "/metrics", token=made["key"])[0] == 200
    assert server.ask("DELETE", f"/v1/keys/{made['id']}")[0] == 200
    assert server.ask("GET", "/metrics", token=made["key"])[0] == 401


def test_a_key_that_is_revoked_on_the_command_line_is_unknown_at_once(server: SegueServer, cli: Cli) -> None:
    made = cli("--home", str(server.home), "--json", "key", "create", "--role", "reader").value
    assert server.ask("GET", "/metrics", token=made["key"])[0] == 200
    cli("--home", str(server.home), "key", "revoke", made["id"])
    assert server.ask("GET", "/metrics", token=made["key"])[0] == 401


def test_an_admin_manages_keys_from_another_machine(
    server: SegueServer, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_STORE", server.url)
    monkeypatch.setenv("SEGUE_API_KEY", server.token)
    made = cli("--json", "key", "create", "--project", "afar", "--role", "reader", "--agent", "ci").value
    assert made["key"].startswith("sgk_") and (made["project"], made["agent"]) == ("afar", "ci")
    assert made["id"] in [one["id"] for one in cli("--json", "key", "list").value]
    newer = cli("--json", "key", "rotate", made["id"]).value
    assert cli("--json", "key", "revoke", newer["id"]).value["id"] == newer["id"]
    acts = [line["act"] for line in cli("--json", "key", "audit", "--project", "afar").value]
    assert f"revoke key {newer['id']}" in acts
    monkeypatch.setenv("SEGUE_API_KEY", server.key(role="writer"))
    assert cli("--json", "key", "list", code=77).value["error"]["code"] == "not_allowed"


def test_a_rotated_key_holds_on_for_its_grace_only(server: SegueServer) -> None:
    _, old, _ = server.ask("POST", "/v1/keys", {"role": "reader"})
    _, new, _ = server.ask("POST", f"/v1/keys/{old['id']}/rotate", {"grace": "1h"})
    assert server.ask("GET", "/metrics", token=old["key"])[0] == 200
    _, newer, _ = server.ask("POST", f"/v1/keys/{new['id']}/rotate", {})
    assert server.ask("GET", "/metrics", token=new["key"])[0] == 401
    assert server.ask("GET", "/metrics", token=newer["key"])[0] == 200


def test_an_admin_of_a_project_sees_and_makes_keys_of_that_project_only(server: SegueServer) -> None:
    admin = server.key(role="admin", project="web")
    _, other, _ = server.ask("POST", "/v1/keys", {"project": "shop"})
    listed = server.ask("GET", "/v1/keys", token=admin)[1]["keys"]
    assert {key["project"] for key in listed} == {"web"}
    assert server.ask("POST", "/v1/keys", {"project": "shop"}, token=admin)[0] == 403
    assert server.ask("POST", "/v1/keys", {"project": "*"}, token=admin)[0] == 403
    assert server.ask("DELETE", f"/v1/keys/{other['id']}", token=admin)[0] == 404
    assert {line["project"] for line in server.ask("GET", "/v1/audit", token=admin)[1]["lines"]} <= {"web"}


def test_what_is_done_to_keys_stands_in_the_audit(server: SegueServer, cli: Cli) -> None:
    _, made, _ = server.ask("POST", "/v1/keys", {"project": "audited"})
    server.ask("DELETE", f"/v1/keys/{made['id']}")
    lines = cli("--home", str(server.home), "--json", "key", "audit", "--project", "audited").value
    assert [line["act"] for line in lines][:2] == [f"revoke key {made['id']}", f"create key {made['id']}"]


def test_the_audit_keeps_as_many_days_as_it_is_told(tmp_path: Path) -> None:
    with SegueServer(tmp_path, options=["--audit-days", "30"]) as running:
        home = Projects(tmp_path)
        home.server_tables.note([AuditLine(f"2020-01-0{day}", "k", "web", "old", 200) for day in (1, 2)])
        assert running.ask("POST", "/v1/sessions", {"goal": "x"})[0] == 201
        deadline = time.monotonic() + 20
        while (
            any(line.act == "old" for _, line in home.server_tables.audit()) and time.monotonic() < deadline
        ):
            time.sleep(0.1)
        assert [
            line.act for _, line in home.server_tables.audit() if line.act.startswith(("old", "POST"))
        ] == ["POST /v1/sessions"]
        home.close()


def test_no_key_and_no_query_stands_in_the_log(server: SegueServer) -> None:
    server.ask("GET", "/v1/audit?limit=77")
    text = server.log.read_text()
    assert '"path":"/v1/audit"' in text and server.token not in text and "limit" not in text


# -- what is too much ------------------------------------------------------------------------------


def test_a_request_that_is_too_large_is_413_packed_or_not(server: SegueServer) -> None:
    assert raw(server, "POST", "/v1/keys", b" " * 1_000_001, Content_Type="application/json")[0] == 413
    bomb = gzip.compress(b" " * 50_000_000)
    status, body, _ = raw(
        server, "POST", "/v1/keys", bomb, Content_Type="application/json", Content_Encoding="gzip"
    )
    assert status == 413 and json.loads(body)["code"] == "too_large"


def test_a_packed_request_is_unpacked(server: SegueServer) -> None:
    body = gzip.compress(json.dumps({"role": "reader"}).encode())
    status, _, _ = raw(
        server, "POST", "/v1/keys", body, Content_Type="application/json", Content_Encoding="gzip"
    )
    assert status == 201


@pytest.mark.parametrize(
    "body", [b"plain words", gzip.compress(b'{"role": "reader"}', mtime=0)[:-6]], ids=["no gzip", "cut off"]
)
def test_a_body_that_is_no_whole_gzip_is_a_wrong_request_and_not_a_large_one(
    server: SegueServer, body: bytes
) -> None:
    status, answer, _ = raw(
        server, "POST", "/v1/keys", body, Content_Type="application/json", Content_Encoding="gzip"
    )
    assert status == 400 and b"gzip" in answer


def test_a_client_that_takes_gzip_gets_large_answers_packed(server: SegueServer) -> None:
    status, body, headers = raw(server, "GET", "/openapi.json", Accept_Encoding="gzip")
    assert status == 200 and headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(body))["info"]["title"] == "Segue"


def test_what_has_not_changed_is_304(server: SegueServer) -> None:
    _, _, headers = server.ask("GET", "/v1/keys")
    status, body, _ = server.ask("GET", "/v1/keys", If_None_Match=headers["etag"])
    assert (status, body) == (304, None)
    server.ask("POST", "/v1/keys", {})
    assert server.ask("GET", "/v1/keys", If_None_Match=headers["etag"])[0] == 200


def test_whoever_asks_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    with SegueServer(tmp_path, options=["--rate", "0.5"]) as running:
        found = [running.ask("GET", "/metrics") for _ in range(8)]
        assert [status for status, _, _ in found][:5] == [200] * 5
        status, body, headers = found[-1]
        assert status == 429 and body["code"] == "rate_limited" and 1 <= int(headers["retry-after"]) <= 2
        assert running.ask("GET", "/health")[0] == 200


# -- how it starts and ends ------------------------------------------------------------------------


def test_the_first_key_is_kept_in_a_file_that_only_its_owner_reads(server: SegueServer) -> None:
    path = server.home / "server" / "token"
    assert path.read_text().strip() == server.token
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_second_start_takes_the_same_key_and_does_not_show_it(tmp_path: Path) -> None:
    with SegueServer(tmp_path) as first:
        token = first.token
    again = SegueServer(tmp_path).start()
    try:
        assert again.token == "" and again.ask("GET", "/metrics", token=token)[0] == 200
    finally:
        again.stop()


def test_a_server_that_others_can_reach_needs_keys_first(cli: Cli, tmp_path: Path) -> None:
    told = cli("--home", str(tmp_path / "h"), "--json", "serve", "--host", "0.0.0.0", "--port", "0", code=65)
    assert "key create" in told.value["error"]["hint"]
    told = cli("--json", "serve", "--host", "0.0.0.0", "--no-auth", "--port", "0", code=65)
    assert "--no-auth" in told.value["error"]["message"]


def test_without_keys_only_the_names_of_this_machine_are_answered(tmp_path: Path) -> None:
    with SegueServer(tmp_path, options=["--no-auth"]) as open_one:
        assert open_one.ask("GET", "/v1/audit", token="")[0] == 200
        status, body, _ = open_one.ask("GET", "/v1/audit", token="", Host="evil.example:80")
        assert status == 421 and body["code"] == "misdirected"


def test_a_port_that_is_taken_is_an_error_in_a_sentence(
    server: SegueServer, cli: Cli, tmp_path: Path
) -> None:
    told = cli("--home", str(tmp_path / "h"), "--json", "serve", "--port", str(server.port), code=64)
    assert "cannot listen" in told.value["error"]["message"]


def test_a_request_that_is_under_way_is_answered_before_the_server_ends(tmp_path: Path) -> None:
    running = SegueServer(tmp_path).start()
    ended: list[int] = []
    with socket.create_connection(("127.0.0.1", running.port), timeout=30) as under_way:
        head = f"POST /v1/keys HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {running.token}\r\n"
        under_way.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{".encode())
        time.sleep(0.3)
        ending = threading.Thread(target=lambda: ended.append(running.stop()))
        ending.start()
        time.sleep(0.3)
        under_way.sendall(b"}")
        answer = under_way.recv(65_536)
    ending.join()
    assert answer.startswith(b"HTTP/1.1 201") and ended in ([0], [-15])


def test_metrics_count_by_route_and_not_by_what_was_asked(server: SegueServer) -> None:
    server.ask("DELETE", "/v1/keys/feedfeedfeed")
    status, text, _ = server.ask("GET", "/metrics")
    told = text.decode() if isinstance(text, bytes) else str(text)
    assert status == 200 and 'route="/v1/keys/{id}",status="404"' in told and "feedfeedfeed" not in told
    assert "segue_request_seconds_bucket" in told


def test_the_data_folder_of_a_server_is_private(server: SegueServer) -> None:
    loose = [
        str(path) for path in server.home.rglob("*")
        if path.name != "server.log" and stat.S_IMODE(os.stat(path).st_mode) & 0o077
    ]  # fmt: skip
    assert loose == []
