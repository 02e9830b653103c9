"""Quotas of projects: held by every server on a database, said plainly, and nothing is lost to them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.support.postgres_store import namespace_of, needs_postgres, shared
from tests.support.server import SegueServer
from tests.surfaces.conftest import Cli

from segue.effects.files.spool import Spool
from segue.services.hooks.spool_drain import spool_of
from segue.services.workspace.data_folder import DataFolder

KNOWN_SECONDS = 1.5
"""How long servers may go on before they know a quota that was set elsewhere."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SegueServer]:
    with SegueServer(tmp_path / "there") as running:
        yield running


def noted(server: SegueServer, session: str, text: str, token: str | None = None) -> tuple[int, Any, Any]:
    commands = [{"command": "Note", "text": text}]
    return server.ask("POST", f"/v1/sessions/{session}/commands", {"commands": commands}, token=token)


def begun(server: SegueServer, token: str | None = None) -> str:
    status, told, _ = server.ask("POST", "/v1/sessions", {"goal": "work"}, token=token)
    assert status == 201, told
    return str(told["session"])


def use(server: SegueServer) -> dict[tuple[str, str], tuple[int, int]]:
    found = server.ask("GET", "/v1/quotas")[1]["quotas"]
    return {(one["project"], one["kind"]): (one["used"], one["limit"]) for one in found}


def measured(server: SegueServer, token: str | None = None) -> list[str]:
    text = server.ask("GET", "/metrics", token=token)[1].decode()
    return [line for line in text.splitlines() if line.startswith("segue_quota")]


def test_without_a_quota_nothing_is_counted_or_refused(server: SegueServer) -> None:
    assert begun(server) and use(server) == {} and measured(server) == []


def test_a_session_over_the_quota_is_507_with_a_kind_and_a_next_step(server: SegueServer) -> None:
    assert server.ask("PUT", "/v1/quotas/default", {"sessions": 1})[0] == 200
    session = begun(server)
    status, problem, _ = server.ask("POST", "/v1/sessions", {"goal": "one more"})
    assert status == 507 and problem["code"] == "over_quota"
    assert (problem["project"], problem["quota"], problem["limit"], problem["used"]) == (
        "default", "sessions", 1, 1,
    )  # fmt: skip
    assert "segue quota" in problem["hint"]
    assert noted(server, session, "goes on")[0] == 200, "other kinds have no limit"
    assert use(server) == {("default", "sessions"): (1, 1)}
    assert 'segue_quota_refused_total{project="default",quota="sessions"} 1' in measured(server)


def test_events_are_taken_up_to_the_limit_and_what_was_saved_stays(server: SegueServer) -> None:
    session = begun(server)
    [(before, _)] = _with(server, events=20).values()
    answers = [noted(server, session, f"n{n}")[0] for n in range(25)]
    assert answers == [200] * (20 - before) + [507] * (5 + before)
    assert use(server)["default", "events"] == (20, 20)
    found = server.ask("GET", f"/v1/sessions/{session}/events")[1]["events"]
    assert len(found) == 20
    assert server.ask("PUT", "/v1/quotas/default", {"events": 0})[0] == 200
    assert noted(server, session, "and on")[0] == 200


def test_memories_and_bytes_have_quotas_too(server: SegueServer) -> None:
    session = begun(server)
    _with(server, memories=2)
    wish = [{"content": f"lesson {n}"} for n in range(3)]
    assert [server.ask("POST", "/v1/memories", one)[0] for one in wish] == [201, 201, 507]
    held = _with(server, memories=0, bytes=1_000_000)["default", "bytes"][0]
    assert held > 0
    _with(server, bytes=held + 500)
    assert noted(server, session, "short")[0] == 200
    status, problem, _ = noted(server, session, "x" * 600)
    assert status == 507 and problem["quota"] == "bytes"
    assert noted(server, session, "short again")[0] == 200, "what is refused takes nothing away"


def test_a_command_that_is_refused_for_another_reason_is_not_charged(server: SegueServer) -> None:
    session = begun(server)
    [(before, _)] = _with(server, events=10).values()
    for _ in range(30):
        commands = [{"command": "Done", "item": "#9"}]
        assert server.ask("POST", f"/v1/sessions/{session}/commands", {"commands": commands})[0] >= 400
    assert [noted(server, session, f"n{n}")[0] for n in range(11 - before)] == [200] * (10 - before) + [507]


def test_requests_a_minute_are_counted_for_all_keys_and_429_says_when_to_come_back(
    server: SegueServer,
) -> None:
    one, other = server.key(role="reader", project="web"), server.key(role="reader", project="web")
    _with(server, "web", requests=6)
    answers = [server.ask("GET", "/v1/sessions", token=token) for token in (one, other) * 8]
    refused = [(told, headers) for status, told, headers in answers if status == 429]
    assert 4 <= len(refused) <= 10, "a minute may have ended between"
    told, headers = refused[0]
    assert told["code"] == "rate_limited" and "web" in told["detail"]
    assert 1 <= int(headers["retry-after"]) <= 60
    assert server.ask("GET", "/metrics", token=one)[0] == 200
    assert server.ask("GET", "/v1/sessions")[0] == 200, "another project"


def test_only_a_key_of_all_projects_sets_quotas_and_others_see_their_own(server: SegueServer) -> None:
    _with(server, "web", events=5)
    _with(server, "shop", events=7)
    admin, reader = (server.key(role=role, project="web") for role in ("admin", "reader"))
    assert server.ask("PUT", "/v1/quotas/web", {"events": 0}, token=admin)[0] == 403
    assert server.ask("GET", "/v1/quotas", token=reader)[0] == 403
    told = server.ask("GET", "/v1/quotas", token=admin)[1]["quotas"]
    assert [one["project"] for one in told] == ["web"]
    assert measured(server, reader) and not any("shop" in line for line in measured(server, reader))
    assert any("shop" in line for line in measured(server))


def test_an_operator_sets_and_sees_quotas_on_the_servers_machine_and_from_afar(
    server: SegueServer, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ("--home", str(server.home))
    assert "no quota is set" in cli(*here, "quota").out
    cli(*here, "quota", "default", "--events", "3", "--requests", "500")
    time.sleep(KNOWN_SECONDS)
    session = begun(server)
    assert noted(server, session, "a")[0] == 200 and noted(server, session, "b")[0] == 507
    monkeypatch.setenv("SEGUE_STORE", server.url)
    monkeypatch.setenv("SEGUE_API_KEY", server.token)
    assert "default  3 of 3 events (100 %)" in cli("quota").out
    found = cli("--json", "quota", "default", "--events", "1000").value
    assert (found[0]["kind"], found[0]["used"], found[0]["limit"]) == ("events", 3, 1000)
    assert noted(server, session, "b")[0] == 200
    assert "which project" in cli("quota", "--events", "3", code=64).err
    assert cli("quota", "../web", "--events", "3", code=64).err


def test_commands_over_a_quota_wait_on_this_machine_and_are_saved_once_there_is_room(
    server: SegueServer, started_there: Cli
) -> None:
    cli = started_there
    held = _with(server, events=1_000)["default", "events"][0]
    _with(server, events=held)
    ran = cli("note", "kept here")
    assert ran.out.startswith("pending: ") and "may hold" in ran.out and "waits on this machine" in ran.out
    told = cli("--json", "note", "kept here too").value
    assert told["pending"] is True and told["why"].startswith("the project default may hold")
    assert pending() == 2
    _with(server, events=held + 100)
    assert "saved 2 pending changes" in cli("status").err
    told = cli("log").out
    assert told.count("kept here") == 2 and pending() == 0


def test_what_cannot_wait_says_the_quota_and_exits_as_a_store_that_is_full(
    server: SegueServer, started_there: Cli
) -> None:
    _with(server, sessions=1)
    ran = started_there("--json", "start", "another piece of work", "--id", "two", code=74)
    assert ran.value["error"]["code"] == "over_quota" and ran.value["error"]["quota"] == "sessions"


def test_what_a_hook_could_not_store_waits_in_the_spool(
    server: SegueServer, started_there: Cli, project: Path
) -> None:
    held = _with(server, bytes=10_000_000)["default", "bytes"][0]
    _with(server, bytes=held)
    event = {"session_id": "native-1", "cwd": str(project), "transcript_path": "", "prompt": "go on"}
    words = ("hook", "claude-code", "UserPromptSubmit")
    assert started_there(*words, stdin=json.dumps(event).encode()).code == 0
    assert spooled() == 2, "the prompt, and what the run was told"
    _with(server, bytes=0)
    started_there("status")
    assert spooled() == 0


@needs_postgres
def test_two_servers_on_one_database_never_take_more_than_the_quota(tmp_path: Path) -> None:
    store = shared().url(namespace=namespace_of(tmp_path))
    with SegueServer(tmp_path / "one", store) as one, SegueServer(tmp_path / "two", store) as two:
        two.token = one.token
        sessions = [begun(one) for _ in range(8)]
        _with(one, events=200)
        time.sleep(KNOWN_SECONDS)

        def work(number: int) -> list[int]:
            own = (one, two)[number % 2]
            return [noted(own, sessions[number], f"{number} {n}")[0] for n in range(30)]

        with ThreadPoolExecutor(8) as pool:
            answers = [status for found in pool.map(work, range(8)) for status in found]
        assert set(answers) == {200, 507}
        saved = sum(
            len(one.ask("GET", f"/v1/sessions/{id}/events?limit=1000")[1]["events"]) for id in sessions
        )
        assert saved == answers.count(200) + 16 <= 200
        assert use(one) == use(two) == {("default", "events"): (saved, 200)}
        time.sleep(2 * KNOWN_SECONDS)  # what a server had set aside comes back
        left = [noted((one, two)[n % 2], sessions[n % 8], f"late {n}")[0] for n in range(200 - saved + 2)]
        assert left.count(200) == 200 - saved and left[-2:] == [507, 507]


@needs_postgres
def test_requests_a_minute_are_counted_by_two_servers_together(tmp_path: Path) -> None:
    store = shared().url(namespace=namespace_of(tmp_path))
    with SegueServer(tmp_path / "one", store) as one, SegueServer(tmp_path / "two", store) as two:
        two.token = one.token
        _with(one, requests=30)
        time.sleep(KNOWN_SECONDS)
        if time.time() % 60 > 50:
            time.sleep(61 - time.time() % 60)
        answers = [(one, two)[n % 2].ask("GET", "/v1/sessions")[0] for n in range(60)]
        assert 20 <= answers.count(200) <= 30 and answers.count(429) == 60 - answers.count(200)


def spooled() -> int:
    """How many records of hooks wait here."""
    return spool_of(_folder().path).count()[0]


def pending() -> int:
    """How many commands wait here."""
    return Spool(_folder().pending, "commands").count()[0]


def _folder() -> DataFolder:
    return DataFolder(Path(os.environ["SEGUE_HOME"])).for_store(os.environ["SEGUE_STORE"])


@pytest.fixture
def started_there(server: SegueServer, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("SEGUE_STORE", server.url)
    monkeypatch.setenv("SEGUE_API_KEY", server.token)
    cli("start", "work through the server", "--id", "there")
    return cli


def _with(
    server: SegueServer, project: str = "default", **limits: int
) -> dict[tuple[str, str], tuple[int, int]]:
    status, told, _ = server.ask("PUT", f"/v1/quotas/{project}", limits)
    assert status == 200, told
    return use(server)
