"""The files of the last commits, for counting which of them change together."""

from __future__ import annotations

from pathlib import Path

from . import repository as git
from .queries import output_of

COMMITS_MAX = 400


def commit_files(root: Path, *, seconds: float) -> list[list[str]]:
    """The files of each of the last commits that is no merge, the oldest first; empty without git or on
    timeout."""
    repository = git.find(root)
    if repository is None or not git.head(repository)[0]:
        return []
    words = ("log", "--no-merges", "--no-renames", "--name-only", "-z", "--format=%x01", f"-{COMMITS_MAX}")
    output = output_of(repository.root, *words, seconds=seconds)
    commits = (output or b"").decode("utf-8", "replace").split("\x01")
    files = [[name for part in one.split("\0") if (name := part.strip("\n"))] for one in commits]
    return [one for one in reversed(files) if one]
