"""Handovers that are killed, and handovers that come at once: nothing is empty, torn or lost."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.crash import handover_work as work
from tests.support.crash.handover_work import engine_of, state_of

from segue import Segue
from segue.core.handover.events import HandoverBegun
from segue.handover import MemoryStore
from segue.handover.checkpoint import RESUME_COMPLETED, RESUME_NEEDED, Checkpoint
from segue.handover.flow import Handover
from segue.services.handoff.bundle import unpack
from segue.testing import spawn
from segue.testing.stores import verify_chain

WORK = str(Path(work.__file__))


def child(task: str, folder: Path, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, WORK, task, str(folder), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(*children: subprocess.Popen[str]) -> None:
    for process in children:
        _, err = process.communicate(timeout=110)
        assert process.returncode == 0, err


def notes(folder: Path) -> list[str]:
    """Every note on the disk, in order of their files."""
    files = sorted((folder / "memory" / "layer1").rglob("*.md"))
    return [note for file in files for note in re.findall(r"note (\S+) is whole", file.read_text())]


def told(folder: Path, kind: str) -> list[str]:
    lines = [
        line for file in folder.glob("lines-*") for line in file.read_text().split("\n") if line.endswith("}")
    ]
    return [record[kind] for record in map(json.loads, lines) if kind in record]


def whole_state(folder: Path) -> None:
    """The state is there, and is one that somebody wrote."""
    text = (folder / "memory" / "layer2" / "current-state.md").read_text()
    found = re.search(r"begin (\S+)", text)
    assert found and state_of(found[1]) in text, text[:200]


def test_kills_in_a_looping_engine_leave_nothing_empty_torn_or_lost(tmp_path: Path, kill_count: int) -> None:
    seed = random.randrange(10**6)
    print("seed", seed)
    rng = random.Random(seed)
    engine_of(tmp_path, "first").run()
    for number in range(kill_count):
        name = f"child{number}"
        process = child("loop", tmp_path, name, 100_000)
        while not (tmp_path / f"lines-{name}").exists():
            time.sleep(0.005)
        time.sleep(rng.random() * 0.15)
        process.kill()
        process.communicate()
        whole_state(tmp_path)
        checkpoint = Checkpoint(tmp_path / ".agent-handover" / "checkpoint.json")
        begun = (checkpoint.load().get("segue") or {})["payloads"]["session_note"]["text"]
        interrupted = checkpoint.resume_code() == RESUME_NEEDED
        engine_of(tmp_path, f"after{number}").run()
        found = notes(tmp_path)
        assert len(found) == len(set(found)), "a note is there twice"
        assert set(told(tmp_path, "done")) <= set(found), "a note that was handed over is lost"
        assert not interrupted or begun.split()[1] in found, "what the killed process had begun is lost"
        assert f"after{number}" in found
    left = [p.name for p in (tmp_path / "memory").rglob("*") if p.is_file() and not p.name.endswith(".md")]
    assert left == []


def test_two_processes_mark_one_checkpoint_and_every_mark_is_kept(tmp_path: Path) -> None:
    finish(child("marks", tmp_path, "a", 150), child("marks", tmp_path, "b", 150))
    steps = Checkpoint(tmp_path / "checkpoint.json").load()["steps"]
    assert len(steps) == 300 and set(steps.values()) == {"done"}


def test_two_processes_that_hand_over_at_once_both_leave_all_their_notes(
    tmp_path: Path, kill_count: int
) -> None:
    count = min(100, max(10, kill_count))
    finish(child("loop", tmp_path, "a", count), child("loop", tmp_path, "b", count))
    assert sorted(notes(tmp_path)) == sorted(f"{name}-{n}" for name in "ab" for n in range(count))
    assert Checkpoint(tmp_path / ".agent-handover" / "checkpoint.json").resume_code() == RESUME_COMPLETED


ALL = ["session_note", "current_state", "publish"]
DEATHS: list[tuple[str, int, list[str]]] = [
    ("files.write.before_rename", 1, []),
    ("files.write.after_rename", 1, ALL),
    ("files.write.after_rename", 2, ALL),
    ("handover.step.before_done", 1, ALL),
    ("handover.step.after_done", 1, ALL[1:]),
    ("handover.step.before_done", 2, ALL[1:]),
    ("handover.step.before_done", 3, ALL[2:]),
    ("handover.step.after_done", 3, []),
]
PUBLISHING = ["handover.commit.before", "handover.commit.after", "handover.push.after"]
JOURNALED = [
    ("handover.ledger.between", 1, False),
    ("handover.ledger.before_done", 1, False),
    ("handover.ledger.between", 2, False),
    ("handover.ledger.after_done", 2, False),
    ("handover.ledger.before_done", 4, False),
    ("handover.ledger.between", 5, True),
    ("handover.ledger.after_done", 4, True),
]
HANDING_ON = [
    ("handoff.offer.before", "offering", []),
    ("handoff.offer.after", "offering", ["open"]),
    ("handoff.take.before", "taking", ["open"]),
    ("handoff.take.after", "taking", ["taken"]),
    ("handoff.unpack.between", "unpacking", ["open"]),
]
DIED_AT = {one[0] for one in (*DEATHS, *JOURNALED, *HANDING_ON)} | {*PUBLISHING, "handover.compact.between"}
"""Failpoints at which a test of this module dies."""


@pytest.mark.parametrize(("failpoint", "count", "again"), DEATHS)
def test_a_run_that_died_anywhere_is_finished_by_the_next_with_its_own_note(
    failpoint: str, count: int, again: list[str], tmp_path: Path
) -> None:
    process = spawn(failpoint, WORK, "loop", str(tmp_path), "dead", "1", count=count)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, err
    executed = engine_of(tmp_path, "next").run()
    assert executed == [*again, *ALL]
    began = failpoint != "files.write.before_rename"
    assert notes(tmp_path) == (["dead-0", "next"] if began else ["next"])
    assert "end next" in (tmp_path / "memory" / "layer2" / "current-state.md").read_text()


@pytest.mark.parametrize("failpoint", PUBLISHING)
def test_a_publish_that_died_anywhere_is_finished_by_the_next(failpoint: str, tmp_path: Path) -> None:
    remote, folder = tmp_path / "remote.git", tmp_path / "project"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    git(tmp_path, "clone", "-q", str(remote), str(folder))
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    process = spawn(failpoint, WORK, "publish", str(folder), "dead", "1")
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, err
    checkpoint = Checkpoint(folder / ".agent-handover" / "checkpoint.json")
    assert checkpoint.pending_steps() == ["publish"]
    engine_of(folder, "dead-0", push=True).run()
    assert git(remote, "rev-parse", "main") == git(folder, "rev-parse", "HEAD")
    assert "note dead-0 is whole" in git(remote, "grep", "note", "main")
    assert git(folder, "status", "--porcelain", "memory") == ""


@pytest.mark.parametrize(("failpoint", "count", "over"), JOURNALED)
def test_a_journaled_run_that_died_anywhere_is_resumed_and_its_file_follows_the_journal(
    failpoint: str, count: int, over: bool, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    git(tmp_path, "init", "-q", str(project))
    process = spawn(failpoint, WORK, "journaled", str(tmp_path), "dead", "1", count=count)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, err
    with Segue(home=tmp_path / "home", folder=project) as segue:
        own = Handover(segue)
        assert own.check() == (2 if over else 1)
        if not over:
            assert own.run().resumed
        assert json.loads(own.checkpoint.path.read_bytes()) == own.checkpoint.load()
        verify_chain(segue.workspace.store.read(own.checkpoint.stream))
    assert notes(project) == ["dead-0"]
    assert "end dead-0" in (project / "memory" / "layer2" / "current-state.md").read_text()
    assert git(project, "status", "--porcelain") == ""


def test_kills_in_a_looping_journaled_handover_leave_nothing_empty_torn_or_lost(
    tmp_path: Path, kill_count: int
) -> None:
    seed = random.randrange(10**6)
    print("seed", seed)
    rng = random.Random(seed)
    project = tmp_path / "project"
    git(tmp_path, "init", "-q", str(project))
    for number in range(kill_count):
        process = child("journaled", tmp_path, f"child{number}", 100_000)
        while not (tmp_path / f"lines-child{number}").exists():
            time.sleep(0.005)
        time.sleep(rng.random() * 0.6)
        process.kill()
        process.communicate()
        with Segue(home=tmp_path / "home", folder=project) as segue:
            own = Handover(segue)
            own.run(note=f"note after{number} is whole", state=state_of(f"after{number}"))
            assert own.check() == 2
            begun = [body.run for body, _ in own.checkpoint.history() if isinstance(body, HandoverBegun)]
        whole_state(project)
        found = notes(project)
        assert len(found) == len(set(found)) == len(begun), "a note is there twice, or one is lost"
        assert set(told(tmp_path, "done")) <= set(found)
        assert f"after{number}" in found


def test_a_compaction_that_died_before_notes_went_is_finished_and_says_nothing_twice(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "memory")
    store.write(1, "the old note", "auth", "2026-06-07")
    process = spawn("handover.compact.between", WORK, "compacting", str(tmp_path), "dead", "1")
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert len(store.files(1)) == 1 and store.read_latest(3, "auth").count("the old note") == 1
    work.compacting(tmp_path, "", "")
    assert store.files(1) == [] and store.read_latest(3, "auth").count("the old note") == 1


@pytest.mark.parametrize(("failpoint", "task", "statuses"), HANDING_ON)
def test_an_offer_that_died_anywhere_was_made_or_taken_wholly_or_not_at_all(
    failpoint: str, task: str, statuses: list[str], tmp_path: Path
) -> None:
    process = spawn(failpoint, WORK, task, str(tmp_path), "dead", "1")
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, err
    with Segue(home=tmp_path / "home", folder=tmp_path) as segue:
        offers = segue.handoffs.of("s")
        assert [offer.status for offer in offers] == statuses
        state = segue.session("s").state
        assert len(state.handed) == len(state.marks) == len(statuses)
        assert ("taken over by codex" in state.last_action) == (statuses == ["taken"])
    if task == "unpacking":
        with Segue(home=tmp_path / "other", folder=tmp_path) as segue:
            unpack(segue.workspace, (tmp_path / "work.segue").read_bytes())
            assert [offer.status for offer in segue.handoffs.of("s")] == ["open"]
            assert segue.handoffs.accept(by="codex").offer.status == "taken"


def git(folder: Path, *words: str) -> str:
    said = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return said.stdout
