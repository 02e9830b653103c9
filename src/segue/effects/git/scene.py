"""Taking a scene: one ``git status``, and hashes of what is not committed.

In time or not at all: what git has not answered when the time is over is left out, and the scene says so.
Without git the tree is walked, up to so many files.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ...core.resume.scene import Anchor, Dirty, Kind, Scene, anchor
from ..files.atomic import is_kept_out
from ..processes.identity import host_name
from . import repository as git
from . import trees

TIME_SECONDS = 5.0
DIRTY_MAX = 1_000
READ_BYTES_MAX = trees.LARGE_BYTES
"""Of a file; a larger one is known by its size and time."""
FILES_MAX = 20_000
"""Without git."""
_STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal")
_DOING = (
    ("rebase-merge", "rebase"), ("rebase-apply", "rebase"), ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert"), ("BISECT_LOG", "bisect"),
)  # fmt: skip


class SceneQuery:
    """A look that git has begun: something else can be done, and loaded, until ``look`` waits for it."""

    def __init__(self, folder: Path) -> None:
        self.at = time.time()
        self.repository = git.find(folder)
        self._status: subprocess.Popen[bytes] | None = None
        if self.repository is not None:
            with suppress(OSError):
                self._status = trees.asked(self.repository.root, *_STATUS)

    def __enter__(self) -> SceneQuery:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:  # nobody looked
            _answer(self._status, 0.0)

    def status(self, seconds: float) -> bytes | None:
        """What git said; None if it failed, or not in time."""
        asked, self._status = self._status, None
        return _answer(asked, seconds) if asked is not None else None


def look(
    folder: Path, *, seconds: float = TIME_SECONDS, cache: Path | None = None, skip: Iterable[Path] = (),
    now: float | None = None, hashes: bool = True, begun: SceneQuery | None = None,
) -> Scene:  # fmt: skip
    """The world around a folder; ``cache`` is for trees without git, ``skip`` for folders of ours."""
    begun = begun or SceneQuery(folder)
    at = begun.at if now is None else now
    repository = begun.repository
    if repository is None:
        return _without_git(folder, at, cache, tuple(skip), seconds)
    own = git.own_folder(repository)
    deadline = time.monotonic() + seconds
    told = begun.status(seconds)
    branch, head, dirty = _read(told) if told is not None else _bare(repository)
    root, skip = repository.root, tuple(one.resolve() for one in skip)
    listed = [one for one in _expanded(root, dirty, deadline) if not _is_ours(root / one.path, skip)]
    shown = listed[:DIRTY_MAX]
    if hashes:
        shown = _hashed(repository.root, shown)
    return Scene(
        at=at, host=host_name(), folder=str(repository.root), git=True, branch=branch, head=head,
        doing=next((word for name, word in _DOING if (own / name).exists()), ""),
        stash=git.ref(repository, "refs/stash"), shallow=(repository.common / "shallow").exists(),
        dirty=tuple(shown), more=len(listed) - len(shown), cut=told is None,
    )  # fmt: skip


def run(root: Path, *words: str, seconds: float) -> bytes | None:
    """What git says; None if it fails, or not in time."""
    try:
        one = trees.asked(root, *words)
    except OSError:
        return None
    return _answer(one, seconds)


def _answer(one: subprocess.Popen[bytes], seconds: float) -> bytes | None:
    try:
        told, _ = one.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        one.kill()
        one.communicate()
        return None
    return told if one.returncode == 0 else None


def _bare(repository: git.Repository) -> tuple[str, str, list[Dirty]]:
    head, branch = git.head(repository)
    return branch, head, []


def _read(told: bytes) -> tuple[str, str, list[Dirty]]:
    """(branch, head, what is not committed) of a status."""
    branch = head = ""
    found: list[Dirty] = []
    parts = iter(told.split(b"\0"))
    for part in parts:
        if part.startswith(b"# branch.oid "):
            head = part[13:].decode().replace("(initial)", "")
        elif part.startswith(b"# branch.head "):
            branch = part[14:].decode("utf-8", "replace").replace("(detached)", "")
        elif part[:2] == b"1 ":
            found.append(Dirty(os.fsdecode(part.split(b" ", 8)[8]), _kind(part[2:4])))
        elif part[:2] == b"2 ":
            path, source = os.fsdecode(part.split(b" ", 9)[9]), os.fsdecode(next(parts, b""))
            found.append(Dirty(path, "renamed", source=source))
        elif part[:2] == b"u ":
            found.append(Dirty(os.fsdecode(part.split(b" ", 10)[10]), "conflict"))
        elif part[:2] == b"? " and not trees.is_generated(part[2:]):
            found.append(Dirty(os.fsdecode(part[2:]), "created"))
    return branch, head, found


def _kind(signs: bytes) -> Kind:
    """The kind of a change, from what git says of index and tree."""
    if b"D" in signs[1:] or signs == b"D.":
        return "deleted"
    return "created" if signs[:1] == b"A" else "modified"


def _is_ours(path: Path, skip: Iterable[Path]) -> bool:
    return any(path == one or one in path.parents for one in skip)


def _expanded(root: Path, dirty: Sequence[Dirty], deadline: float) -> list[Dirty]:
    """With the files of new folders instead of those folders."""
    folders = [one.path for one in dirty if one.path.endswith("/")]
    if not folders:
        return list(dirty)
    seconds = max(0.001, deadline - time.monotonic())
    told = run(root, "ls-files", "-z", "-o", "--exclude-standard", "--", *folders[:200], seconds=seconds)
    if told is None:
        return list(dirty)
    fresh = [Dirty(os.fsdecode(path), "created") for path in told.split(b"\0") if path]
    covered = tuple(one.path for one in fresh)
    nested = [one for one in dirty if one.path in folders and not _any_below(one.path, covered)]
    made = [one for one in fresh if not trees.is_generated(os.fsencode(one.path))]
    return [*(one for one in dirty if one.path not in folders), *nested, *made]


def _any_below(folder: str, paths: tuple[str, ...]) -> bool:
    return any(path.startswith(folder) for path in paths)


def _hashed(root: Path, dirty: Sequence[Dirty]) -> list[Dirty]:
    """With what git would name their content."""
    names = [os.fsencode(one.path) for one in dirty if one.kind != "deleted"]
    small = [name for name in names if not name.endswith(b"/") and _size(root, name) <= READ_BYTES_MAX]
    ids = trees.ids(root, small)
    return [
        Dirty(one.path, one.kind, ids.get(os.fsencode(one.path)) or _stamp(root, one), one.source)
        for one in dirty
    ]


def _size(root: Path, name: bytes) -> int:
    try:
        return os.lstat(os.path.join(os.fsencode(root), name)).st_size
    except OSError:
        return 0


def _stamp(root: Path, one: Dirty) -> str:
    """A file that is not read, by size and time; the commit of a repository within."""
    if one.kind == "deleted":
        return ""
    path = root / one.path
    inner = git.find(path) if path.is_dir() else None
    if inner is not None and inner.root == Path(os.path.normpath(path)):
        return git.head(inner)[0]
    try:
        facts = os.lstat(path)
    except OSError:
        return ""
    return f"{facts.st_size}:{facts.st_mtime_ns}"


def _without_git(
    folder: Path, at: float, cache: Path | None, skip: tuple[Path, ...], seconds: float
) -> Scene:
    found = trees.few(folder, cache=cache, skip=skip, most=FILES_MAX, seconds=seconds)
    files = {} if found is None else {os.fsdecode(k): v.decode() for k, v in found.items()}
    return Scene(at=at, host=host_name(), folder=str(folder), files=files, cut=found is None)


def focus_of(root: Path, file: str, position: str) -> Anchor | None:
    """The anchor of a place in a file of the tree; None if there is no such place."""
    if not file or not position:
        return None
    try:
        path = root / file
        if path.stat().st_size > READ_BYTES_MAX or is_kept_out(path):
            return None
        return anchor(file, position, path.read_bytes())
    except (OSError, ValueError):
        return None
