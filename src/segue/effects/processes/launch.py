"""Processes that a supervisor starts, and finds again if the supervisor itself was killed.

A child has a process group, a mark in its environment and a file for its output, so that it can outlive its
supervisor and be recognised, by pid and start time or by the mark. It is ended gently first, by a signal that
it can handle, and then by one that it cannot. Processes that it leaves behind carry its mark too.

Segue itself can be started as a process that nobody waits for.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ..._files import APPEND_FLAGS, open_file, read_bytes
from ...core.base.values import Value
from ...errors import NotInstalled
from ..files.atomic import private_folder
from .identity import ancestors, command_of, is_alive, start_of

MARK = "SEGUE_LAUNCH"
GENTLE_SECONDS = 8.0
FIRM_SECONDS = 3.0
TAIL_BYTES = 262_144
Process = subprocess.Popen[bytes]
UNKNOWN_EXIT = 1_000
"""The exit code of a process that is not our child, so that nobody knows it."""

_HOME_OF_SEGUE = str(Path(__file__).parents[3])
_START = "import runpy, sys; sys.path.append(sys.argv.pop(1)); runpy.run_module('segue', run_name='__main__')"


class LeftoverProcess(Value):
    """A living process whose agent is gone."""

    pid: int
    command: str


class Child:
    """A process that this supervisor or an earlier one started."""

    def __init__(self, pid: int, started: str, output: Path, process: Process | None = None) -> None:
        self.pid, self.started, self.output, self._process = pid, started, output, process

    def exit_code(self) -> int | None:
        """The exit code: None while it lives, negative for a signal, ``UNKNOWN_EXIT`` if nobody knows it."""
        if self._process is not None:
            return self._process.poll()
        return None if start_of(self.pid) == self.started != "" else UNKNOWN_EXIT

    def end(self, gentle_seconds: float = GENTLE_SECONDS) -> None:
        """End it by INT, then TERM, then KILL, each with time to take effect."""
        for number, seconds in (
            (signal.SIGINT, gentle_seconds),
            (signal.SIGTERM, min(FIRM_SECONDS, gentle_seconds)),
            (signal.SIGKILL, 30.0),
        ):
            if self.exit_code() is not None:
                break
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
            until = time.monotonic() + seconds
            while self.exit_code() is None and time.monotonic() < until:
                time.sleep(0.05)

    def tail(self) -> str:
        """The end of its output."""
        try:
            with open_file(self.output) as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - TAIL_BYTES))
                return file.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def printed(self) -> int:
        """How many bytes it has printed."""
        with suppress(OSError):
            return self.output.stat().st_size
        return 0


def spawn(
    words: Sequence[str], *, folder: Path, environment: Mapping[str, str], mark: str, output: Path,
    screen: bool = False,
) -> Child:  # fmt: skip
    """Start a program, on our terminal if ``screen``, else without one. NotInstalled if it does not exist."""
    marked = {**environment, MARK: mark}
    private_folder(output.parent)
    descriptor = os.open(output, APPEND_FLAGS, 0o600)
    try:
        process = subprocess.Popen(
            words, cwd=folder, env=marked,
            stdin=None if screen else subprocess.DEVNULL,
            stdout=None if screen else descriptor, stderr=None if screen else descriptor,
            start_new_session=not screen,
        )  # fmt: skip
    except OSError as fault:
        hint = f"is {words[0]} installed and on PATH?"
        raise NotInstalled(f"{words[0]} cannot be started: {fault.strerror}", hint=hint) from fault
    finally:
        os.close(descriptor)
    return Child(process.pid, start_of(process.pid), output, process)


def find_child(pid: int, started: str, mark: str, output: Path) -> Child | None:
    """The living child of an earlier supervisor, by pid and start or else by its mark; None if it is gone."""
    if pid and started and start_of(pid) == started:
        return Child(pid, started, output)
    if pid:
        return None
    for process in leftover_processes(mark):
        with suppress(ProcessLookupError):  # it may end while it is looked at
            leader = os.getpgid(process.pid)
            if started := start_of(leader):
                return Child(leader, started, output)
    return None


def leftover_processes(mark: str) -> list[LeftoverProcess]:
    """Living processes with this mark that have no child with it; empty where the system does not tell."""
    if sys.platform != "linux":
        return []
    wanted, marked = f"\0{MARK}={mark}\0".encode(), []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        with suppress(OSError):
            if wanted in b"\0" + read_bytes(Path("/proc", name, "environ")) and is_alive(int(name)):
                marked.append(LeftoverProcess(int(name), " ".join(command_of(int(name)))))
    parents = {parent for process in marked for parent in ancestors(process.pid)[1:]}
    leaves = [process for process in marked if process.pid not in parents]
    return sorted(leaves, key=lambda process: process.pid)


def kill(pid: int) -> None:
    """Send KILL to a process; it is no error if it is gone already."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def start_detached(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> bool:
    """Start Segue's command line so that it outlives this process and whoever started it; False if that is
    not possible. It reads nothing, and what it prints is lost. Nothing is imported from ``folder``."""
    command = [sys.executable, "-I", "-c", _START, _HOME_OF_SEGUE, *words]
    try:
        process = subprocess.Popen(
            command, cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError):
        return False
    threading.Thread(target=process.wait, daemon=True).start()  # so that it leaves no zombie
    return True
