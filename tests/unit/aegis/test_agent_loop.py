"""A loop around any callable: plan, work, checkpoint each item, verify, complete; again after a crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from segue import RecoverableAgent, Segue, UnverifiedFeatures

CRASHING = """
import os, sys
from segue import RecoverableAgent, Segue
seg = Segue()
session = seg.start("Build it", items=["one", "two", "three"], id="job")
def work(item):
    open("log", "a").write(item + "\\n")
    if item == sys.argv[1]:
        os._exit(9)
    return "made " + item
RecoverableAgent(session, work).run()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_function_of_the_item_alone_will_do(folder: Path) -> None:
    seen: list[str] = []
    with Segue() as seg:
        session = seg.start("Build it", items=["one", "two"])
        assert RecoverableAgent(session, seen.append).run().status == "completed"
    assert seen == ["one", "two"]


@pytest.mark.parametrize("plan", [["look", " ", "write"], lambda goal: goal.split(" and ")])
def test_a_session_without_items_is_planned_once(folder: Path, plan: Any) -> None:
    with Segue() as seg:
        session = seg.start("look and write")
        RecoverableAgent(session, lambda item: item, plan=plan).run(complete=False)
        assert session.status().done == ["look", "write"]
        RecoverableAgent(session, lambda item: item, plan=["something else"]).run()
        assert session.status().done == ["look", "write"]


def test_what_is_not_proven_is_not_completed(folder: Path) -> None:
    with Segue() as seg:
        session = seg.start("Build it", items=["one"])
        session.features.add("there", "it is there", checks=["test -f made"], covers=["made"])
        with pytest.raises(UnverifiedFeatures):
            RecoverableAgent(session, lambda item: "nothing").run()
        assert session.state.status == "active"
        (folder / "made").touch()
        assert RecoverableAgent(session, lambda item: "nothing").run().status == "completed"
        assert session.features.list().passing == 1


@pytest.mark.parametrize("at", ["one", "two", "three"])
def test_a_crash_at_any_item_goes_on_with_that_item(folder: Path, at: str) -> None:
    dead = subprocess.run([sys.executable, "-c", CRASHING, at], cwd=folder)
    assert dead.returncode == 9
    again = subprocess.run([sys.executable, "-c", CRASHING, "never"], cwd=folder)
    assert again.returncode == 0
    done = ["one", "two", "three"]
    worked = (folder / "log").read_text().split()
    assert worked == done[: done.index(at) + 1] + done[done.index(at) :]
    with Segue() as seg:
        assert seg.session("job").status().done == done


def test_a_failing_item_is_recorded_and_raised_again(folder: Path) -> None:
    def broken(item: str) -> str:
        raise ValueError("no such table")

    with Segue() as seg:
        session = seg.start("Build it", items=["one"])
        with pytest.raises(ValueError, match="no such table"):
            RecoverableAgent(session, broken).run()
        assert session.status().active == ["one"]
        assert "no such table" in str(session.log()[-1].body)
