"""Uncommitted work as git sees it: the changed hunks with the functions around them, within a time limit.

Two git commands run at the same time; what does not arrive in time is left out, and the result says so. Of
files that git does not track yet, the beginning is shown, but not of what a link leads to elsewhere.
Files under a filter (Git LFS) are left out.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..._files import open_file
from ...core.base.values import Value
from ..files.project_links import leads_out
from .filters import filters_of
from .own_paths import NOTHING, OwnPaths
from .queries import GitQueries

TIME_SECONDS = 0.5
OUTPUT_BYTES_MAX, NEW_BYTES_MAX, NEW_FILES_MAX = 400_000, 12_000, 8
_PLAIN = ("--no-color", "--no-renames")


class Changed(Value):
    """The uncommitted changes of a file."""

    path: str
    text: str
    new: bool = False
    cut: bool = False
    """Whether the text is only the beginning of a new file."""


class Changes(Value):
    """The uncommitted changes of a working tree."""

    files: tuple[Changed, ...] = ()
    cut: bool = False
    """Whether something was left out, for lack of time or because it was too large."""
    unread: int = 0
    """How many more new files there are."""


class HunkQuery:
    """Starts both git commands at once; the caller can work until ``changes`` waits for them."""

    def __init__(self, root: Path, *, seconds: float = TIME_SECONDS, own: OwnPaths = NOTHING) -> None:
        self.queries = GitQueries(root, seconds)
        self._own = own
        self._ask_diff("--function-context")
        self.queries.ask("names", "ls-files", "--others", "--exclude-standard", "-z")

    def changes(self) -> Changes:
        """The hunks of every changed file, and the beginnings of new ones."""
        code, diff = self.queries.answer("diff")
        if diff is not None and len(diff) > OUTPUT_BYTES_MAX:
            self._ask_diff("-U3")
            code, diff = self.queries.answer("diff")
        names_code, names = self.queries.answer("names")
        text = (diff or b"").decode("utf-8", "replace")
        root = self.queries.root
        listed = (names or b"").decode("utf-8", "replace").split("\0")
        new = [name for name in listed if name and not self._own.has(root / name)]
        changed = [file for file in self._as_stored(_files(text)) if not self._own.has(root / file.path)]
        files = [*changed, *_new_files(root, new[:NEW_FILES_MAX])]
        is_cut = code is None or names_code is None or len(text) > OUTPUT_BYTES_MAX
        return Changes(tuple(files), is_cut, max(0, len(new) - NEW_FILES_MAX))

    def _as_stored(self, files: list[Changed]) -> list[Changed]:
        """The files without those under a filter: git compares these with what the filter made of them."""
        filtered = filters_of(self.queries.root, [os.fsencode(file.path) for file in files])
        return [file for file in files if os.fsencode(file.path) not in filtered] if filtered else files

    def _ask_diff(self, context: str) -> None:
        self.queries.ask("diff", "diff", *_PLAIN, context, "HEAD")


def _files(diff: str) -> list[Changed]:
    """A diff split by file, without the header of each."""
    files = []
    for part in f"\n{diff[:OUTPUT_BYTES_MAX]}".split("\ndiff --git ")[1:]:
        at = part.find("\n@@")
        if at < 0:
            continue
        head = part[:at]
        names = [line[6:] for line in head.split("\n") if line.startswith(("+++ b/", "--- a/"))]
        files.append(Changed(names[-1] if names else head.split(" ")[0].removeprefix("a/"), part[at + 1 :]))
    return files


def _new_files(root: Path, names: Sequence[str]) -> list[Changed]:
    files = []
    for name in names:
        try:
            if leads_out(root / name, root):
                target = os.readlink(root / name) if (root / name).is_symlink() else "a file elsewhere"
                files.append(Changed(name, f"a link out of the project, to {target}\n", new=True))
                continue
            with open_file(root / name) as file:
                body = file.read(NEW_BYTES_MAX + 1)
        except OSError:
            continue
        if b"\0" in body:
            continue
        is_cut = len(body) > NEW_BYTES_MAX
        whole = body[:NEW_BYTES_MAX].rpartition(b"\n")[0] or body[:NEW_BYTES_MAX] if is_cut else body
        files.append(Changed(name, whole.decode("utf-8", "replace"), new=True, cut=is_cut))
    return files
