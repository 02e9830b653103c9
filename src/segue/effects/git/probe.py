"""A quick look at the working tree, limited to a tenth of a second.

Branch and commit are read from git's own files. For changed paths and for commits since, two git commands run
at the same time; what does not arrive in time is left out, and the probe says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
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
    from .status import StatusQuery

    head, branch = git.head(repository)
    queries = GitQueries(repository.root, seconds)
    status = None
    with suppress(OSError):
        status = StatusQuery(repository.root, "--untracked-files=normal")
    if since:
        queries.ask("log", "log", f"--since=@{int(since)}", "--format=%s", f"-{COMMITS_MAX}")

    def finish() -> Probe:
        left = max(0.001, queries.deadline - time.monotonic())
        code, found = status.answer(left) if status is not None else (NOT_STARTED, None)
        log_code, log = queries.answer("log") if since else (0, None)
        paths = [entry.path.decode("utf-8", "replace") for entry in found.entries] if found else []
        dirty = [path for path in paths if not own.has(repository.root / path)]
        commits = tuple((log or b"").decode("utf-8", "replace").splitlines())
        unanswered = any(one in (None, NOT_STARTED) for one in (code, log_code))
        return Probe(moment, branch, head, tuple(dirty[:DIRTY_MAX]), commits, unanswered)

    return finish
