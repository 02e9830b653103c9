"""Children of a supervisor: started, found again, ended, and what they leave behind."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from segue.effects.processes.launch import UNKNOWN_EXIT, Child, find_child, kill, leftover_processes, spawn
from segue.errors import NotInstalled

STUBBORN = """
import signal, time
for number in (2, 15):
    signal.signal(number, lambda *_: None)
print("up", flush=True)
time.sleep(60)
"""


def _spawn(tmp_path: Path, mark: str, *words: str) -> Child:
    output = tmp_path / "launches" / f"{mark}.out"
    return spawn(words, folder=tmp_path, environment=dict(os.environ), mark=mark, output=output)


def _until(true: object, seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not true() and time.monotonic() < until:  # type: ignore[operator]
        time.sleep(0.02)
    assert true()  # type: ignore[operator]


def mark(name: str) -> str:
    """A mark that no process of another run of these tests has."""
    return f"{name}-{os.getpid()}"


def test_a_child_has_its_output_in_a_file_of_its_own(tmp_path: Path) -> None:
    child = _spawn(tmp_path, mark("m1"), "sh", "-c", "echo one; echo two >&2; exit 3")
    _until(lambda: child.exit_code() is not None)
    assert child.exit_code() == 3
    assert child.tail() == "one\ntwo\n" and child.printed() == 8
    assert child.output.stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_started_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotInstalled, match="no-such-agent cannot be started"):
        _spawn(tmp_path, mark("m2"), "no-such-agent")


def test_a_child_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    child = _spawn(tmp_path, mark("m3"), sys.executable, "-c", STUBBORN)
    _until(lambda: child.printed() > 0)
    child.end(0.2)
    assert child.exit_code() == -9


def test_a_child_is_found_again_by_pid_and_by_its_mark(tmp_path: Path) -> None:
    child = _spawn(tmp_path, mark("m4"), "sleep", "60")
    _until(lambda: leftover_processes(mark("m4")))  # the kernel shows its environment a moment after it began
    try:
        for again in (
            find_child(child.pid, child.started, mark("m4"), child.output),
            find_child(0, "", mark("m4"), child.output),
        ):
            assert again is not None and again.pid == child.pid and again.exit_code() is None
        assert find_child(child.pid, "another start", mark("m4"), child.output) is None
        assert find_child(0, "", mark("m5"), child.output) is None
    finally:
        child.end(1.0)
    gone = Child(child.pid, child.started, child.output)
    assert gone.exit_code() == UNKNOWN_EXIT


def test_what_a_killed_child_left_is_found_and_named(tmp_path: Path) -> None:
    child = _spawn(tmp_path, mark("m6"), "sh", "-c", "setsid sleep 61 & echo up; sleep 62")
    _until(lambda: len(leftover_processes(mark("m6"))) == 2)
    kill(child.pid)
    _until(lambda: child.exit_code() is not None)
    left = leftover_processes(mark("m6"))
    assert {one.command for one in left} == {"sleep 61", "sleep 62"}
    for one in left:
        kill(one.pid)
    _until(lambda: not leftover_processes(mark("m6")))
