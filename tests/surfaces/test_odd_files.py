"""No command waits for a pipe, reads a device or fails on a folder, wherever it looks for a file.

Which files commands look at is not listed here: the commands run once in a project that has everything, and
what they open is recorded.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
from tests.support.git import Repository
from tests.surfaces.conftest import Cli

from segue.core.runs import steps as s
from segue.testing.transcripts import placed

AGENTS = {
    "claude-code": "11111111-1111-4111-8111-111111111111",
    "codex": "0193a7c4-1111-7111-8111-111111111199",
    "opencode": "ses_1",
    "gemini-cli": "ses_2",
    "cline": "1700000000001",
}
COMMANDS = (
    "brief", "status", "list", "show", "log", "resume", "resume --budget balanced", "since", "doctor",
    "prepare", "bootstrap", "pressure", "plan 'mend the parser'", "verify", "feature list", "recall pool",
    "memories", "handover status", "handover check", "export one", "config", "config budget_tokens", "trust",
    "backup", "cleanup --dry-run", "init --dry-run", "uninit --dry-run", "checkpoints", "resumable", "note x",
    "done a", "undo", "checkpoint", "start other", "switch one", "pause", "runs", "sync", "rebuild --check",
    "recover --dry-run", "off", "on", "completion bash", "budget", "agent list", "model show", "scrub x",
    "hook claude-code stop", "key list", "import given.json", "handoff list", "init --yes", "uninit --yes",
)  # fmt: skip
SECONDS_MAX = 30
DRIVER = """
import os, sys
if os.environ.get("OPENED"):
    out = open(os.environ["OPENED"], "a")
    def hook(event, values):
        if event == "open" and isinstance(values[0], (str, bytes)):
            out.write(os.path.join(os.getcwd(), os.fsdecode(values[0])) + "\\n")
            out.flush()
    sys.addaudithook(hook)
from segue.surfaces.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


class World(NamedTuple):
    """A project in which everything that commands look at is there."""

    folder: Path

    def run(self, command: str, *, opened: Path | None = None) -> subprocess.CompletedProcess[str]:
        environment = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("SEGUE_", "XDG_", "CODEX_", "CLAUDE_"))
        }  # fmt: skip
        own = {"HOME": str(self.folder), "SEGUE_HOME": str(self.folder / "data"), "OPENED": str(opened or "")}
        payload = {
            "session_id": AGENTS["claude-code"], "cwd": str(self.folder / "shop"), "hook_event_name": "Stop",
            "transcript_path": str(next(self.folder.glob(".claude/projects/*/*.jsonl"))),
        }  # fmt: skip
        return subprocess.run(
            [sys.executable, "-c", DRIVER, *shlex.split(command)], env=environment | own,
            cwd=self.folder / "shop", input=json.dumps(payload), capture_output=True, text=True,
            timeout=SECONDS_MAX,
        )  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("world")
    world, shop = World(folder), folder / "shop"
    repository = Repository(shop)
    for name in ("AGENTS.md", "CLAUDE.md", "package.json", "pyproject.toml", "feature_list.json"):
        (shop / name).write_text("{}\n" if name.endswith("json") else "")
    (shop / "segue.toml").write_text("")
    repository.git("add", "-A")
    repository.git("commit", "-qm", "first", author="Ann")
    (shop / "new.py").write_text("x = 1\n")
    for agent, native in AGENTS.items():
        steps: list[s.Step] = [
            s.Start(cwd=str(shop)), s.Prompt(1.7e9, "Mend the parser of the invoices, please"),
            s.Say(1.7e9 + 5, "I am at it."),
        ]  # fmt: skip
        placed(agent, steps, native=native, cwd=str(shop), home=folder)
    for command in ("start goal --id one --item a --item b", "remember 'the pool has ten connections'",
                    "init --yes", "sync", "backup", "export one -o given.json"):  # fmt: skip
        done = world.run(command)
        assert done.returncode == 0, (command, done.stderr)
    return world


@pytest.fixture(scope="module")
def places(world: World) -> dict[Path, str]:
    """The files of the world that commands opened, each with the first command that did."""
    seen: dict[Path, str] = {}
    log = world.folder.with_name("opened")
    for command in COMMANDS:
        log.write_text("")
        done = world.run(command, opened=log)
        assert "Traceback" not in done.stderr, (command, done.stderr)
        for line in log.read_text().splitlines():
            path = Path(line)
            if path.is_relative_to(world.folder) and not path.is_dir():
                seen.setdefault(path, command)
    assert len(seen) > 30, "the record of what is opened does not work"
    return seen


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name[:100])
    finally:
        os.chdir(here)


def a_folder(path: Path) -> None:
    path.mkdir()


def placed_instead(path: Path, make: Callable[[Path], None]) -> Iterator[None]:
    aside = path.with_name(path.name + ".aside")
    was = path.exists() or path.is_symlink()
    if was:
        path.rename(aside)
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    yield
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    elif path.exists() or path.is_symlink():
        path.unlink()
    if was:
        aside.rename(path)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("make", "each"), [(a_pipe, 1), (a_device, 4), (a_socket, 4), (a_folder, 4)])
def test_no_command_waits_for_what_lies_where_it_looks_for_a_file(
    world: World, places: dict[Path, str], make: Callable[[Path], None], each: int
) -> None:
    faults = []
    for path, command in list(places.items())[::each]:
        for _ in placed_instead(path, make):
            try:
                done = world.run(command)
            except subprocess.TimeoutExpired:
                faults.append(f"{command} waits for {path.relative_to(world.folder)}")
                continue
            if "Traceback" in done.stderr or "unexpected error" in done.stderr:
                faults.append(f"{command} with {path.relative_to(world.folder)}: {done.stderr[-300:]}")
    assert not faults, "\n".join(faults)


def told(at: float, cwd: Path, text: str) -> list[s.Step]:
    return [s.Start(at=at, cwd=str(cwd)), s.Prompt(at, text), s.Say(at + 5, "I am at it.")]


@pytest.mark.parametrize("make", [a_pipe, a_device, a_socket, a_folder])
@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini-cli"])
def test_what_is_no_transcript_is_skipped_and_the_newest_one_is_told(
    cli: Cli, project: Path, home: Path, agent: str, make: Callable[[Path], None]
) -> None:
    goal = "Mend the parser of the invoices, please"
    path = placed(agent, told(1.7e9, project, goal), native=AGENTS[agent], cwd=str(project), home=home)
    other = path.with_name(path.name.replace(AGENTS[agent], AGENTS[agent][:-1] + "7"))
    assert other != path
    os.utime(path, (1.7e9, 1.7e9))
    make(other)
    assert goal in cli("brief").out
    assert len(cli("runs", "--json").value) == 1
    cli("sync")


LOOPS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


@pytest.mark.timeout(60)
def test_a_view_that_never_ends_in_the_database_of_opencode_is_not_read(
    cli: Cli, project: Path, home: Path
) -> None:
    path = placed("opencode", told(1.7e9, project, "Mend the parser"), cwd=str(project), home=home)
    with closing(apsw.Connection(str(path))) as database:
        database.execute("ALTER TABLE session RENAME TO other")
        database.execute(
            f"CREATE VIEW session AS {LOOPS} SELECT 'ses_' || i AS id, '{project}' AS directory,"
            " i AS time_updated, '' AS parent_id, '' AS project_id FROM n"
        )
    assert "no agent has worked in this project" in cli("brief").err
    assert cli("runs", "--json").value == []
    assert cli("sync", "--json").value["read"] == 0


@pytest.mark.timeout(60)
def test_a_view_that_never_ends_in_the_index_of_codex_is_not_read(
    cli: Cli, project: Path, home: Path
) -> None:
    goal = "Mend the parser of the invoices, please"
    placed("codex", told(1.7e9, project, goal), native=AGENTS["codex"], cwd=str(project), home=home)
    with closing(apsw.Connection(str(home / ".codex" / "state_5.sqlite"))) as database:
        database.execute(
            f"CREATE VIEW threads AS {LOOPS} SELECT '' AS rollout_path, '' AS cwd, -i AS updated_at FROM n"
        )
    assert goal in cli("brief").out
