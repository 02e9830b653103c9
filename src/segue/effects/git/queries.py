"""Git commands with a time limit, one or several at the same time."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from .command import open_git
from .repository import Repository

TIME_SECONDS = 5.0
NOT_STARTED = -1
"""The exit code of a command that could not be started."""


def answer_of(process: subprocess.Popen[bytes], seconds: float) -> tuple[int | None, bytes | None]:
    """The exit code of a command, None if it took too long; and its output, None unless it succeeded."""
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, None
    return process.returncode, output if process.returncode == 0 else None


class GitQueries:
    """Git commands that run at the same time and share a deadline."""

    def __init__(self, root: Path, seconds: float) -> None:
        self.root = root
        self.deadline = time.monotonic() + seconds
        self._processes: dict[str, subprocess.Popen[bytes] | None] = {}

    def ask(self, name: str, *words: str) -> None:
        """Start a git command; its answer is known by this name."""
        try:
            self._processes[name] = open_git(self.root, *words)
        except OSError:
            self._processes[name] = None

    def answer(self, name: str) -> tuple[int | None, bytes | None]:
        """The exit code and the output of a command, as ``answer_of`` gives them."""
        process = self._processes.pop(name)
        if process is None:
            return NOT_STARTED, None
        return answer_of(process, max(0.001, self.deadline - time.monotonic()))


def output_of(root: Path, *words: str, seconds: float) -> bytes | None:
    """The output of a git command; None if it fails or takes too long."""
    queries = GitQueries(root, seconds)
    queries.ask("", *words)
    return queries.answer("")[1]


def root_commit(repository: Repository) -> str:
    """The first commit of the history; empty without commits or git, if it is shallow, or on timeout."""
    if (repository.common / "shallow").exists():
        return ""
    commits = output_of(repository.root, "rev-list", "--max-parents=0", "HEAD", seconds=TIME_SECONDS)
    return commits.split()[-1].decode() if commits else ""


def tracked(repository: Repository) -> list[str]:
    """The paths that git tracks, or does not ignore, below the root; empty without git or on timeout."""
    names = output_of(repository.root, "ls-files", "-zco", "--exclude-standard", seconds=TIME_SECONDS)
    return [path for path in (names or b"").decode("utf-8", "replace").split("\0") if path]


def commit_files(repository: Repository, most: int, *, seconds: float) -> list[list[str]]:
    """The files of each of the last commits that is no merge, the oldest first; empty without commits or git,
    or on timeout."""
    words = ("log", "--no-merges", "--no-renames", "--name-only", "-z", "--format=%x01", f"-{most}")
    output = output_of(repository.root, *words, seconds=seconds)
    commits = (output or b"").decode("utf-8", "replace").split("\x01")
    files = [[name for part in one.split("\0") if (name := part.strip("\n"))] for one in commits]
    return [one for one in reversed(files) if one]
