"""PAUSE: while the file is there, no command writes anything, in the project or in the data folder."""

from __future__ import annotations

import hashlib
import io
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.conftest import Cli

from segue.core.runs.steps import Call, Prompt, Result, Start, Step
from segue.handover import cli as agent_handover
from segue.surfaces.cli.main import main
from segue.surfaces.cli.table import TABLE
from segue.surfaces.mcp.calls import Calls
from segue.testing.transcripts import placed

REFUSED = 65
WRITES = [
    "start another", "switch other", "pause", "complete", "abandon", "handover run --note n",
    "handover run --anew --note n", "handover score", "handover compact --months 0", "handoff --to codex",
    "handoff --to-file work.segue", "prepare", "prepare --here", "budget --limit 5",
    "plan 'a task' --out p.yaml", "plan --accept plan.yaml", "checkpoint --note x", "done 'user model'",
    "begin docs", "add docs", "block docs", "unblock 'token validation'", "drop docs", "note x", "decide x",
    "ask x", "answer why because", "learn x", "rewind one", "undo", "feature add f text --check true",
    "feature attest login --note x --by ana", "feature export out.json", "verify --trust", "remember x",
    "vote MEMORY helpful", "forget MEMORY", "memories prune", "memories import memories.jsonl",
    "memories export out.jsonl", "agent save a state.json", "agent note a --mode review", "hold -- true",
    "sync", "export -o out.json", "export -o out.yaml", "import session.json --as two", "backup",
    "cleanup --days 0", "cleanup --restore over", "rebuild", "recover", "scrub middleware --yes",
    "model set ollama/qwen3:4b", "init --agent opencode", "uninit --agent opencode", "off", "on",
    "trust --yes", "key create", "continue --in opencode --headless", "run --agent opencode",
    "migrate --to sqlite:///COPY", "habits --off all", "quota web --events 5", "ledger add rule x",
    "ledger done abcd", "ledger drop abcd", "ledger reopen abcd", "ledger edit abcd x",
    "sessions join jwt other --yes",
]  # fmt: skip
READS = [
    "handover check", "handover check --session jwt", "handover status", "handover compact --dry-run",
    "brief", "brief --json", "status", "list", "show", "log", "resumable", "checkpoints", "runs", "pressure",
    "since", "bootstrap", "budget", "feature list", "recall middleware", "playbook middleware",
    "memories list", "memories audit", "agent list", "hold", "spend", "config", "doctor", "completion bash",
    "export", "backup list", "rebuild --check", "handoff --list", "key list", "quota", "resume",
    "resume --budget balanced", "cleanup --dry-run", "init --agent opencode --dry-run",
    "verify --audit", "statusline", "search middleware", "usage", "usage --all",
    "habits", "stats", "stats --all", "map", "schema --roles segue", "ledger", "ledger --all --explain",
    "sessions", "sessions join", "sessions join jwt other --dry-run",
]  # fmt: skip
LIVE = ("hook", "mcp", "serve", "ui")
"""They are asked in other ways: see below, and the tests of hooks, routes and pages."""


@pytest.fixture
def work(started: Cli, project: Path, home: Path) -> Iterator[tuple[Path, str]]:
    """A project with everything that a command could change, and the id of a memory."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(project)], check=True)
    (project / "segue.toml").write_text('project = "shop"\n')
    (project / "state.json").write_text("{}")
    old = project / "memory" / "layer1" / "2020-01"
    old.mkdir(parents=True)
    (old / "general-2020-01-02.md").write_text("the old note\n- decided: tabs\n")
    started("start", "Old", "--id", "over", "--item", "x")
    started("abandon", "-s", "over")
    started("start", "Other", "--id", "other", "--item", "x")
    started("switch", "jwt")
    started("checkpoint", "--name", "one", "--ask", "why")
    started("block", "token validation")
    started("feature", "add", "login", "users log in", "--check", "true")
    memory = started("remember", "pytest needs JWT_SECRET", "--json").value["id"]
    started("export", "-o", str(project / "session.json"))
    started("memories", "export", str(project / "memories.jsonl"))
    started("plan", "a task", "--out", "plan.yaml")
    steps: list[Step] = [
        Start(1.0e9, "start", native="earlier", cwd=str(project)),
        Prompt(1.0e9, "Refactor the middleware"),
        Call(1.0e9 + 1, "c1", "shell", "run", text="make", command="make test"),
        Result(1.0e9 + 2, "c1", True),
    ]
    for agent in ("claude-code", "opencode"):
        placed(agent, steps, home=home, native=f"earlier-{agent}", cwd=str(project))
    yield project, memory


def snapshot(*roots: Path) -> dict[str, str]:
    """Every file below some folders by its hash. What SQLite keeps beside a database while it is open does
    not count."""
    found = {}
    for path in sorted(path for root in roots for path in root.rglob("*")):
        if path.is_dir():
            found[str(path)] = "folder"
        elif not path.name.endswith(("-wal", "-shm")):
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def agent_on_path(tmp_path: Path) -> Path:
    """A folder with an OpenCode that writes a file wherever it is started."""
    agent = tmp_path / "bin" / "opencode"
    agent.parent.mkdir()
    agent.write_text("#!/bin/sh\ntouch started\n")
    agent.chmod(0o755)
    return agent.parent


def given(words: str, memory: str, tmp_path: Path) -> list[str]:
    return [w.replace("MEMORY", memory).replace("COPY", str(tmp_path / "c.db")) for w in shlex.split(words)]


def test_no_command_writes_while_there_is_a_pause_file(
    work: tuple[Path, str], started: Cli, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, memory = work
    started("doctor")  # whatever is mended at a look is mended
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setenv("PATH", f"{agent_on_path(tmp_path)}{os.pathsep}{os.environ['PATH']}")
    (project / "PAUSE").touch()
    before = snapshot(project, home)
    wrong = []
    for words in [*WRITES, *READS]:
        code = main(given(words, memory, tmp_path))
        after = snapshot(project, home)
        changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        if changed or (words in WRITES and code != REFUSED):
            wrong.append((words, code, changed))
        before = after
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize(
    ("tool", "given_to_it"),
    [
        ("checkpoint", {"note": "x"}), ("plan", {"add": ["x"]}), ("plan", {"goal": "x"}),
        ("feature", {"action": "add", "name": "f", "text": "t", "checks": ["true"]}),
        ("feature", {"action": "verify"}), ("remember", {"text": "x"}), ("handoff", {"to": "codex"}),
        ("recovery", {"action": "prepare"}),
    ],
)  # fmt: skip
def test_no_tool_writes_while_there_is_a_pause_file(
    tool: str, given_to_it: dict[str, Any], work: tuple[Path, str], home: Path
) -> None:
    project, _ = work
    (project / "PAUSE").touch()
    before = snapshot(project, home)
    assert Calls().call(tool, given_to_it).value["error"]["code"] == "paused"
    assert snapshot(project, home) == before


def test_agent_handover_writes_nothing_while_there_is_a_pause_file(
    project: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "handover.toml").write_text('[backend]\ntype = "null"\n')
    for pause in (project / "PAUSE", home / "segue" / "PAUSE"):
        pause.parent.mkdir(exist_ok=True)
        pause.touch()
        before = snapshot(project, home)
        for words in ("--config handover.toml", "--agent codex", "--agent opencode --no-push"):
            assert agent_handover.main(["run", *words.split(), "--note", "n"]) == REFUSED
        assert str(pause) in capsys.readouterr().err and snapshot(project, home) == before
        pause.unlink()
    assert agent_handover.main(["run", "--config", "handover.toml", "--note", "n"]) == 0


def test_every_command_is_tried_while_there_is_a_pause_file() -> None:
    assert {words.split()[0] for words in [*WRITES, *READS]} | {*LIVE} == set(TABLE)
