"""Keeping the index for searching up to date without a daemon: whoever searches or syncs adds what it lacks.

Most of it is there already, because a transcript that is synced is indexed in the same go. What is left are
copies of before there was an index, and transcripts on this machine of projects that were never synced. The
newest come first, and a search waits only for so long.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path

from ...agents import agent as agent_of
from ...agents.base import Found
from ...core.base.text import slug
from ...core.base.values import Progress, Value
from ...core.runs.steps import Step
from ...core.search.index import IndexedSource, NewTexts, SearchIndex, SearchSource
from ...core.search.texts import StepTexts
from ...effects.files.archive import CopyOwner
from ...effects.files.atomic import private_folder, replace_quickly
from ...effects.files.search_index import source_of
from ...effects.git import repository as git
from ...effects.redaction.redact import redact_bytes
from ...errors import SegueError
from ..runs.discovery import RunFinder
from ..runs.observed import runs_of
from ..runs.run import key_of
from ..workspace.on_off import is_off
from ..workspace.workspace import Workspace

BATCH_BYTES = 8 << 20
"""How much is read before it is written."""
LOOK_SECONDS = 600.0
"""A search looks for transcripts that nobody synced if that was not done for so long."""


class _Lacking(Value):
    """Something that the index lacks."""

    size: int
    last: float
    texts: Callable[[], NewTexts]


def catch_up(
    workspace: Workspace, *, everywhere: bool | None = None, seconds: float = 0.0,
    progress: Progress | None = None,
) -> int:  # fmt: skip
    """Index what the index lacks, the newest first, for so many seconds at most where any are given. Returns
    how many runs are left. ``everywhere``: whether to look for transcripts of all projects on this machine;
    None for "if that was not done lately"."""
    return _CatchUp(workspace).go(everywhere, time.monotonic() + seconds if seconds else 0.0, progress)


def catch_up_run(workspace: Workspace, found: Found) -> None:
    """Index what is new in a run whose transcript is on this machine and was never synced."""
    _CatchUp(workspace).go_for(found)


def has_runs(workspace: Workspace) -> bool:
    """Whether any run on this machine is indexed, in an index that can be read."""
    try:
        return any(one.agent for one in runs_of(workspace).search_index.sources().values())
    except SegueError:
        return False


def searchable_elsewhere(workspace: Workspace) -> int:
    """How many runs of other projects a search finds something in."""
    observed = runs_of(workspace)
    here = workspace.working_tree.project_keys(workspace.settings)
    own = {row.key for row in observed.runs.rows(projects=tuple(here))}
    indexed = observed.search_index.indexed().items()
    return sum(1 for key, one in indexed if one.source.agent and one.sum and key not in own)


class _CatchUp:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._index: SearchIndex = runs_of(workspace).search_index
        self._stamp = Path(f"{self._index.path}.looked")
        """A file that was touched when transcripts were last looked for."""

    def go(self, everywhere: bool | None, due: float, progress: Progress | None) -> int:
        keeps_none = self._workspace.settings.number("archive_bytes_max") <= 0
        if self._workspace.pause_file.in_force():  # nothing is written
            return 0 if keeps_none else sum(1 for _ in (*self._copies(), *self._on_disk()))
        if keeps_none:
            self._index.drop(key for key, known in self._indexed.items() if known.source.agent)
            return 0  # who wants no copies wants none here either
        looks = everywhere if everywhere is not None else self._is_time()
        self._forget_gone()
        lacking = [*self._copies(), *(self._on_disk() if looks else ())]
        lacking.sort(key=lambda one: -one.last)
        left = self._put(lacking, due, progress)
        if looks and not left:
            with suppress(OSError):  # a disk that can only be read
                private_folder(self._stamp.parent)
                replace_quickly(self._stamp, b"")
        return left

    def go_for(self, found: Found) -> None:
        if self._workspace.pause_file.in_force() or self._workspace.settings.number("archive_bytes_max") <= 0:
            return
        finder = runs_of(self._workspace).finder(everywhere=True)
        self._put(list(self._lacking(finder, [found])), 0.0, None)

    def _is_time(self) -> bool:
        if not any(known.source.agent for known in self._indexed.values()):
            return True  # there is none yet, or it was thrown away
        try:
            return time.time() - self._stamp.stat().st_mtime > LOOK_SECONDS
        except OSError:
            return True

    def _put(self, lacking: Sequence[_Lacking], due: float, progress: Progress | None) -> int:
        """Index as much as there is time for. Returns how many are left."""
        total, done, size = sum(one.size for one in lacking), 0, 0
        batch: list[NewTexts] = []
        for number, one in enumerate(lacking):
            if due and time.monotonic() > due:
                self._index.put(batch)
                return len(lacking) - number
            if progress is not None:
                progress(done, total, "indexing for the search")
            with suppress(SegueError, OSError):  # what is damaged is reported by `segue doctor`
                batch.append(one.texts())
            done, size = done + one.size, size + one.size
            if size > BATCH_BYTES:
                self._index.put(batch)
                batch, size = [], 0
        self._index.put(batch)
        return 0

    @cached_property
    def _indexed(self) -> dict[str, IndexedSource]:
        return self._index.indexed()

    @cached_property
    def _kept(self) -> dict[str, CopyOwner]:
        """The copies in the archive by their keys."""
        return {copy.about.key: copy.about for copy in runs_of(self._workspace).archive.copies()}

    # -- copies --------------------------------------------------------------------------------

    def _forget_gone(self) -> None:
        gone = [
            key
            for key, known in self._indexed.items()
            if known.source.agent and key not in self._kept and not _is_on_disk(known)
        ]
        if gone:
            self._index.drop(gone)

    def _copies(self) -> Iterator[_Lacking]:
        """The copies that the index lacks, or lacks the end of."""
        archive = runs_of(self._workspace).archive
        for key, about in self._kept.items():
            known = self._indexed.get(key)
            if known is None or known.version != about.offset:
                copy = archive.find(key)
                last = copy.last if copy is not None else 0.0
                yield _Lacking(about.size, last, partial(self._copied, about, last))

    def _copied(self, about: CopyOwner, last: float) -> NewTexts:
        """All texts of a copy."""
        agent, archive = agent_of(about.agent), runs_of(self._workspace).archive
        reader = agent.reader()
        blocks = archive.read(about.key)
        records: Iterator[bytes] = iter(())
        if agent.form == "lines":
            records = (
                line for block in blocks if block.endswith(b"\n") for line in block.split(b"\n") if line
            )
        else:
            records = iter([b"".join(blocks)])
        texts = _collected(step for record in records for step in reader.read(record))
        return NewTexts(source_of(about), texts.texts, texts.steps, about.offset, last, True)

    # -- transcripts that nobody synced ----------------------------------------------------------

    def _on_disk(self) -> Iterator[_Lacking]:
        """The transcripts of all projects on this machine that have no copy and are not in the index as they
        are now."""
        finder = runs_of(self._workspace).finder(everywhere=True, every_file=True)
        return self._lacking(finder, finder.found())

    def _lacking(self, finder: RunFinder, transcripts: Iterable[Found]) -> Iterator[_Lacking]:
        for found in transcripts:
            key = key_of(found.agent, found.native, found.path)
            known = self._indexed.get(key)
            if key in self._kept or (known is not None and known.version == _version(found)):
                continue
            if is_off(self._workspace.home, Path(found.cwd or "/")):
                continue
            yield _Lacking(found.size, found.changed, partial(self._read, finder, found))

    def _read(self, finder: RunFinder, found: Found) -> NewTexts:
        """All texts of a transcript, masked before anything is taken of it."""
        masks = bool(self._workspace.settings["redact"])
        texts = _collected(finder.steps(found, redact_bytes if masks else None))
        root = self._root(found.cwd)
        source = SearchSource(
            key_of(found.agent, found.native, found.path), found.agent, found.native, found.path, found.cwd,
            project=root, project_name=slug(Path(root).name) if root else "", parent=found.parent,
        )  # fmt: skip
        return NewTexts(source, texts.texts, texts.steps, _version(found), found.changed, True)

    def _root(self, cwd: str) -> str:
        """The working tree that a folder is in, or the folder."""
        if cwd not in self._roots:
            repository = git.find(Path(cwd)) if cwd and os.path.isdir(cwd) else None
            self._roots[cwd] = str(repository.root) if repository is not None else cwd
        return self._roots[cwd]

    @cached_property
    def _roots(self) -> dict[str, str]:
        return {}


def _version(found: Found) -> int:
    """What stands in the index for a transcript that has no copy: less than 0, unlike an offset in a copy."""
    return -int(found.changed * 1_000) - 1


def _is_on_disk(known: IndexedSource) -> bool:
    return known.version < 0 and os.path.exists(known.source.path)


def _collected(steps: Iterator[Step]) -> StepTexts:
    texts = StepTexts()
    for step in steps:
        texts.add(step)
    return texts
