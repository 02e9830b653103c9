"""Every command, in a repository that tries to have its own programs run: none of them is."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.hooks import Agent
from tests.support.hostile_repository import HostileRepository
from tests.support.pages import PagesProcess, entered
from tests.support.runs import place
from tests.surfaces.conftest import Cli

from segue.surfaces.cli.main import main
from segue.surfaces.cli.table import TABLE
from segue.surfaces.mcp import early_answers
from segue.surfaces.mcp.tools import TOOLS

SCRIPT = """
status | list | list --all | show one | show one --timeline | log | resumable | checkpoints
runs | runs --all | pressure | budget | brief | brief --max-bytes 20000 | brief --json | brief --explain
since | since --from HEAD~1 | since --from 2h | bootstrap | prepare | plan "do it"
resume one | resume one --budget balanced | resume one --budget full --explain
checkpoint --name c --note n | add more | begin more | block more --reason r | unblock more | done item
note n | decide d --why w | ask q | answer q a | learn l | drop more | rewind c | undo
feature add works "it works" --check true --covers *.py | feature list | verify | verify --all
verify --audit | remember m | remember --from-run | recall m | playbook m | memories list | memories audit
vote {memory} helpful | forget {memory} --reason r
handover check | handover status | handoff --to-file {outside}/bundle | handoff --to opencode
agent list | key list | quota | sync
run --agent claude --max-runs 1 "a task" | run --agent opencode --max-runs 1 "a task"
continue one --in claude --max-runs 1 --headless | hold
export one --output {outside}/one.json | import {outside}/one.json --as again | backup | cleanup --dry-run
rebuild --check | recover | scrub nothing-here | doctor | model show | spend | config | trust --yes
search goal | usage | usage --all | statusline | habits | stats | map | map affected
ledger | ledger --all --explain | ledger add rule "No." | sessions | sessions join
export one --format html | export one --format markdown
init --agent claude-code --yes | init --agent opencode --yes | uninit --agent claude-code --yes | off | on
completion bash | start "a goal" --id other | switch one | pause | switch other | complete --force enough
start third --id third | abandon
"""
"""Commands in an order in which each of them succeeds."""
STOPPED = {"run": 65, "continue": 65}
"""The exit codes of commands that reach no end: the agents here end at once."""
OF_THEIR_OWN = {"hook", "mcp", "ui"}
ELSEWHERE = {
    "serve": "it has no working tree", "migrate": "it copies stores", "schema": "it is about a database",
}  # fmt: skip
AGENTS = ("claude-code", "opencode")
EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "PostToolUse", "Stop", "SessionEnd", "StatusLine")


def lines(**names: object) -> list[list[str]]:
    script = SCRIPT.replace("\n", " | ").format(**names)
    return [shlex.split(line) for line in script.split("|") if line.strip()]


def test_no_command_is_forgotten() -> None:
    scripted = {words[0] for words in lines(memory="", outside="")}
    assert scripted | OF_THEIR_OWN | set(ELSEWHERE) == set(TABLE)


@pytest.fixture
def hostile(
    project: Path, home: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> HostileRepository:
    made = HostileRepository(project, tmp_path / "canaries")
    _plant_interpreter(made)
    (project / "segue.toml").write_text("hook_brief_bytes = 2000\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("claude", "opencode"):
        (programs / name).write_text("#!/bin/sh\nexit 3\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    for agent in AGENTS:
        place(home, project, agent, native=f"run-{agent}", ends=False)
    cli("start", "the goal", "--id", "one", "--item", "item")
    cli("prepare")
    return made


def _plant_interpreter(made: HostileRepository) -> None:
    place = made.folder / ".venv" / "bin"
    place.mkdir(parents=True)
    (place.parent / "pyvenv.cfg").write_text("version = 3.11.7\n")
    (place / "python").write_bytes(Path(made.program("interpreter")).read_bytes())
    (place / "python").chmod(0o755)


def test_no_command_runs_a_program_that_the_repository_names(
    hostile: HostileRepository, cli: Cli, tmp_path: Path
) -> None:
    memory = cli("remember", "a memory", "--json").value["id"]
    ran: dict[str, set[str]] = {}
    for words in lines(memory=memory, outside=tmp_path):
        hostile.touch()
        cli(*words, code=STOPPED.get(words[0], 0))
        if found := hostile.found():
            ran[" ".join(words)] = found
    assert ran == {}


def test_no_tool_of_mcp_runs_a_program_that_the_repository_names(hostile: HostileRepository) -> None:
    client = {"name": "test", "version": "1"}
    hello = {"protocolVersion": early_answers.HANDSHAKES[-1], "capabilities": {}, "clientInfo": client}
    asked: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": hello}, {"method": "notifications/initialized"},
    ]  # fmt: skip
    calls: list[tuple[str, dict[str, Any]]] = [
        ("resume", {}), ("resume", {"budget": "balanced"}), ("checkpoint", {"note": "n"}), ("plan", {}),
        ("feature", {"action": "add", "name": "f", "text": "it works", "covers": ["*.py"]}),
        ("feature", {"action": "verify"}), ("remember", {"text": "m"}), ("recall", {"query": "m"}),
        ("since", {}), ("search", {"query": "goal"}), ("recovery", {"action": "prepare"}),
        ("recovery", {"action": "bootstrap"}), ("recovery", {"action": "pressure"}),
        ("recovery", {"action": "check"}), ("recovery", {"action": "habits"}), ("map", {}),
        ("handoff", {"to": "opencode"}), ("ledger", {"action": "list"}),
    ]  # fmt: skip
    assert {name for name, _ in calls} == {tool.name for tool in TOOLS}
    for number, (name, arguments) in enumerate(calls, 1):
        params = {"name": name, "arguments": arguments}
        asked.append({"id": number, "method": "tools/call", "params": params})
    hostile.touch()
    with subprocess.Popen(
        [sys.executable, "-m", "segue", "mcp"], cwd=hostile.folder, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    ) as serving:  # fmt: skip
        assert serving.stdin is not None and serving.stdout is not None
        serving.stdin.writelines(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in asked)
        serving.stdin.flush()  # and not closed: who hangs up is told nothing more
        answers = [json.loads(serving.stdout.readline())["result"] for _ in range(len(calls) + 1)]
        serving.stdin.close()
    assert [answer for answer in answers if answer.get("isError")] == []
    assert hostile.found() == set()


@pytest.mark.parametrize("agent", AGENTS)
def test_no_hook_runs_a_program_that_the_repository_names(
    hostile: HostileRepository, home: Path, agent: str
) -> None:
    calling = Agent(home, hostile.folder, agent)
    for event in EVENTS:
        hostile.touch()
        calling.call(event, source="startup", prompt="go on", reason="other")
        assert hostile.found() == set(), event


def test_no_page_runs_a_program_that_the_repository_names(hostile: HostileRepository, home: Path) -> None:
    with PagesProcess(home, hostile.folder) as ui:
        client = entered(ui)
        runs = [f"/run/{one['key']}" for one in json.loads(ui.segue("runs", "--json"))]
        assert len(runs) == len(AGENTS)
        pages = ["", "/sessions", "/session/one", *runs, *(f"{run}/export?format=html" for run in runs)]
        pages += ["/session/one/export?format=html", "/search?q=goal", "/memory", "/figures", "/health"]
        for path in pages:
            hostile.touch()
            assert client.get(f"/ui{path}").status == 200, path
            assert hostile.found() == set(), path


def test_a_handover_runs_the_hooks_of_its_commit_and_nothing_else(hostile: HostileRepository) -> None:
    assert main(["handover", "run", "--note", "n"]) == 0
    found = hostile.found()
    assert "hooks-path-pre-commit" in found and all(name.startswith("hooks-path-") for name in found), found
