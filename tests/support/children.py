"""Servers and agents that tests start: they end with the process that started them, even if that is
killed; how they say that they listen, and how they are ended."""

from __future__ import annotations

import ctypes
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

PR_SET_PDEATHSIG = 1


def ends_with_us(number: signal.Signals = signal.SIGKILL) -> Callable[[], None] | None:
    """For ``preexec_fn``: the child gets this signal when the process of the tests dies. Only on Linux, and
    only from the main thread: the signal comes when the thread that started the child ends."""
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return None
    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)

    return ask


def first_object(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What a server prints as JSON once it listens; the error holds what it printed instead."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("}"):
            told: dict[str, Any] = json.loads("".join(lines))
            return told
    raise RuntimeError(f"it did not start: {''.join(lines)}")


def ended(process: subprocess.Popen[str] | None, how: signal.Signals) -> int:
    """Send a signal, wait for the end, and return the exit code; 0 if there is no process."""
    if process is None:
        return 0
    process.send_signal(how)
    try:
        code = process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    if process.stdout is not None:
        process.stdout.close()
    return code
