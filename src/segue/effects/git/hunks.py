"""The work under way as git sees it: the changed hunks with the functions around them, within a time.

Two calls of git for all, beside each other; what is not answered in time is left out and said. Files that
git does not track yet are given by their beginning. Nothing is run that a repository could name: no external
diff, no text conversion, no pager.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from ...core.base.values import Value

TIME_SECONDS = 0.5
OUTPUT_BYTES_MAX, NEW_BYTES_MAX, NEW_FILES_MAX = 400_000, 12_000, 8
_SAFE = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=dirty")


class Changed(Value):
    """What is uncommitted in a file."""

    path: str
    text: str
    new: bool = False


class Changes(Value):
    """What is uncommitted in a working tree."""

    files: tuple[Changed, ...] = ()
    cut: bool = False
    """Time or size ran out."""


class HunkQuery:
    """Both questions, asked at once; something else can be done until ``changes`` waits for the answers."""

    def __init__(self, root: Path, *, seconds: float = TIME_SECONDS) -> None:
        self.root = root
        self.deadline = time.monotonic() + seconds
        self._diff = self._ask("diff", "HEAD", *_SAFE, "--function-context")
        self._names = self._ask("ls-files", "--others", "--exclude-standard", "-z")

    def changes(self) -> Changes:
        """The hunks of every changed file, and the beginnings of new ones."""
        told = self._answer(self._diff)
        if told is not None and len(told) > OUTPUT_BYTES_MAX:
            told = self._answer(self._ask("diff", "HEAD", *_SAFE, "-U3"))
        names = self._answer(self._names)
        found = [*_files(told or ""), *_new(self.root, (names or "").split("\0")[:NEW_FILES_MAX])]
        return Changes(tuple(found), told is None or names is None or len(told) > OUTPUT_BYTES_MAX)

    def _ask(self, *words: str) -> subprocess.Popen[bytes] | None:
        command = ["git", "-C", str(self.root), "-c", "core.quotePath=false", "--no-optional-locks", *words]
        try:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError:
            return None

    def _answer(self, asked: subprocess.Popen[bytes] | None) -> str | None:
        """What git says; None if it does not in time, "" if it cannot."""
        if asked is None:
            return ""
        try:
            told, _ = asked.communicate(timeout=max(0.001, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            asked.kill()
            asked.communicate()
            return None
        return told.decode("utf-8", "replace") if asked.returncode == 0 else ""


def changes(root: Path, *, seconds: float = TIME_SECONDS) -> Changes:
    """What is uncommitted in a working tree."""
    if seconds <= 0:
        return Changes(cut=True)
    return HunkQuery(root, seconds=seconds).changes()


def _files(diff: str) -> list[Changed]:
    """A diff by files, without its heads."""
    found = []
    for part in f"\n{diff[:OUTPUT_BYTES_MAX]}".split("\ndiff --git ")[1:]:
        at = part.find("\n@@")
        if at < 0:
            continue
        head = part[:at]
        names = [line[6:] for line in head.split("\n") if line.startswith(("+++ b/", "--- a/"))]
        found.append(Changed(names[-1] if names else head.split(" ")[0].removeprefix("a/"), part[at + 1 :]))
    return found


def _new(root: Path, names: Sequence[str]) -> list[Changed]:
    found = []
    for name in filter(None, names):
        try:
            with (root / name).open("rb") as file:
                body = file.read(NEW_BYTES_MAX)
        except OSError:
            continue
        if b"\0" not in body:
            found.append(Changed(name, body.decode("utf-8", "replace"), new=True))
    return found
