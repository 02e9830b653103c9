"""The working tree now, in a tenth of a second or not at all.

Branch and commit are read from git's files. What is changed and what was committed since is asked of git
itself, both at once; whatever is not answered in time is left out, and that is said.
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
    """Look at the working tree that holds a folder; ``since`` is when the run was last active."""
    return begun(folder, since, seconds=seconds, now=now)()


def begun(
    folder: Path, since: float = 0.0, *, seconds: float = TIME_SECONDS, now: float | None = None
) -> Callable[[], Probe]:
    """The same for who has something else to do meanwhile: git is asked now, and waited for by a call."""
    moment = time.time() if now is None else now
    repository = git.find(folder)
    if repository is None:
        return lambda: Probe(now=moment)
    head, branch = git.head(repository)
    deadline = time.monotonic() + seconds
    asked = [_ask(repository.root, "status", "--porcelain", "-z", "--untracked-files=normal")]
    if since:
        asked.append(_ask(repository.root, "log", f"--since=@{int(since)}", "--format=%s", f"-{COMMITS_MAX}"))

    def answered() -> Probe:
        told = [_answer(one, deadline) for one in asked]
        dirty = tuple(_paths(told[0] or b""))
        commits = tuple((told[1] or b"").decode("utf-8", "replace").splitlines()) if since else ()
        return Probe(moment, branch, head, dirty[:DIRTY_MAX], commits, None in told)

    return answered


def _ask(root: Path, *words: str) -> subprocess.Popen[bytes] | None:
    import subprocess

    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    try:
        return subprocess.Popen(
            ["git", "-C", str(root), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=environment,
        )  # fmt: skip
    except OSError:
        return None


def _answer(asked: subprocess.Popen[bytes] | None, deadline: float) -> bytes | None:
    """What git said; None if it did not in time."""
    if asked is None:
        return None
    import subprocess

    try:
        told, _ = asked.communicate(timeout=max(0.001, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        asked.kill()
        asked.communicate()
        return None
    return told if asked.returncode == 0 else b""


def _paths(status: bytes) -> list[str]:
    """The paths of ``git status --porcelain -z``; of a rename the new one."""
    found: list[str] = []
    parts = iter(status.split(b"\0"))
    for part in parts:
        if len(part) > 3:
            found.append(part[3:].decode("utf-8", "replace"))
            if part[:1] in b"RC":
                next(parts, None)
    return found
