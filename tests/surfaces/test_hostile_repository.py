"""Every command, in a repository that tries to have its own programs run: none of them is."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.hooks import Agent
from tests.support.hostile_repository import HostileRepository
from tests.support.runs import place
from tests.surfaces.conftest import Cli

from segue.surfaces.cli.main import main
from segue.surfaces.cli.table import TABLE

WORDS: dict[str, Sequence[Sequence[str]]] = {
    "start": [["a goal", "--id", "other"]],
    "resume": [["one"], ["one", "--budget", "balanced"], ["one", "--budget", "minimal"]],
    "switch": [["one"]],
    "pause": [[]],
    "complete": [["--force"]],
    "abandon": [[]],
    "handover": [["check"], ["status"]],
    "handoff": [["pack", "-o", "bundle.yaml"], []],
    "prepare": [[]],
    "budget": [[]],
    "bootstrap": [[]],
    "plan": [["do it"]],
    "brief": [[], ["--max-bytes", "20000"], ["--json"]],
    "status": [[]],
    "list": [[]],
    "show": [["one"]],
    "log": [[]],
    "resumable": [[]],
    "checkpoints": [[]],
    "runs": [[]],
    "pressure": [[]],
    "since": [[], ["--from", "HEAD~1"], ["--from", "2h"]],
    "checkpoint": [["--name", "c", "--note", "n"]],
    "done": [["item"]],
    "begin": [["item"]],
    "add": [["more"]],
    "block": [["item", "--reason", "r"]],
    "unblock": [["item"]],
    "drop": [["more"]],
    "note": [["n"]],
    "decide": [["d", "--why", "w"]],
    "ask": [["q"]],
    "answer": [["q", "a"]],
    "learn": [["l"]],
    "rewind": [["c"]],
    "undo": [[]],
    "feature": [["add", "works", "--check", "true", "--covers", "*.py"], ["list"]],
    "verify": [[], ["--all"]],
    "remember": [["m"], ["--from-run"]],
    "recall": [["m"]],
    "playbook": [["m"]],
    "vote": [["x", "--helpful"]],
    "forget": [["x"]],
    "memories": [[]],
    "agent": [["list"]],
    "hold": [[]],
    "run": [["--agent", "claude-code", "task"]],
    "continue": [["claude-code"]],
    "mcp": [[]],
    "key": [["list"]],
    "sync": [[]],
    "export": [["one", "-o", "one.json"]],
    "import": [["one.json", "--as", "again"]],
    "backup": [[]],
    "cleanup": [[]],
    "rebuild": [["--check"]],
    "recover": [[]],
    "scrub": [["nothing here"]],
    "doctor": [[]],
    "init": [["--agent", "claude-code"], ["--agent", "opencode"]],
    "uninit": [["--agent", "claude-code"]],
    "off": [[]],
    "on": [[]],
    "hook": [["claude-code"], ["opencode"]],
    "model": [[]],
    "spend": [[]],
    "config": [[]],
    "trust": [[]],
    "completion": [["bash"]],
}
AGENTS = ("claude-code", "opencode")
EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "PostToolUse", "Stop", "SessionEnd")
ELSEWHERE = {"serve": "it has no working tree", "migrate": "it copies stores"}


def test_no_command_is_forgotten() -> None:
    assert set(WORDS) | set(ELSEWHERE) == set(TABLE)


@pytest.fixture
def hostile(project: Path, home: Path, tmp_path: Path, cli: Cli) -> HostileRepository:
    made = HostileRepository(project, tmp_path / "canaries")
    _plant_interpreter(made)
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


def test_no_command_runs_a_program_that_the_repository_names(hostile: HostileRepository, cli: Cli) -> None:
    ran: dict[str, set[str]] = {}
    for command, ways in WORDS.items():
        for words in ways:
            hostile.touch()
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr("sys.stdin", io.StringIO())
                main([command, *words])
            if found := hostile.found():
                ran[" ".join((command, *words))] = found
    assert ran == {}


@pytest.mark.parametrize("agent", AGENTS)
def test_no_hook_runs_a_program_that_the_repository_names(
    hostile: HostileRepository, home: Path, agent: str
) -> None:
    calling = Agent(home, hostile.folder, agent)
    for event in EVENTS:
        hostile.touch()
        calling.call(event, source="startup", prompt="go on", reason="other")
        assert hostile.found() == set(), event


def test_a_handover_runs_the_hooks_of_its_commit_and_nothing_else(hostile: HostileRepository) -> None:
    assert main(["handover", "run", "--note", "n"]) == 0
    found = hostile.found()
    assert "hooks-path-pre-commit" in found and all(name.startswith("hooks-path-") for name in found), found
