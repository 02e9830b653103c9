"""Hooks when something is broken, busy, paused or switched off: the agent goes on, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.support.hooks import Agent, own, stop
from tests.support.runs import place

from segue.agents.install import InstallTarget, Scope
from segue.core.journal.event import read_body
from segue.core.runs.events import RunHooked
from segue.errors import StoreUnavailable
from segue.services.hooks import handler, hook_file, spool_drain
from segue.services.hooks.spool_drain import drain
from segue.services.workspace.data_folder import DataFolder
from segue.services.workspace.on_off import is_off
from segue.stores.sqlite import SqliteStore


@pytest.fixture
def agent(home: Path, tmp_path: Path) -> Agent:
    return Agent(home, tmp_path / "shop")


# -- faults ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "payload", [b"", b"{", b"[]", b"\xff\xfe\x00", b'{"session_id": 3}', b"null", b"{}" * 9000]
)
@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini-cli", "opencode", "cline", "nobody"])
def test_garbage_is_spooled_and_logged_and_the_agent_goes_on(
    home: Path, tmp_path: Path, name: str, payload: bytes
) -> None:
    agent = Agent(home, tmp_path / "shop", name)
    event = {"gemini-cli": "AfterAgent", "opencode": "idle", "cline": "TaskStart"}.get(name, "Stop")
    assert agent.raw(event, payload) == b""
    assert agent.spooled() == [event]
    assert f"hook {name} {event}" in agent.log()
    with agent.open() as segue:
        assert segue.workspace.store.read("ledger/hooks") == []
    with agent.open() as segue:
        assert drain(segue.workspace) == 1
        [body] = map(read_body, segue.workspace.store.read("ledger/hooks"))
        assert isinstance(body, RunHooked)
        assert "bytes" in body.text or "nothing" in body.text


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Within the block somebody writes and does not come to an end."""
    db = apsw.Connection(str(path))
    db.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        db.execute("ROLLBACK")
        db.close()


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"])
def test_while_the_store_is_locked_nothing_is_lost_and_nobody_waits_for_it(agent: Agent, event: str) -> None:
    place(agent.home, agent.project, "codex", native="run-1", ends=False)
    path = own(agent)
    agent.start(native="warm")
    written = path if event != "UserPromptSubmit" else path.with_name("later.jsonl")
    told = {"source": "startup", "transcript_path": str(written), "last_assistant_message": "ok"}
    told["prompt"] = "go on"
    began = time.monotonic()
    agent.call(event, "free-1", **told)
    free_seconds = time.monotonic() - began
    with locked(agent.data / "segue.db"):
        began = time.monotonic()
        said = agent.call(event, "now-1", **told)
        took = time.monotonic() - began
    assert took - free_seconds < 2.0, f"it waited {took:.2f} s, and {free_seconds:.2f} s with a free store"
    if event in ("UserPromptSubmit", "PreCompact"):
        assert said, "reading needs no lock"
    with agent.open() as segue:
        drain(segue.workspace)
        kinds = {event.kind for event in segue.workspace.store.read("run/claude-code/now-1")}
    assert kinds >= {
        "SessionEnd": {"run.hooked"}, "UserPromptSubmit": {"run.hooked", "brief.given"},
    }.get(event, set()), agent.log()  # fmt: skip


def test_patience_is_short() -> None:
    assert handler.PATIENCE_MS * 3 < 300, "an opening, a read and a write at most"


def test_an_event_that_is_stored_although_the_store_did_not_say_so_is_there_once(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However late: the moment by which the same event of two installations is known is long over."""
    commit = SqliteStore.append

    def lose_answer(store: SqliteStore, *appends: Any, **more: Any) -> Any:
        commit(store, *appends, **more)
        raise StoreUnavailable("the connection was lost", hint="")

    monkeypatch.setattr(spool_drain, "SAME_SECONDS", -1.0)
    with monkeypatch.context() as lost:
        lost.setattr(SqliteStore, "append", lose_answer)
        agent.call("UserPromptSubmit", prompt="go")
    assert agent.spooled() == ["UserPromptSubmit"]
    with agent.open() as segue:
        drain(segue.workspace)
        events = segue.workspace.store.read("run/claude-code/now-1")
    assert [event.kind for event in events] == ["run.hooked"]
    assert agent.spooled() == []


def test_a_store_of_a_newer_schema_is_left_alone_and_the_event_is_spooled(agent: Agent) -> None:
    place(agent.home, agent.project, "codex", native="run-1", ends=False)
    agent.start(native="warm")
    db = apsw.Connection(str(agent.data / "segue.db"))
    db.pragma("user_version", 999)
    db.close()
    body = (agent.data / "segue.db").read_bytes()
    assert "make deploy" in agent.start(), "transcripts say it without a store"
    agent.call("SessionEnd", reason="other")
    assert "SchemaTooNew" in agent.log()
    assert "SessionEnd" in agent.spooled()
    assert (agent.data / "segue.db").read_bytes() == body


def test_a_store_that_is_garbage_costs_the_brief_nothing(agent: Agent) -> None:
    place(agent.home, agent.project, "codex", native="run-1", ends=False)
    (agent.data / "segue.db").write_bytes(b"this is no database" * 500)
    assert "make deploy" in agent.start()
    assert agent.call("Stop", last_assistant_message="All done.") == {}
    assert "Stop" in agent.spooled()


def test_a_hook_never_meets_a_hold(agent: Agent) -> None:
    with agent.open() as segue:
        session = segue.start("Make the login use tokens", id="login", items=["the model"])
        with session.hold(holder="somebody"):
            assert "the model" in agent.start()
            assert stop(agent, "Looked at it.") == ""
    assert "SessionHeld" not in agent.log()


@pytest.mark.parametrize("where", ["data", "project"])
def test_a_pause_file_keeps_hooks_from_writing_anything(agent: Agent, where: str) -> None:
    place(agent.home, agent.project, "codex", native="run-1", ends=False)
    agent.start(native="warm")
    (agent.project / ".git").mkdir()
    ((agent.data if where == "data" else agent.project) / "PAUSE").touch()
    before = {path: path.read_bytes() for path in agent.data.rglob("*") if path.is_file()}
    assert agent.start(), "reading is no writing"
    stop(agent, "All done.")
    agent.call("SessionEnd", reason="other")
    after = {path: path.read_bytes() for path in agent.data.rglob("*") if path.is_file()}
    ours = {path for path in set(before) | set(after) if before.get(path) != after.get(path)}
    assert not [p for p in ours if p.parent.name != "once" and p.name not in ("segue.log", "segue.db-shm")]


# -- off -------------------------------------------------------------------------------------------


def test_off_is_off_for_hooks_and_syncs_and_on_is_on(home: Path, cli: Any, project: Path) -> None:
    there = Agent(home, project)
    place(there.home, project, "codex", native="run-1", ends=False)
    cli("off")
    cli("off")
    assert is_off(DataFolder(there.data), project / "deep")
    assert there.start() == "" and there.call("SessionEnd", reason="other") == {}
    assert there.spooled() == []
    cli("sync", code=65)
    assert cli("runs", "--json").value[0]["session"] == ""
    with there.open() as segue:
        assert not segue.workspace.store.streams("run/")
    cli("on")
    assert "make deploy" in there.start()
    assert not (there.data / "off").exists()


def test_a_session_can_be_off_by_itself(home: Path, cli: Any, project: Path) -> None:
    there = Agent(home, project)
    cli("start", "Make the login use tokens", "--id", "login", "--item", "the model")
    cli("off", "--session", "login")
    assert there.start() == ""
    hook_file.put(DataFolder(there.data))
    cli("start", "Something else", "--id", "other", "--item", "the basket")
    assert "basket" in there.start(native="now-2")


def test_segue_hook_does_what_the_installed_file_does(home: Path, cli: Any, project: Path) -> None:
    place(home, project, "codex", native="run-1", ends=False)
    told = {"session_id": "now-1", "cwd": str(project), "prompt": "go on"}
    said = cli("hook", "claude-code", "UserPromptSubmit", stdin=json.dumps(told).encode()).value
    assert "make deploy" in said["hookSpecificOutput"]["additionalContext"]
    assert cli("hook", "claude-code", "Stop", stdin=b"garbage").out == ""


@pytest.mark.parametrize("scope", ["project", "shared"])
@pytest.mark.parametrize("python", [sys.executable, "/nowhere/python"])
def test_where_segue_is_gone_the_event_is_read_and_the_agent_goes_on(
    tmp_path: Path, scope: Scope, python: str
) -> None:
    gone = tmp_path / "gone" / "hook.py"
    where = InstallTarget(scope, tmp_path, tmp_path, {}, python, gone)
    command = ["/bin/sh", "-c", where.command("cline", "TaskStart", "speak")]
    payload = b"{" + b" " * 4_000_000 + b"}"  # more than a pipe holds
    with subprocess.Popen(command, stdin=subprocess.PIPE, env={"PATH": "/usr/bin:/bin"}) as agent:
        assert agent.stdin is not None
        agent.stdin.write(payload)
        agent.stdin.close()
    assert agent.returncode == 0


def test_an_event_of_any_size_is_read_to_its_end(home: Path, tmp_path: Path) -> None:
    hook_file.put(DataFolder(home))
    command = [sys.executable, "-I", "-S", str(hook_file.file_of(DataFolder(home))), "cline", "TaskComplete"]
    with subprocess.Popen([*command, "record"], stdin=subprocess.PIPE, cwd=tmp_path) as agent:
        assert agent.stdin is not None
        agent.stdin.write(b"{" + b" " * 40_000_000 + b"}")
        agent.stdin.close()
    assert agent.returncode == 0
