"""Taking a scene: one ``git status``, and hashes of what is not committed.

What git has not answered by the time limit is left out, and the scene says so. Without git the folder is
walked, up to a limited number of files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ..._files import read_bytes
from ...core.resume.scene import Anchor, Dirty, Kind, Scene, anchor
from ..files.atomic import is_protected_database
from ..files.project_links import leads_out
from ..processes.identity import host_name
from . import repository as git, trees
from .own_paths import NOTHING, OwnPaths
from .queries import output_of
from .status import Status, StatusEntry, StatusQuery

TIME_SECONDS = 5.0
DIRTY_MAX = 1_000
READ_BYTES_MAX = trees.LARGE_BYTES
"""A larger file is identified by its size and modification time instead of a hash."""
FILES_MAX = 20_000
"""The limit for folders without git."""
_DOING = (
    ("rebase-merge", "rebase"), ("rebase-apply", "rebase"), ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert"), ("BISECT_LOG", "bisect"),
)  # fmt: skip


class SceneQuery:
    """A ``git status`` that has been started, so that the caller can work until ``look`` waits for it."""

    def __init__(self, folder: Path) -> None:
        self.at = time.time()
        self.repository = git.find(folder)
        self._status: StatusQuery | None = None
        if self.repository is not None:
            with suppress(OSError):
                self._status = StatusQuery(self.repository.root, "--untracked-files=normal")

    def __enter__(self) -> SceneQuery:
        return self

    def __exit__(self, *_: object) -> None:
        self.status(0.0)  # nobody may have waited for it

    def status(self, seconds: float) -> Status | None:
        """What git says; None if it failed or took too long."""
        query, self._status = self._status, None
        return query.answer(seconds)[1] if query is not None else None


def look(
    folder: Path, *, seconds: float = TIME_SECONDS, cache: Path | None = None, own: OwnPaths = NOTHING,
    now: float | None = None, hashes: bool = True, begun: SceneQuery | None = None,
) -> Scene:  # fmt: skip
    """The scene of the working tree that contains a folder.

    ``cache`` is a file that speeds up folders without git; ``own`` are files of ours; ``begun`` is a
    query that was started before."""
    begun = begun or SceneQuery(folder)
    at = begun.at if now is None else now
    repository = begun.repository
    if repository is None:
        return _without_git(folder, at, cache, own.paths(), seconds)
    of_git = git.own_folder(repository)
    deadline = time.monotonic() + seconds
    status = begun.status(seconds)
    if status is not None:
        branch, head, dirty = status.branch, status.head, _dirty(status.entries)
    else:
        (head, branch), dirty = git.head(repository), []
    root = repository.root
    listed = [entry for entry in _expanded(root, dirty, deadline) if not own.has(root / entry.path)]
    included = listed[:DIRTY_MAX]
    if hashes:
        included = _hashed(repository.root, included)
    return Scene(
        at=at, host=host_name(), folder=str(repository.root), git=True, branch=branch, head=head,
        doing=next((word for name, word in _DOING if (of_git / name).exists()), ""),
        stash=git.ref(repository, "refs/stash"), shallow=(repository.common / "shallow").exists(),
        dirty=tuple(included), more=len(listed) - len(included), cut=status is None,
    )  # fmt: skip


def _dirty(entries: Iterable[StatusEntry]) -> list[Dirty]:
    """The uncommitted files that git names, without those that tools create."""
    found: list[Dirty] = []
    for entry in entries:
        path = os.fsdecode(entry.path)
        if entry.source:
            found.append(Dirty(path, "renamed", source=os.fsdecode(entry.source)))
        elif entry.is_tracked:
            found.append(Dirty(path, "conflict" if entry.signs == b"UU" else _kind(entry.signs)))
        elif not trees.is_generated(entry.path):
            found.append(Dirty(path, "created"))
    return found


def _kind(signs: bytes) -> Kind:
    """The kind of a change, from git's two status letters for the index and the tree."""
    if b"D" in signs[1:] or signs == b"D.":
        return "deleted"
    return "created" if signs[:1] == b"A" else "modified"


def _expanded(root: Path, dirty: Sequence[Dirty], deadline: float) -> list[Dirty]:
    """The list with the files of untracked folders in place of those folders."""
    folders = [entry.path for entry in dirty if entry.path.endswith("/")]
    if not folders:
        return list(dirty)
    seconds = max(0.001, deadline - time.monotonic())
    words = ("ls-files", "-z", "-o", "--exclude-standard", "--", *folders[:200])
    output = output_of(root, *words, seconds=seconds)
    if output is None:
        return list(dirty)
    new_files = [Dirty(os.fsdecode(path), "created") for path in output.split(b"\0") if path]
    empty = [folder for folder in folders if not any(new.path.startswith(folder) for new in new_files)]
    nested = [entry for entry in dirty if entry.path in empty]
    written = [entry for entry in new_files if not trees.is_generated(os.fsencode(entry.path))]
    return [*(entry for entry in dirty if entry.path not in folders), *nested, *written]


def _hashed(root: Path, dirty: Sequence[Dirty]) -> list[Dirty]:
    """The list with the hash that git would give to the content of each file."""
    names = [os.fsencode(entry.path) for entry in dirty if entry.kind != "deleted"]
    small = [name for name in names if not name.endswith(b"/") and _size(root, name) <= READ_BYTES_MAX]
    ids = trees.blob_ids(root, small)
    return [
        Dirty(entry.path, entry.kind, ids.get(os.fsencode(entry.path)) or _stamp(root, entry), entry.source)
        for entry in dirty
    ]


def _size(root: Path, name: bytes) -> int:
    with suppress(OSError):
        return os.lstat(os.path.join(os.fsencode(root), name)).st_size
    return 0


def _stamp(root: Path, entry: Dirty) -> str:
    """Size and time of a file that is not read; the commit of a repository inside this one."""
    if entry.kind == "deleted":
        return ""
    path = root / entry.path
    inner = git.find(path) if path.is_dir() else None
    if inner is not None and inner.root == Path(os.path.normpath(path)):
        return git.head(inner)[0]
    try:
        stat = os.lstat(path)
    except OSError:
        return ""
    return f"{stat.st_size}:{stat.st_mtime_ns}"


def _without_git(
    folder: Path, at: float, cache: Path | None, skip: tuple[Path, ...], seconds: float
) -> Scene:
    hashes = trees.hash_files(folder, cache=cache, skip=skip, most=FILES_MAX, seconds=seconds)
    files = {} if hashes is None else {os.fsdecode(k): v.decode() for k, v in hashes.items()}
    return Scene(at=at, host=host_name(), folder=str(folder), files=files, cut=hashes is None)


def focus_of(root: Path, file: str, position: str) -> Anchor | None:
    """The anchor of a position in a file of the tree; None if there is no such position."""
    if not file or not position:
        return None
    try:
        path = root / file
        if path.stat().st_size > READ_BYTES_MAX or is_protected_database(path) or leads_out(path, root):
            return None
        return anchor(file, position, read_bytes(path))
    except (OSError, ValueError):
        return None
