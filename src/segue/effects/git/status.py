"""The state of a working tree as ``git status`` tells it, without running anything that a repository names.

Two things that git would do with such programs are done here: of files under a filter it is told whether they
have really changed, and submodules are asked one by one, each as carefully as the repository itself.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..._files import read_bytes
from ...core.base.lazy import regex
from .command import open_git
from .filters import unchanged
from .queries import NOT_STARTED, answer_of

SUBMODULES_MAX, DEPTH_MAX = 64, 3
_SUBMODULE_PATH = regex(rb"^\s*path\s*=\s*\"?([^\r\n\"]+?)\"?\s*$", re.M)
_LINK_MODE = b"160000 "


class StatusEntry(NamedTuple):
    """A path that differs from the last commit, or is not tracked."""

    path: bytes
    signs: bytes
    """Two letters of git, for the index and for the working tree; ``??`` if it is not tracked, ``UU`` for a
    conflict."""
    source: bytes = b""
    """Where it was before it was renamed."""
    blob: bytes = b""
    """The id of its content in the index."""

    @property
    def is_tracked(self) -> bool:
        return self.signs != b"??"


class Status(NamedTuple):
    """What ``git status`` says."""

    head: str
    """The commit; empty where there is none yet."""
    branch: str
    """Empty if none is checked out."""
    entries: list[StatusEntry]


class StatusQuery:
    """A ``git status`` that has been started; the caller can work until ``answer`` waits for it."""

    def __init__(self, root: Path, *words: str, depth: int = 0) -> None:
        """``words`` are further options of ``git status``. Raises OSError if there is no git."""
        self.root = root
        self._status = open_git(root, "status", "--porcelain=v2", "--branch", "-z", *words)
        self._links: subprocess.Popen[bytes] | None = None
        self._submodules: dict[bytes, StatusQuery] = {}
        paths = _submodule_paths(root) if depth < DEPTH_MAX else []
        if paths:
            with suppress(OSError):
                literal = [f":(literal){os.fsdecode(path)}" for path in paths]
                self._links = open_git(root, "ls-files", "-s", "-z", "--", *literal)
                for path in paths:
                    below = root / os.fsdecode(path)
                    self._submodules[path] = StatusQuery(below, "--untracked-files=normal", depth=depth + 1)

    def answer(self, seconds: float) -> tuple[int | None, Status | None]:
        """The exit code, None if git took too long; and what it said, None unless it succeeded."""
        deadline = time.monotonic() + seconds
        code, output = answer_of(self._status, seconds)
        changed = self._changed_submodules(deadline)
        if output is None:
            return code, None
        status = read_status(output)
        known = {entry.path for entry in status.entries}
        status.entries.extend(StatusEntry(path, b".M") for path in changed if path not in known)
        return code, status._replace(entries=_without_unchanged(self.root, status.entries))

    def _changed_submodules(self, deadline: float) -> list[bytes]:
        """The submodules with changes that are not committed there; those that do not answer are left out."""
        changed = []
        for path, query in self._submodules.items():
            _, status = query.answer(max(0.001, deadline - time.monotonic()))
            if status is not None and status.entries:
                changed.append(path)
        if self._links is None:
            return []
        listed = (answer_of(self._links, max(0.001, deadline - time.monotonic()))[1] or b"").split(b"\0")
        links = {row.partition(b"\t")[2] for row in listed if row.startswith(_LINK_MODE)}
        return [path for path in changed if path in links]


def status_of(root: Path, *words: str, seconds: float) -> tuple[int | None, Status | None]:
    """What ``StatusQuery.answer`` gives, at once."""
    try:
        return StatusQuery(root, *words).answer(seconds)
    except OSError:
        return NOT_STARTED, None


def read_status(output: bytes) -> Status:
    """The output of ``git status --porcelain=v2 --branch -z``."""
    head = branch = ""
    entries: list[StatusEntry] = []
    parts = iter(output.split(b"\0"))
    for part in parts:
        kind = part[:2]
        if part.startswith(b"# branch.oid "):
            head = part[13:].decode("utf-8", "replace").replace("(initial)", "")
        elif part.startswith(b"# branch.head "):
            branch = part[14:].decode("utf-8", "replace").replace("(detached)", "")
        elif kind == b"1 ":
            fields = part.split(b" ", 8)
            entries.append(StatusEntry(fields[8], fields[1], blob=fields[7]))
        elif kind == b"2 ":
            fields = part.split(b" ", 9)
            entries.append(StatusEntry(fields[9], fields[1], next(parts, b""), fields[7]))
        elif kind == b"u ":
            entries.append(StatusEntry(part.split(b" ", 10)[10], b"UU"))
        elif kind == b"? ":
            entries.append(StatusEntry(part[2:], b"??"))
    return Status(head, branch, entries)


def _without_unchanged(root: Path, entries: list[StatusEntry]) -> list[StatusEntry]:
    """The entries without changes that only seem so because a filter was not run."""
    modified = {entry.path: entry.blob for entry in entries if entry.signs[1:] == b"M" and entry.blob}
    same = unchanged(root, modified) if modified else set()
    if not same:
        return entries
    corrected = [
        entry._replace(signs=entry.signs[:1] + b".") if entry.path in same else entry for entry in entries
    ]
    return [entry for entry in corrected if entry.signs != b".."]


def _submodule_paths(root: Path) -> list[bytes]:
    """The paths of submodules that are checked out, as ``.gitmodules`` names them."""
    try:
        text = read_bytes(root / ".gitmodules")
    except OSError:
        return []
    paths = []
    for path in dict.fromkeys(_SUBMODULE_PATH.findall(text)):
        inside = not path.startswith(b"/") and b".." not in path.split(b"/")
        if inside and os.path.lexists(os.path.join(os.fsencode(root), path, b".git")):
            paths.append(path.rstrip(b"/"))
    return paths[:SUBMODULES_MAX]
