"""Ends a process together with all that it started, as far as the platform can."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import Any


def end_group(process: subprocess.Popen[Any]) -> None:
    """Kill a process that was started in a session of its own, and its children. Where there are no groups of
    processes (Windows), only the process itself can be ended."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
