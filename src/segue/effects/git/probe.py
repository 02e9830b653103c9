"""A quick look at the working tree, limited to a tenth of a second.

Branch and commit are read from git's own files. For changed paths and for commits since, two git commands run
at the same time; what does not arrive in time is left out, and the probe says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ...core.brief.facts import Probe
from . import repository as git
from .own_paths import NOTHING, OwnPaths

TIME_SECONDS = 0.1
DIRTY_MAX, COMMITS_MAX = 40, 8


def probe(
    folder: Path, since: float = 0.0, *, seconds: float = TIME_SECONDS, own: OwnPaths = NOTHING
) -> Probe:
    """Probe the working tree that contains a folder; ``since`` is when the run was last active."""
    return start_probe(folder, since, seconds=seconds, own=own)()


def start_probe(
    folder: Path, since: float = 0.0, *, seconds: float = TIME_SECONDS, own: OwnPaths = NOTHING
) -> Callable[[], Probe]:
    """Start a probe and return a function that waits for it, so that the caller can work meanwhile."""
    moment = time.time()
    repository = git.find(folder)
    if repository is None:
        return lambda: Probe(now=moment)
    from .queries import NOT_STARTED, GitQueries  # where there is no repository, no process is started

    head, branch = git.head(repository)
    queries = GitQueries(repository.root, seconds)
    queries.ask("status", "status", "--porcelain", "-z", "--untracked-files=normal")
    if since:
        queries.ask("log", "log", f"--since=@{int(since)}", "--format=%s", f"-{COMMITS_MAX}")

    def finish() -> Probe:
        answers = [queries.answer(name) for name in (("status", "log") if since else ("status",))]
        root, log = repository.root, answers[1][1] if since else None
        dirty = [path for path in _paths(answers[0][1] or b"") if not own.has(root / path)]
        commits = tuple((log or b"").decode("utf-8", "replace").splitlines())
        unanswered = any(code in (None, NOT_STARTED) for code, _ in answers)
        return Probe(moment, branch, head, tuple(dirty[:DIRTY_MAX]), commits, unanswered)

    return finish


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
