"""What differs between platforms, made to believe that it is on another one.

Nothing here ran on macOS or Windows: a stand-in takes the place of what those systems have.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from segue import _locks
from segue._folders import data_path
from segue.effects.files import atomic
from segue.effects.processes import end_group, identity
from segue.effects.processes.checks import Runner
from segue.errors import StoreBusy, UsageError
from segue.services.resume.emergency import unwatch_signals, watch_signals

HOLDER = """
import sys
from segue import _locks
file = open(sys.argv[1], "r+b")
print(_locks.try_lock(file.fileno()), flush=True)
sys.stdin.read()
"""


class Msvcrt:
    """Locks bytes as Windows does: one holder, and not again for the same file opened twice."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self) -> None:
        self.held: dict[tuple[int, int], int] = {}

    def locking(self, descriptor: int, how: int, count: int) -> None:
        place = (os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR))
        if how == self.LK_UNLCK:
            del self.held[place]
        elif self.held.get(place, descriptor) != descriptor:
            raise PermissionError(13, "Permission denied")
        else:
            self.held[place] = descriptor


@pytest.fixture
def windows_locks(monkeypatch: pytest.MonkeyPatch) -> Msvcrt:
    stand_in = Msvcrt()
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", stand_in)
    return stand_in


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", None)


def test_a_lock_of_another_process_is_seen_and_ends_with_that_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout and holder.stdin
    try:
        assert holder.stdout.readline() == "True\n"
        with path.open("r+b") as file:
            assert not _locks.try_lock(file.fileno()) and not _locks.try_lock(file.fileno(), shared=True)
            holder.kill()
            holder.wait()
            assert _locks.try_lock(file.fileno(), shared=True)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
        holder.stdin.close()


def test_windows_locks_a_byte_that_no_file_has_and_leaves_the_position(
    tmp_path: Path, windows_locks: Msvcrt
) -> None:
    path = tmp_path / "lock"
    path.write_bytes(b"text")
    with path.open("r+b", buffering=0) as one, path.open("r+b", buffering=0) as two:
        one.seek(2)
        assert _locks.has_locks() and _locks.try_lock(one.fileno())
        assert one.read() == b"xt"
        assert not _locks.try_lock(two.fileno()) and not _locks.try_lock(two.fileno(), shared=True)
        assert not _locks.is_byte_held(two.fileno(), 0)
        _locks.unlock(one.fileno())
        assert _locks.try_lock(two.fileno())
    [(_, place)] = windows_locks.held
    assert place > 1 << 29


def test_who_waits_too_long_for_a_lock_of_windows_is_told(tmp_path: Path, windows_locks: Msvcrt) -> None:
    path = tmp_path / "lock"
    with atomic.file_lock(path, timeout_seconds=1, what="one"):
        with pytest.raises(StoreBusy, match="two"), atomic.file_lock(path, timeout_seconds=0.01, what="two"):
            raise AssertionError("it was held")
        assert len(windows_locks.held) == 1


def test_where_there_are_no_locks_everything_counts_as_free(tmp_path: Path, no_locks: None) -> None:
    path = tmp_path / "lock"
    with path.open("w+b") as file:
        assert not _locks.has_locks() and _locks.try_lock(file.fileno())
        _locks.unlock(file.fileno())
        assert not _locks.is_byte_held(file.fileno(), 0)
    with (
        atomic.file_lock(path, timeout_seconds=0, what="one"),
        atomic.file_lock(path, timeout_seconds=0, what="two"),
    ):
        pass


def test_macos_is_asked_for_more_than_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    stand_in = SimpleNamespace(F_FULLFSYNC=51, fcntl=lambda file, what: asked.append((file, what)))
    monkeypatch.setitem(sys.modules, "fcntl", stand_in)
    monkeypatch.setattr(sys, "platform", "darwin")
    with (tmp_path / "file").open("wb") as file:
        atomic.sync_file(file.fileno())
        assert asked == [(file.fileno(), 51)]


@pytest.mark.parametrize(
    ("platform", "name", "environment", "path"),
    [
        ("darwin", "posix", {"HOME": "/Users/ana"}, "/Users/ana/Library/Application Support/segue"),
        ("win32", "nt", {"HOME": "C:/Users/ana"}, "C:/Users/ana/AppData/Local/segue"),
        ("win32", "nt", {"HOME": "C:/Users/ana", "LOCALAPPDATA": "D:/data"}, "D:/data/segue"),
        ("linux", "posix", {"HOME": "/home/ana", "XDG_DATA_HOME": "/data"}, "/data/segue"),
    ],
)
def test_the_data_folder_is_where_the_platform_keeps_such_things(
    platform: str, name: str, environment: dict[str, str], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", platform)
        patch.setattr(os, "name", name)
        found = data_path(environment)
    assert found == path


def test_macos_asks_ps_when_a_process_started(monkeypatch: pytest.MonkeyPatch) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert child.stdin
    try:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "platform", "darwin")
            start, host = identity.start_of(child.pid), identity.host_name()
            assert start and ":" in start
            assert not identity.is_dead(host, child.pid, start)
            assert identity.is_dead(host, child.pid, "Thu Jan  1 00:00:00 1970")
            child.kill()
            child.wait()
            assert identity.start_of(child.pid) == "" and identity.is_dead(host, child.pid, start)
    finally:
        child.kill()
        child.wait()
        child.stdin.close()


def test_where_the_start_of_a_process_is_not_known_the_lease_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        patch.setattr(os, "name", "nt")
        patch.delattr(os, "uname")
        assert identity.host_name()
        assert identity.start_of(os.getpid()) == "self" and identity.start_of(1) == ""
        assert not identity.is_dead(identity.host_name(), 999_999, "some start")
        told = identity.stop(os.getpid(), "self", seconds=1)
    assert told == "left alone: this platform cannot tell processes apart"


def test_without_groups_of_processes_the_process_itself_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "killpg")
    monkeypatch.delattr(signal, "SIGKILL")
    ended: list[str] = []
    end_group.end_group(SimpleNamespace(pid=1, kill=lambda: ended.append("kill")))  # type: ignore[arg-type]
    assert ended == ["kill"]


def test_a_group_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    code = "import subprocess, sys; c = subprocess.Popen(['sleep', '60']); print(c.pid, flush=True); c.wait()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    with process:
        assert process.stdout
        below = int(process.stdout.readline())
        end_group.end_group(process)
        process.wait()
    end = time.monotonic() + 10.0
    while identity.start_of(below) and time.monotonic() < end:  # until somebody has waited for it
        time.sleep(0.01)
    assert process.returncode == -signal.SIGKILL and not identity.start_of(below)


def test_signals_that_a_platform_lacks_are_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "SIGHUP")

    def handler(number: int, frame: object) -> None:
        raise AssertionError("nobody sends it")

    before = watch_signals(("SIGHUP", "SIGTERM"), handler)
    try:
        assert list(before) == [signal.SIGTERM]
    finally:
        unwatch_signals(before, handler)
    assert signal.getsignal(signal.SIGTERM) == before[signal.SIGTERM]


def test_checks_are_refused_in_a_sentence_where_they_could_leave_processes_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "name", "nt")
        with pytest.raises(UsageError, match="cannot be run on this platform"):
            Runner()


def test_modes_are_left_alone_where_files_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.touch(mode=0o600)
    with monkeypatch.context() as patch:
        patch.setattr(os, "name", "nt")
        atomic.set_mode(path, 0o644)
    assert path.stat().st_mode & 0o777 == 0o600
    atomic.set_mode(path, 0o644)
    assert path.stat().st_mode & 0o777 == 0o644
