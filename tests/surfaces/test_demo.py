"""The demo does what it says, and says what it does: it checks itself, and fails if it is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "demo" / "crash_and_resume.py"


def play(tmp_path: Path, name: str = DEMO.name, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(DEMO.with_name(name))],
        cwd=tmp_path,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_the_demo_kills_a_worker_and_the_next_one_goes_on(tmp_path: Path) -> None:
    home = tmp_path / "mine"
    played = play(tmp_path, SEGUE_HOME=str(home), PYTHONIOENCODING="utf-8")
    assert played.returncode == 0, played.stdout + played.stderr
    for promise in (
        "it died of SIGKILL",
        '"auth middleware" went on at step',
        "what was done was not done again",
        "completed, 4 of 4 items",
        "every event came back",
        "Nothing that was acknowledged was lost.",
    ):
        assert promise in played.stdout
    assert "\x1b" not in played.stdout, "colours, although nobody looks"
    assert not home.exists(), "the demo wrote into the user's own data folder"


def test_the_demo_runs_where_the_terminal_knows_only_ascii(tmp_path: Path) -> None:
    played = play(tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert played.returncode == 0, played.stdout + played.stderr


def test_the_demo_fails_when_the_next_worker_does_the_work_again(tmp_path: Path) -> None:
    """A demo that cannot fail shows nothing."""
    folder = tmp_path / "demo"
    folder.mkdir()
    worker = DEMO.with_name("worker.py").read_text()
    forgetful = worker.replace("return int(state", "return 0 and int(state")
    assert forgetful != worker
    (folder / "worker.py").write_text(forgetful)
    (folder / DEMO.name).write_text(DEMO.read_text())
    played = subprocess.run(
        [sys.executable, str(folder / DEMO.name)], capture_output=True, text=True, timeout=100, check=False
    )
    assert played.returncode == 1, played.stdout
    assert "not so" in played.stderr


def test_the_demo_kills_an_agent_and_the_next_run_knows(tmp_path: Path) -> None:
    home = tmp_path / "mine"
    played = play(tmp_path, "next_run_knows.py", SEGUE_HOME=str(home), PYTHONIOENCODING="utf-8")
    assert played.returncode == 0, played.stdout + played.stderr
    for promise in ("what must never be done", "what failed, and why", "and still says it"):
        assert promise in played.stdout
    assert not home.exists(), "the demo wrote into the user's own data folder"
