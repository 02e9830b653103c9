"""Processes: is the one that held a session still the same living process?

A pid alone may belong to somebody else by now; with the time at which the process began it
cannot. Both come from the operating system, never from the process itself.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def host_name() -> str:
    """This machine, as holders are told."""
    if hasattr(os, "uname"):
        return os.uname().nodename or "localhost"
    import platform

    return platform.node() or "localhost"


def start_of(pid: int) -> str:
    """When a process began, in the platform's own words; empty if there is no such process."""
    if sys.platform == "linux":
        return _linux_start(pid)
    if os.name == "posix":
        return _posix_start(pid)
    return "" if pid != os.getpid() else "self"


def _linux_start(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    fields = stat.rpartition(b")")[2].split()
    if fields[0] in (b"Z", b"X"):
        return ""
    return f"{boot}:{fields[19].decode()}"


def _posix_start(pid: int) -> str:
    import subprocess

    try:
        command = ["ps", "-o", "lstart=", "-p", str(pid)]
        return subprocess.run(command, capture_output=True, text=True, timeout=2, check=False).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def is_dead(host: str, pid: int, pid_start: str) -> bool:
    """True only if it is certain: on this host, and gone or another process by now."""
    if os.name != "posix":
        return False  # the start of a process cannot be told here: the lease decides
    return host == host_name() and pid > 0 and start_of(pid) != pid_start
