"""Ways around keys, roles and agents of a real server that somebody may try, and that lead nowhere."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.rest import begun, done, raw
from tests.support.server import SegueServer

from segue.core.journal.event import Draft
from segue.core.memories.model import Memory
from segue.core.server.access import without_secrets
from segue.stores.base import Append
from segue.stores.remote import wire
from segue.surfaces.http.server.metrics import Metrics


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegueServer]:
    with SegueServer(tmp_path_factory.mktemp("around"), options=["--rate", "0"]) as running:
        yield running


def audited(server: SegueServer) -> list[dict[str, Any]]:
    """The audit, when what waits for it has been written."""
    time.sleep(1.5)
    lines: list[dict[str, Any]] = done(server.ask("GET", "/v1/audit?limit=1000"))["lines"]
    return lines


# -- without keys ----------------------------------------------------------------------------------


def test_without_keys_no_web_page_can_write(tmp_path: Path) -> None:
    with SegueServer(tmp_path, options=["--no-auth"]) as open_to_all:
        own = f"http://127.0.0.1:{open_to_all.port}"
        goal = {"goal": "what a page wants"}
        for page in ("https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"):
            for path in ("/v1/sessions", "/mcp", "/v1/keys"):
                assert open_to_all.ask("POST", path, goal, token="", Origin=page)[0] == 403, (page, path)
        assert done(open_to_all.ask("GET", "/v1/sessions", token=""))["sessions"] == []
        assert open_to_all.ask("POST", "/v1/sessions", goal, token="", Origin=own)[0] == 201
        assert open_to_all.ask("GET", "/v1/keys", token="", Segue_Project="../x")[0] == 400


# -- secrets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/keys", "/v1//keys", "//v1/keys", "/v1/keys/", "/v1/%6beys"])
def test_an_answer_with_a_key_is_never_kept(server: SegueServer, path: str) -> None:
    tokens = set()
    for _ in range(2):
        status, body, headers = raw(server, "POST", path, b'{"role": "reader"}', Idempotency_Key=f"of {path}")
        assert status == 201 and "idempotency-replayed" not in headers
        tokens.add(json.loads(body)["key"])
    assert len(tokens) == 2


def test_a_key_that_somebody_puts_into_a_path_stands_in_no_log_and_no_audit(server: SegueServer) -> None:
    token = server.key(role="reader")
    assert server.ask("DELETE", f"/v1/keys/{token}")[0] == 200
    secret = token.split("_", 2)[2]
    assert secret not in json.dumps(audited(server))
    assert secret not in server.log.read_text() and without_secrets(token) in server.log.read_text()


# -- agents' keys ----------------------------------------------------------------------------------


def test_a_key_of_an_agent_imports_nothing_of_another(server: SegueServer) -> None:
    bo = server.key(role="writer", project="import", agent="bo")
    head = '{"format":"segue-memories","version":1,"memories":1}\n'
    for agent, status in (("ana", 403), ("bo", 200)):
        memory = Memory(id=f"m{agent}", content=f"of {agent}", agent=agent, scope="agent-private")
        file = head + msgspec.json.encode(memory).decode() + "\n"
        found = server.ask("POST", "/v1/memories/import", {"content": file}, token=bo)
        assert found[0] == status, (agent, found)


def test_a_key_of_an_agent_completes_no_run_of_another(server: SegueServer) -> None:
    ana, bo = (server.key(role="writer", project="runs", agent=name) for name in ("ana", "bo"))
    done(server.ask("POST", "/memories/ace/run", {"run_id": "r1"}, token=ana))
    came = {"success": False, "logs": {"error": "as if ana had said it"}}
    assert server.ask("POST", "/memories/ace/run/r1/complete", came, token=bo)[0] == 403
    assert done(server.ask("POST", "/memories/ace/run/r1/complete", came, token=ana))["status"] == "failed"


def test_a_key_of_an_agent_attests_in_no_other_name(server: SegueServer) -> None:
    bo = server.key(role="writer", project="default", agent="bo")
    id = begun(server, "attested")
    done(server.ask("POST", f"/v1/sessions/{id}/features", {"id": "f", "description": "d"}), 201)
    as_ana = {"verified_by": "ana", "passes": True}
    assert server.ask("POST", f"/v1/sessions/{id}/features/f/update", as_ana, token=bo)[0] == 403
    assert server.ask("PATCH", "/memories/ace/feature/f", as_ana, token=bo)[0] == 403
    found = done(server.ask("PATCH", "/memories/ace/feature/f", {**as_ana, "verified_by": "bo"}, token=bo))
    assert found["passes"] and found["verified_by"] == "bo"


def test_an_admin_that_is_an_agent_makes_and_sees_keys_of_that_agent_only(server: SegueServer) -> None:
    bo = server.key(role="admin", project="bound", agent="bo")
    other = server.key(role="writer", project="bound", agent="ana").split("_")[1]
    assert server.ask("POST", "/v1/keys", {"agent": "ana"}, token=bo)[0] == 403
    assert done(server.ask("POST", "/v1/keys", {}, token=bo), 201)["agent"] == "bo"
    assert {one["agent"] for one in done(server.ask("GET", "/v1/keys", token=bo))["keys"]} == {"bo"}
    assert server.ask("POST", f"/v1/keys/{other}/rotate", {}, token=bo)[0] == 404
    status, _, _ = raw(
        server, "POST", "/v1/store/memories/everything", wire.encode({}),
        Authorization=f"Bearer {bo}",
    )  # fmt: skip
    assert status == 403


# -- what is written down --------------------------------------------------------------------------


def test_looks_are_not_in_the_audit_and_answers_to_readers_are_not_kept(server: SegueServer) -> None:
    writer, reader = (server.key(role=role, project="quiet") for role in ("writer", "reader"))
    path, read = "/v1/store/journal/read", wire.encode({"stream": "session/x"})
    for token in (writer, reader):
        assert raw(server, "POST", path, read, Authorization=f"Bearer {token}")[0] == 200
    for _ in range(2):
        status, _, headers = server.ask(
            "POST", "/v1/memories/query", {"query": "*"}, token=reader, Idempotency_Key="once"
        )
        assert status == 200 and "idempotency-replayed" not in headers
    done(server.ask("POST", "/v1/sessions", {"goal": "g"}, token=writer), 201)
    assert server.ask("POST", "/v1/sessions", {"goal": "g"}, token=reader)[0] == 403
    ids = {token.split("_")[1] for token in (writer, reader)}
    told = [(line["act"], line["status"]) for line in audited(server) if line["key"] in ids]
    assert sorted(told) == [("POST /v1/sessions", 201), ("POST /v1/sessions", 403)]


def test_an_idempotency_key_is_of_one_actor(server: SegueServer) -> None:
    begun(server, "whose", "a")
    note = {"commands": [{"command": "Note", "text": "said"}]}
    path, headers = "/v1/sessions/whose/commands", {"Idempotency_Key": "k-whose"}
    done(server.ask("POST", path, note, Segue_Actor="ana", **headers))
    assert server.ask("POST", path, note, Segue_Actor="bo", **headers)[0] == 422
    assert server.ask("POST", path, note, Segue_Actor="ana", **headers)[2]["idempotency-replayed"] == "true"


# -- what does not fit -----------------------------------------------------------------------------


def test_numbers_and_pieces_that_cannot_be_are_refused_and_no_fault(server: SegueServer) -> None:
    assert server.ask("GET", f"/v1/audit?before={10**20}")[0] == 400
    for pieces in ({"no hex": b"x"}, {"00" * 16: b"x"}):
        body = wire.encode({"appends": [], "pieces": pieces})
        assert raw(server, "POST", "/v1/store/journal/append", body)[0] == 400, pieces


@pytest.mark.parametrize("name", ["../x", "", "a b", "a/b", "\0", "x" * 500])
def test_a_stream_with_a_name_that_no_session_has_breaks_no_list(server: SegueServer, name: str) -> None:
    draft = Draft("session.created", b"{}", "2026-11-15T00:00:00.000000Z", "user", "", 1)
    body = wire.encode({"appends": [Append(f"session/{name}", 0, [draft])]})
    assert raw(server, "POST", "/v1/store/journal/append", body)[0] == 200
    for path in ("/v1/sessions", "/v1/handoffs", "/memories/ace/features", "/memories/ace/dashboard/stats"):
        assert server.ask("GET", path)[0] == 200, path


def test_bytes_that_no_command_would_write_break_no_list(server: SegueServer) -> None:
    token = server.key(role="writer", project="junk")
    done(server.ask("POST", "/v1/sessions", {"goal": "g", "id": "good"}, token=token), 201)
    streams = ("session/junk", "hold/good", "handover/x", "ledger/handoffs", "ledger/spend", "ledger/trust")
    for stream in streams:
        for kind in ("item.done", "no.such"):
            draft = Draft(kind, b"not json", "never", "user", "", 1)
            wish = Append(stream, 0 if kind == "item.done" else 1, [draft])
            body = wire.encode({"appends": [wish]})
            path = "/v1/store/journal/append"
            assert raw(server, "POST", path, body, Authorization=f"Bearer {token}")[0] == 200
    for path in (
        "/v1/sessions",
        "/v1/handoffs",
        "/v1/handovers",
        "/v1/spend",
        "/memories/ace/features",
        "/memories/ace/dashboard/sessions",
        "/memories/ace/dashboard/stats",
    ):
        assert server.ask("GET", path, token=token)[0] == 200, path
    assert done(server.ask("GET", "/v1/sessions/good", token=token))["goal"] == "g"


def test_a_packed_request_that_is_cut_off_is_refused(server: SegueServer) -> None:
    packed = gzip.compress(b'{"goal": "cut"}')
    assert raw(server, "POST", "/v1/sessions", packed[:-6], Content_Encoding="gzip")[0] == 400


def test_tools_over_http_hold_no_stream_open(server: SegueServer) -> None:
    begin = time.monotonic()
    status, _, headers = raw(server, "GET", "/mcp", Accept="text/event-stream")
    assert status == 405 and headers["allow"] == "POST" and time.monotonic() - begin < 5


def test_methods_that_nobody_knows_are_counted_as_one() -> None:
    metrics = Metrics()
    for number in range(1_000):
        metrics.begun()
        metrics.ended(f"M{number}", "other", 401, 0.001)
    assert 'method="other",route="other",status="401"} 1000' in metrics.text()
    assert len(metrics.text()) < 10_000


def test_a_server_takes_as_many_files_as_it_may() -> None:
    resource = pytest.importorskip("resource", reason="NOT TESTED: limits are of POSIX")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    script = (
        "import resource as r; from segue.surfaces.http.server.process import FILES_MAX, allow_more_files\n"
        "hard = r.getrlimit(r.RLIMIT_NOFILE)[1]; r.setrlimit(r.RLIMIT_NOFILE, (256, hard))\n"
        "allow_more_files(); print(*r.getrlimit(r.RLIMIT_NOFILE), FILES_MAX)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    soft, same, most = map(int, ran.stdout.split())
    assert same == hard and soft == (most if hard == resource.RLIM_INFINITY else min(hard, most))
