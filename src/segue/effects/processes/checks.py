"""Running checks: real processes, with a time limit, an end for all descendants, and a limited output.

A check sees only variables that are on the list, gets no shell unless it asks for one, and writes
into a file. The work is done by the nanny (see there), one for all checks of a verification; leaving the
``with`` ends whatever still runs.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...core.base.values import Value
from ...core.features.checks import Check
from ...errors import UsageError

GRACE_SECONDS = 2.0
ENVIRONMENT = frozenset(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TERM TZ TMPDIR TEMP TMP VIRTUAL_ENV CONDA_PREFIX CI "
    "SYSTEMROOT JAVA_HOME GOPATH GOROOT CARGO_HOME RUSTUP_HOME NVM_DIR PYENV_ROOT SOURCE_DATE_EPOCH".split()
)
"""Variables that checks are given, beside LC_* and those that the user names."""


class CheckOutcome(Value):
    """What came of a command."""

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
    """Processes that it left behind, and that were ended."""


def environment_of(
    variables: Mapping[str, str], more: Iterable[str], own: Mapping[str, str]
) -> dict[str, str]:
    """The variables that a check is given."""
    wanted = ENVIRONMENT | set(more)
    kept = {name: value for name, value in variables.items() if name in wanted or name.startswith("LC_")}
    return {"PATH": os.defpath, **kept, **own}


def compiled(pattern: str) -> Any:
    """A pattern of a check, in time linear in what it looks at; UsageError if it is none."""
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    try:
        return re2.compile(b"(?m)" + pattern.encode(), options)
    except re2.error as fault:
        raise UsageError(f"not a regular expression: {pattern}", hint=str(fault)) from fault


class Runner:
    """Runs commands beside each other: ``start``, then ``wait`` for what ended."""

    def __init__(self, *, grace_seconds: float = GRACE_SECONDS) -> None:
        if os.name != "posix":
            raise UsageError("checks cannot be run on this platform yet", hint="run them on Linux or macOS")
        self._grace = grace_seconds
        self._rest = b""
        self._running: set[str] = set()
        script = str(Path(__file__).with_name("check_runner.py"))
        self._nanny = subprocess.Popen(
            [sys.executable, "-I", "-S", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True, env={"PATH": os.defpath},
        )  # fmt: skip

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def running(self) -> int:
        """How many commands run now."""
        return len(self._running)

    def start(
        self, id: str, check: Check, *, root: Path, environment: Mapping[str, str], out: Path, bytes_max: int,
        slots: int = 0,
    ) -> None:  # fmt: skip
        """Begin a check, or have it wait while so many (``slots``) run; its output goes to ``out``."""
        argv = ["/bin/sh", "-c", check.text] if check.shell else list(check.command)
        self._say(
            {
                "id": id, "argv": argv, "cwd": str(root / check.folder), "env": dict(environment),
                "out": str(out), "bytes_max": bytes_max, "limit_seconds": check.limit_seconds,
                "grace_seconds": self._grace, "slots": slots,
            }
        )  # fmt: skip
        self._running.add(id)

    def stop(self, id: str) -> None:
        """End a check, and all that it started."""
        self._say({"stop": id})

    def _say(self, job: dict[str, Any]) -> None:
        pipe = self._nanny.stdin
        assert pipe is not None
        pipe.write(json.dumps(job).encode() + b"\n")
        pipe.flush()

    def wait(self, seconds: float) -> list[CheckOutcome]:
        """What ended, after at most so many seconds; nothing if nothing did."""
        pipe = self._nanny.stdout
        assert pipe is not None
        until = time.monotonic() + seconds
        while self._running:
            ready, _, _ = select.select([pipe], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return []
            chunk = os.read(pipe.fileno(), 1 << 16)
            if not chunk:
                return self._lost()
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            if lines:
                return [self._outcome(json.loads(line)) for line in lines]
        return []

    def _outcome(self, said: dict[str, Any]) -> CheckOutcome:
        self._running.discard(said["id"])
        names = {"exit": "exit_code"}
        return CheckOutcome(**{names.get(name, name): value for name, value in said.items()})

    def _lost(self) -> list[CheckOutcome]:
        gone, self._running = sorted(self._running), set()
        return [CheckOutcome(id, fault="the process that runs checks was killed") for id in gone]

    def close(self) -> None:
        """End what still runs; nothing that a check started is left behind."""
        told, said = self._nanny.stdin, self._nanny.stdout
        assert told is not None and said is not None
        if said.closed:
            return
        try:
            told.close()
        except OSError:
            pass
        until = time.monotonic() + self._grace + 30
        while select.select([said], [], [], max(0.0, until - time.monotonic()))[0]:
            if not os.read(said.fileno(), 1 << 16):  # it is gone, or about to be
                break
        else:
            self._nanny.kill()
        said.close()
        self._nanny.wait()
