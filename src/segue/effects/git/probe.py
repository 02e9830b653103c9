"""A quick look at the working tree, limited to a tenth of a second.

Branch and commit are read from git's own files. For changed paths and for commits since, two git commands run
at the same time; what does not arrive in time is left out, and the probe says so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.brief.facts import Probe
from . import repository as git

if TYPE_CHECKING:
    import subprocess

TIME_SECONDS = 0.1
DIRTY_MAX, COMMITS_MAX = 40, 8


def probe(
    folder: Path, since: float = 0.0, *, seconds: float = TIME_SECONDS, now: float | None = None
) -> Probe:
    """Probe the working tree that contains a folder; ``since`` is when the run was last active."""
    return start_probe(folder, since, seconds=seconds, now=now)()


def start_probe(
    folder: Path, since: float = 0.0, *, seconds: float = TIME_SECONDS, now: float | None = None
) -> Callable[[], Probe]:
    """Start a probe and return a function that waits for it, so that the caller can work meanwhile."""
    moment = time.time() if now is None else now
    repository = git.find(folder)
    if repository is None:
        return lambda: Probe(now=moment)
    head, branch = git.head(repository)
    deadline = time.monotonic() + seconds
    root = repository.root
    processes = [_start(root, "status", "--porcelain", "-z", "--untracked-files=normal")]
    if since:
        processes.append(_start(root, "log", f"--since=@{int(since)}", "--format=%s", f"-{COMMITS_MAX}"))

    def finish() -> Probe:
        outputs = [_output(process, deadline) for process in processes]
        dirty = tuple(_paths(outputs[0] or b""))
        commits = tuple((outputs[1] or b"").decode("utf-8", "replace").splitlines()) if since else ()
        return Probe(moment, branch, head, dirty[:DIRTY_MAX], commits, None in outputs)

    return finish


def _start(root: Path, *words: str) -> subprocess.Popen[bytes] | None:
    import subprocess

    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    try:
        return subprocess.Popen(
            ["git", "-C", str(root), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=environment,
        )  # fmt: skip
    except OSError:
        return None


def _output(process: subprocess.Popen[bytes] | None, deadline: float) -> bytes | None:
    """The output of a git command; None if it took too long, empty if it failed."""
    if process is None:
        return None
    import subprocess

    try:
        output, _ = process.communicate(timeout=max(0.001, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    return output if process.returncode == 0 else b""


def _paths(status: bytes) -> list[str]:
    """The paths in the output of ``git status --porcelain -z``; the new one of a rename."""
    paths: list[str] = []
    parts = iter(status.split(b"\0"))
    for part in parts:
        if len(part) > 3:
            paths.append(part[3:].decode("utf-8", "replace"))
            if part[:1] in b"RC":
                next(parts, None)
    return paths
