"""Identifies processes: whether the one that held a session is still the same living process.

A pid alone may belong to another process by now; together with the time at which the process started it
cannot. Both come from the operating system, never from the process itself.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from ..._files import read_bytes, read_text


def host_name() -> str:
    """The name of this machine, as holds record it."""
    if hasattr(os, "uname"):
        return os.uname().nodename or "localhost"
    import platform

    return platform.node() or "localhost"


def start_of(pid: int) -> str:
    """When a process started, in a form of the platform's own; empty if there is no such process."""
    if sys.platform == "linux":
        return _linux_start(pid)
    if os.name == "posix":
        return _ps(pid, "lstart")
    return "" if pid != os.getpid() else "self"


def _linux_start(pid: int) -> str:
    try:
        os.kill(pid, 0)  # of thousands of runs most are gone, and this is the fastest to say so
    except ProcessLookupError:
        return ""
    except (OSError, OverflowError):
        pass  # somebody else's, or no pid
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            stat = file.read(4096)
        boot = read_text(Path("/proc/sys/kernel/random/boot_id")).strip()
    except OSError:
        return ""
    fields = stat.rpartition(b")")[2].split()
    if fields[0] in (b"Z", b"X"):
        return ""
    return f"{boot}:{fields[19].decode()}"


def own_age_seconds() -> float:
    """How long this process has been running; 0 where the platform does not say so."""
    if sys.platform != "linux":
        return 0.0
    try:
        with open("/proc/self/stat", "rb", buffering=0) as file:
            fields = file.read(4096).rpartition(b")")[2].split()
        began = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began)
    except (OSError, ValueError, IndexError):
        return 0.0


def _ps(pid: int, column: str) -> str:
    """What ``ps`` says of a process; empty if there is none."""
    import subprocess

    try:
        command = ["ps", "-o", f"{column}=", "-p", str(pid)]
        return subprocess.run(command, capture_output=True, text=True, timeout=2, check=False).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def is_dead(host: str, pid: int, pid_start: str) -> bool:
    """Whether the process is certainly dead: it was on this host, and is gone or its pid is another's now."""
    if os.name != "posix":
        return False  # the start of a process is not known here, so the lease decides
    return host == host_name() and pid > 0 and start_of(pid) != pid_start


def is_alive(pid: int, started: str = "") -> bool:
    """Whether a process runs; given the start time that its agent recorded, whether it is still the same."""
    start = start_of(pid) if pid > 0 else ""
    return bool(start) and (not started.isdecimal() or ":" not in start or start.endswith(f":{started}"))


def stop(pid: int, pid_start: str, *, seconds: float) -> str:
    """Send TERM to a process if it is still the one that started then, and wait for it.

    Returns "stopped", "still running", "gone", or "left alone: " with the reason. Where the system has
    handles for processes, the signal cannot reach another process that got the same pid meanwhile."""
    if os.name != "posix":
        return "left alone: this platform cannot tell processes apart"
    handle = -1
    try:
        if hasattr(os, "pidfd_open"):
            handle = os.pidfd_open(pid)
        if not pid_start or start_of(pid) != pid_start:
            return "gone"
        if handle >= 0:
            signal.pidfd_send_signal(handle, signal.SIGTERM)
        else:
            os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return "gone"
    except OSError as fault:
        return f"left alone: {fault.strerror}"
    finally:
        if handle >= 0:
            with suppress(OSError):
                os.close(handle)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if start_of(pid) != pid_start:
            return "stopped"
        time.sleep(0.02)
    return "still running"


def ancestors(pid: int) -> tuple[int, ...]:
    """A process, its parent and so on, as far as the system tells."""
    pids: list[int] = []
    while pid > 1 and pid not in pids and len(pids) < 64:
        pids.append(pid)
        pid = _parent_of(pid)
    return tuple(pids)


def _parent_of(pid: int) -> int:
    if pid == os.getpid():
        return os.getppid()
    if sys.platform == "linux":
        with suppress(OSError, ValueError, IndexError):
            return int(read_bytes(Path(f"/proc/{pid}/stat")).rpartition(b")")[2].split()[1])
        return 0
    parent = _ps(pid, "ppid") if os.name == "posix" else ""
    return int(parent) if parent.isdecimal() else 0


def ancestor_running(program: str) -> int:
    """The nearest process above this one that runs a program, perhaps in an interpreter; 0 if there is
    none."""
    for pid in ancestors(os.getpid())[1:]:
        words = (os.path.basename(word).removesuffix(".js") for word in command_of(pid)[:2])
        if program in words:
            return pid
    return 0


def open_files(pid: int) -> set[str]:
    """The files that a process has open; empty where the system does not tell."""
    paths: set[str] = set()
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):  # closed meanwhile
                paths.add(os.readlink(f"/proc/{pid}/fd/{name}"))
    return paths


def command_of(pid: int) -> list[str]:
    """The words that a process was started with; empty where the system does not tell."""
    with suppress(OSError):
        words = read_bytes(Path(f"/proc/{pid}/cmdline")).split(b"\0")
        return [word.decode(errors="replace") for word in words if word]
    return []


def began_at(pid: int) -> float:
    """When a process started, in seconds since the epoch; 0 where the system does not tell."""
    with suppress(OSError):
        return os.stat(f"/proc/{pid}").st_mtime
    return 0.0
