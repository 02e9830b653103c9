"""Programs of Debian's packages, and processes that end with us.

As root everything runs as ``nobody``, since Postgres refuses to be root.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psycopg
import pytest
from tests.support.children import ends_with_us

PACKAGES = {
    "patroni": "patroni", "etcd": "etcd-server", "haproxy": "haproxy", "pgbouncer": "pgbouncer",
    "postgres": "postgresql-15",
}  # fmt: skip
POSTGRES_FOLDER = Path("/usr/lib/postgresql/15/bin")
PATH = f"{POSTGRES_FOLDER}:/usr/sbin:/usr/bin:/sbin:/bin"


def missing() -> list[str]:
    """The packages that are not installed."""
    return [package for program, package in PACKAGES.items() if shutil.which(program, path=PATH) is None]


needs_cluster = pytest.mark.skipif(
    bool(missing()), reason=f"NOT TESTED on a cluster: apt-get install {' '.join(missing())}"
)


def user() -> int | None:
    """Who runs the programs; None for ourselves."""
    return pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else None


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on, all different."""
    with contextlib.ExitStack() as open_ones:
        probes = [open_ones.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def own(path: Path) -> Path:
    """The path, given to the user of the programs."""
    if (who := user()) is not None:
        os.chown(path, who, -1)
    return path


def until(what: str, is_so: Callable[[], bool], seconds: float = 60.0, pause: float = 0.1) -> float:
    """Wait until it is so, and say how long that took."""
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        with contextlib.suppress(OSError):
            if is_so():
                return time.monotonic() - began
        time.sleep(pause)
    raise TimeoutError(f"{what}: not within {seconds:g} s")


class Program:
    """A process with a log, which can be killed, frozen, and started again."""

    def __init__(
        self, name: str, command: Sequence[str], folder: Path, *, prefix: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """``prefix`` are words before the command, such as those of ``faketime``."""
        self.name = name
        self._command, self._prefix, self._folder = list(command), list(prefix), folder
        self._environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", "HOME": str(folder), **(environment or {})}
        self.log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; returns at once."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._prefix, *self._command], user=user(), stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, cwd=self._folder, env=self._environment, start_new_session=True,
                preexec_fn=ends_with_us(),
            )  # fmt: skip

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it, by default as a power cut does."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def told(self, count: int = 3000) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-count:] if self.log.exists() else ""


def query(url: str, sql: str) -> list[tuple[object, ...]]:
    """The rows that a statement gives."""
    with psycopg.connect(url, autocommit=True, connect_timeout=2) as db:
        return list(db.execute(sql.encode()).fetchall())


def takes_writes(url: str) -> bool:
    """Whether a Postgres answers, and is no standby."""
    try:
        return query(url, "SELECT pg_is_in_recovery()") == [(False,)]
    except psycopg.Error:
        return False


def below(parent: int) -> list[int]:
    """A process and all that descend from it."""
    rows = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
    children: dict[int, list[int]] = {}
    for line in rows.stdout.splitlines():
        pid, above = line.split()
        children.setdefault(int(above), []).append(int(pid))
    found, waiting = [], [parent]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def send(pids: Sequence[int], number: signal.Signals) -> None:
    """Send a signal to each of these that is there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
