"""The work under way as git sees it: the changed hunks with the functions around them, within a time.

One call of git for all; what is not answered in time is left out and said. Files that git does not track yet
are given by their beginning. Nothing is run that a repository could name: no external diff, no text
conversion, no pager.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from ..core.values import Value

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


def changes(root: Path, *, seconds: float = TIME_SECONDS) -> Changes:
    """The hunks of every changed file, and the beginnings of new ones."""
    deadline = time.monotonic() + seconds
    told = _git(root, deadline, "diff", "HEAD", *_SAFE, "--function-context")
    if told is not None and len(told) > OUTPUT_BYTES_MAX:
        told = _git(root, deadline, "diff", "HEAD", *_SAFE, "-U3")
    found = [*_files(told or "")]
    names = _git(root, deadline, "ls-files", "--others", "--exclude-standard", "-z")
    found += _new(root, (names or "").split("\0")[:NEW_FILES_MAX])
    return Changes(tuple(found), told is None or names is None or len(told) > OUTPUT_BYTES_MAX)


def _git(root: Path, deadline: float, *words: str) -> str | None:
    """What git says; None if it does not in time, "" if it cannot."""
    left = deadline - time.monotonic()
    if left <= 0:
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "-c", "core.quotePath=false", "--no-optional-locks", *words],
            capture_output=True, timeout=left, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    except OSError:
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


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
