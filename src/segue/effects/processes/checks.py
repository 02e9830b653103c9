"""Running checks: real processes with a time limit and a limited output, which leave no descendants behind.

A check sees only the environment variables on the list, gets a shell only if it asks for one, and writes to a
file. The work is done by ``check_runner.py``, in one process for all checks of a verification; leaving the
``with`` block ends whatever still runs.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from ...core.base.values import Value
from ...core.features.checks import Check
from ...errors import UsageError

GRACE_SECONDS = 2.0
ENVIRONMENT = frozenset(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TERM TZ TMPDIR TEMP TMP VIRTUAL_ENV CONDA_PREFIX CI "
    "SYSTEMROOT JAVA_HOME GOPATH GOROOT CARGO_HOME RUSTUP_HOME NVM_DIR PYENV_ROOT SOURCE_DATE_EPOCH".split()
)
"""The variables that checks get, besides LC_* and those that the user names."""


class CheckOutcome(Value):
    """How a check ended."""

    id: str
    exit_code: int | None = None
    signal: int = 0
    timed_out: bool = False
    stopped: bool = False
    fault: str = ""
    seconds: float = 0.0
    bytes: int = 0
    """How much it wrote; the file holds less if ``cut``."""
    cut: bool = False
    left: int = 0
    """How many processes it left behind; they were ended."""


def environment_of(
    variables: Mapping[str, str], more: Iterable[str], own: Mapping[str, str]
) -> dict[str, str]:
    """The environment of a check: what ``variables`` has of the list and of ``more``, and its ``own``."""
    wanted = ENVIRONMENT | set(more)
    allowed = {name: value for name, value in variables.items() if name in wanted or name.startswith("LC_")}
    return {"PATH": os.defpath, **allowed, **own}


def compiled(pattern: str) -> Any:
    """A pattern of a check, compiled by an engine with linear time; UsageError if it is not valid."""
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    try:
        return re2.compile(b"(?m)" + pattern.encode(), options)
    except re2.error as fault:
        raise UsageError(f"not a regular expression: {pattern}", hint=str(fault)) from fault


class Runner:
    """Runs checks at the same time: ``start`` them, then ``wait`` for those that end."""

    def __init__(self, *, grace_seconds: float = GRACE_SECONDS) -> None:
        if os.name != "posix":
            raise UsageError("checks cannot be run on this platform yet", hint="run them on Linux or macOS")
        self._grace = grace_seconds
        self._rest = b""
        self._running: set[str] = set()
        script = str(Path(__file__).with_name("check_runner.py"))
        self._server = subprocess.Popen(
            [sys.executable, "-I", "-S", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True, env={"PATH": os.defpath},
        )  # fmt: skip

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def running(self) -> int:
        """How many checks have been started and not ended."""
        return len(self._running)

    def start(
        self, id: str, check: Check, *, root: Path, environment: Mapping[str, str], out: Path, bytes_max: int,
        slots: int = 0,
    ) -> None:  # fmt: skip
        """Start a check, or queue it while ``slots`` others run; its output goes to the file ``out``."""
        argv = ["/bin/sh", "-c", check.text] if check.shell else list(check.command)
        self._send(
            {
                "id": id, "argv": argv, "cwd": str(root / check.folder), "env": dict(environment),
                "out": str(out), "bytes_max": bytes_max, "limit_seconds": check.limit_seconds,
                "grace_seconds": self._grace, "slots": slots,
            }
        )  # fmt: skip
        self._running.add(id)

    def stop(self, id: str) -> None:
        """End a check and every process that it started."""
        self._send({"stop": id})

    def _send(self, job: dict[str, Any]) -> None:
        pipe = self._server.stdin
        assert pipe is not None
        pipe.write(json.dumps(job).encode() + b"\n")
        pipe.flush()

    def wait(self, seconds: float) -> list[CheckOutcome]:
        """The outcomes of checks that ended, after at most so many seconds; empty if none ended."""
        pipe = self._server.stdout
        assert pipe is not None
        until = time.monotonic() + seconds
        while self._running:
            if not _is_ready(pipe, until - time.monotonic()):
                return []
            chunk = os.read(pipe.fileno(), 1 << 16)
            if not chunk:
                return self._lost()
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            if lines:
                return [self._outcome(json.loads(line)) for line in lines]
        return []

    def _outcome(self, fields: dict[str, Any]) -> CheckOutcome:
        self._running.discard(fields["id"])
        names = {"exit": "exit_code"}
        return CheckOutcome(**{names.get(name, name): value for name, value in fields.items()})

    def _lost(self) -> list[CheckOutcome]:
        lost, self._running = sorted(self._running), set()
        return [CheckOutcome(id, fault="the process that runs checks was killed") for id in lost]

    def close(self) -> None:
        """End what still runs; nothing that a check started is left behind."""
        jobs, outcomes = self._server.stdin, self._server.stdout
        assert jobs is not None and outcomes is not None
        if outcomes.closed:
            return
        with suppress(OSError):
            jobs.close()
        until = time.monotonic() + self._grace + 30
        while _is_ready(outcomes, until - time.monotonic()):
            if not os.read(outcomes.fileno(), 1 << 16):  # the server has ended, or is about to
                break
        else:
            self._server.kill()
        outcomes.close()
        self._server.wait()


def _is_ready(pipe: IO[bytes], seconds: float) -> bool:
    """Whether something can be read within so many seconds, however many files this process has open."""
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN | select.POLLHUP)
    return bool(waiting.poll(1_000 * max(0.0, seconds)))
