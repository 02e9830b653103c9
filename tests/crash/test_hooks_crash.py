"""Hooks, drains and installations that are killed: nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.crash import hook_work as work
from tests.support.runs import place

from segue import Segue
from segue.core.base.json_edit import parse
from segue.core.journal.event import read_body
from segue.core.runs.events import RunHooked
from segue.effects.files.spool import Spool
from segue.services.hooks import hook_file
from segue.services.hooks.spool_drain import drain
from segue.services.workspace.data_folder import DataFolder
from segue.stores.sqlite import SqliteStore
from segue.stores.sqlite.upkeep import integrity
from segue.testing import spawn
from segue.testing.stores import verify_chain

WORK = str(Path(work.__file__))
SPOOLING = [
    *((f"spool.append.{when}_write", n) for when in ("before", "after") for n in (1, 7)),
    *(("spool.take.after_rename", n) for n in (1, 2)),
    *(("spool.drop.before_unlink", n) for n in (1, 3)),
    *((f"spool.leave.{when}_write", n) for when in ("before", "after") for n in (1, 3)),
    *((f"store.append.{when}_commit", n) for when in ("before", "after") for n in (1, 2)),
]
INSTALLING = [(f"install.{when}_write", n) for when in ("before", "after") for n in (1, 2)]
UNINSTALLING = [(f"uninstall.{when}_write", n) for when in ("before", "after") for n in (1, 2)]
SESSIONS, SECONDS, FULL_KILLS = 30, 60.0, 200
EVENTS = [("UserPromptSubmit", "record"), ("SessionStart", "speak"), ("SessionEnd", "speak")]
DIED_AT = {failpoint for failpoint, _ in (*SPOOLING, *INSTALLING, *UNINSTALLING)}


def die(failpoint: str, passing: int, task: str, home: Path) -> None:
    home.mkdir(exist_ok=True, mode=0o700)
    process = spawn(failpoint, WORK, task, str(home), "child", count=passing)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, f"{failpoint} did not die: {err}"


def stored(home: Path) -> list[str]:
    """The ids of all records that are in the store, whose chains are whole."""
    found: list[str] = []
    with Segue(home=home, folder=home) as seg:
        drain(seg.workspace)
        assert drain(seg.workspace) == 0
        assert not Spool(home / "spool").size()
        for stream, _ in seg.workspace.store.streams("run/"):
            events = seg.workspace.store.read(stream)
            verify_chain(events)
            found += [body.id for body in map(read_body, events) if isinstance(body, RunHooked)]
    return found


@pytest.mark.parametrize(("failpoint", "passing"), SPOOLING)
def test_what_a_hook_spooled_is_stored_exactly_once_whenever_the_drain_dies(
    failpoint: str, passing: int, tmp_path: Path
) -> None:
    die(failpoint, passing, "spooling", tmp_path)
    told = (tmp_path / "acknowledged").read_text().split() if (tmp_path / "acknowledged").exists() else []
    found = stored(tmp_path)
    assert len(set(found)) == len(found), "nothing twice"
    assert set(told) <= set(found), "nothing lost"
    assert len(found) <= len(told) + 1, "and at most the one that was under way besides"


@pytest.mark.parametrize(
    ("failpoint", "passing", "task"),
    [*((f, n, "installing") for f, n in INSTALLING), *((f, n, "uninstalling") for f, n in UNINSTALLING)],
)
def test_an_init_or_uninit_that_a_kill_interrupts_is_taken_back_whole(
    failpoint: str, passing: int, task: str, tmp_path: Path
) -> None:
    before = work.agents_files(tmp_path)
    die(failpoint, passing, task, tmp_path)
    for path, body in work.read_files(tmp_path).items():
        assert body == before.get(path) or parse(body).value, "the old file or the new one"
    work.uninstalling(str(tmp_path), "again")
    assert work.read_files(tmp_path) == before


class Lane:
    """A session that calls one hook after the other; some of them are killed, at any moment."""

    def __init__(self, native: str, project: Path, data: DataFolder, rng: random.Random) -> None:
        self.native, self._project, self._data, self._rng = native, project, data, rng
        self._process: subprocess.Popen[bytes] | None = None
        self._prompt, self._dies = "", 0.0
        self.acknowledged: set[tuple[str, str]] = set()
        self.called = self.killed = 0

    def call(self, environment: dict[str, str]) -> None:
        self.called += 1
        event, mode = self._rng.choice(EVENTS)
        prompt = f"{self.native} says {self.called}"
        told = {"session_id": self.native, "cwd": str(self._project), "prompt": prompt, "source": "startup"}
        file = str(hook_file.file_of(self._data))
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", file, "claude-code", event, mode],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
        )  # fmt: skip
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(told).encode())
        self._process.stdin.close()
        self._prompt = prompt if event == "UserPromptSubmit" else ""
        dies_in = self._rng.uniform(0, 1.5) if self._rng.random() < 0.4 else float("inf")
        self._dies = time.monotonic() + dies_in

    def is_free(self) -> bool:
        """Whether the hook is gone; one whose time has come is killed."""
        process = self._process
        if process is None:
            return True
        if process.poll() is None and time.monotonic() > self._dies:
            process.kill()
            process.wait()
            self.killed += process.returncode != 0
        if process.poll() is None:
            return False
        if process.returncode == 0 and self._prompt:
            self.acknowledged.add((self.native, self._prompt))
        self._process = None
        return True


def test_many_sessions_with_hooks_that_are_killed_lose_nothing_that_was_acknowledged(
    tmp_path: Path, kill_count: int
) -> None:
    """30 sessions at once call hooks that record and hooks that speak, for up to a minute."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    home, project = tmp_path / "home", tmp_path / "shop"
    project.mkdir()
    data = DataFolder(home / "segue")
    data.make()
    hook_file.put(data)
    place(home, project, "codex", native="before", ends=False)
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    lanes = [Lane(f"run-{n}", project, data, random.Random(seed + n)) for n in range(SESSIONS)]
    until = time.monotonic() + SECONDS * max(0.1, min(1.0, kill_count / FULL_KILLS))
    while time.monotonic() < until:
        for lane in lanes:
            if lane.is_free():
                lane.call(environment)
        time.sleep(0.005)
    while not all(lane.is_free() for lane in lanes):
        time.sleep(0.005)
    acknowledged = {one for lane in lanes for one in lane.acknowledged}
    killed = sum(lane.killed for lane in lanes)
    stored(data.path)
    journal = SqliteStore(data.path / "segue.db")
    assert integrity(journal.database) == []
    found = []
    for stream, _ in journal.streams("run/"):
        bodies = [read_body(event) for event in journal.read(stream)]
        found += [
            (stream.rpartition("/")[2], b.text)
            for b in bodies
            if isinstance(b, RunHooked) and b.kind == "prompt"
        ]
    journal.close()
    assert len(found) == len(set(found)), "nothing twice"
    assert acknowledged <= set(found), "nothing lost"
    assert acknowledged and killed, "some were acknowledged, and some were killed"
    called = sum(lane.called for lane in lanes)
    print(f"{called} hooks, {killed} killed, {len(acknowledged)} prompts acknowledged, {len(found)} stored")
