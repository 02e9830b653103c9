"""A run as a person looks at it: its steps as a conversation, a page at a time, and what it changed.

The steps are read from the index for searching, which has each at hand, masked, however long the transcript
is. What the index does not have yet is added first.
"""

from __future__ import annotations

import time
from contextlib import suppress

from ...agents.base import Found
from ...core.base.values import Value
from ...core.runs.model import RunDigest
from ...core.search.index import SearchIndex, SearchSource, TextRange
from ...core.search.texts import SearchText
from ...core.sessions.status import LIVING
from ...core.usage.report import UsageSum
from ...errors import SegueError, UnknownRun
from ..brief.gather import digest_of
from ..runs.discovery import found_of
from ..runs.listing import run_of_transcript, transcript_with_key
from ..runs.observed import runs_of
from ..runs.run import Run, refreshed, run_in
from ..runs.sync import take_in
from ..search.catch_up import catch_up, catch_up_run
from ..search.indexes import indexes_of
from ..search.sent_texts import catch_up_sent_runs
from ..usage.report import usage_of_run
from ..workspace.workspace import Workspace
from .now import percent_full

STEPS_PAGE = 120
OUTLINE_MAX = 400
CATCH_UP_SECONDS = 0.5


class FileChanged(Value):
    """A file that a run changed."""

    path: str
    edits: int
    created: bool
    deleted: bool
    step: int
    """Where it was last changed."""


class RunView(Value):
    """A page of a run."""

    key: str
    source: SearchSource
    run: Run | None
    """What is known of it; None if its transcript cannot be read."""
    steps: int
    """How many steps it has."""
    texts: list[SearchText]
    outline: list[SearchText]
    """What the user wrote, with the steps."""
    failed: int
    """How many of its texts are of calls that failed, as far as a page of them goes."""
    changed: list[FileChanged]
    plan: list[tuple[str, str]]
    """The items of the agent's own plan with their states."""
    percent: int = -1
    """How full its window is; -1 where that is not known."""
    first: int = 0
    last: int = 0
    """The first and the last step of the page."""
    has_earlier: bool = False
    has_later: bool = False
    """Whether there is more before and after the page."""
    is_going: bool = False
    """Whether it may go on: it is at work, or waits for its user."""
    used: UsageSum | None = None
    """What it used; None if that is not known."""


class PageWanted(Value):
    """Which page of a run: from a step on, up to one, or around one; by default the end."""

    after: int = 0
    before: int = 0
    around: int = 0
    only: str = ""
    """``failed``, or one of the kinds of texts."""


def folder_of_run(workspace: Workspace, key: str) -> str:
    """The folder that a run worked in; empty if it was never synced."""
    row = workspace.store.runs.get(key)
    return row.cwd if row is not None else ""


def run_view(workspace: Workspace, key: str, wanted: PageWanted) -> RunView:
    """A page of the run with this key, as it is now. Where the workspace is that of the folder that the run
    worked in, what is new in its transcript is synced first. Raises UnknownRun."""
    row = workspace.store.runs.get(key)
    transcript = transcript_with_key(workspace, key) if row is None and workspace.sees_tree else None
    if row is not None and workspace.sees_tree:
        take_in(workspace, row)
    elif transcript is not None:
        with suppress(SegueError, OSError):
            catch_up_run(workspace, transcript)
    found = _indexed(workspace, key)
    if found is None:
        raise UnknownRun(f"there is no run {key!r}", hint="`segue runs --all` lists runs")
    index, source, steps = found
    row = workspace.store.runs.get(key)  # as it is after what was new was read
    run = run_in(row) if row is not None else None
    if run is not None and row is not None and workspace.sees_tree:
        run = refreshed(run, found_of(row), now=time.time())
    if row is None and transcript is not None:
        run = run_of_transcript(workspace, transcript)
    pages = _Pages(index, key, wanted.only)
    texts = pages.read(wanted, steps)
    first, last = (texts[0].step, texts[-1].step) if texts else (0, 0)
    has_earlier, has_later = bool(first) and pages.has_before(first), bool(last) and pages.has_after(last)
    digest = _digest(workspace, source)
    return RunView(
        key, source, run, steps, texts,
        index.read(key, TextRange(OUTLINE_MAX, kinds=("prompt",))),
        len(index.read(key, TextRange(OUTLINE_MAX, kinds=("command", "file"), failed=True))),
        _changed(digest), [(row[0], row[1]) for row in digest.plan],
        percent_full(workspace, digest), first, last, has_earlier, has_later,
        run is not None and run.ended in (*LIVING, "waiting"), usage_of_run(workspace, digest.usage),
    )  # fmt: skip


def run_named_by_key(workspace: Workspace, key: str) -> Run:
    """What is known of a run. Raises UnknownRun."""
    row = workspace.store.runs.get(key)
    run = run_in(row) if row is not None else None
    if run is not None:
        return run
    found = _indexed(workspace, key)
    if found is None or not found[1].agent:
        raise UnknownRun(f"there is no run {key!r}", hint="`segue runs --all` lists runs")
    source = found[1]
    return Run(source.native, source.agent, key, path=source.path, cwd=source.cwd)


def _indexed(workspace: Workspace, key: str) -> tuple[SearchIndex, SearchSource, int] | None:
    """Where the texts of a run are, after what is new was added."""
    try:
        if workspace.sees_tree:
            catch_up(workspace, seconds=CATCH_UP_SECONDS)
        else:
            catch_up_sent_runs(workspace)
    except SegueError:
        pass  # one that cannot be written is read as it is
    for index in indexes_of(workspace):
        known = index.find(key)
        if known is not None:
            return index, known.source, known.steps
    return None


class _Pages:
    """The texts of a run that are asked for, a page at a time. The texts of one step stay together."""

    def __init__(self, index: SearchIndex, key: str, only: str) -> None:
        self._index, self._key = index, key
        self._kinds = (only,) if only and only != "failed" else ()
        self._failed = only == "failed"

    def _read(self, limit: int, first: int = 1, last: int = 0) -> list[SearchText]:
        if last < 0:
            return []
        wanted = TextRange(limit, first, last, self._kinds, self._failed)  # type: ignore[arg-type]
        return self._index.read(self._key, wanted)

    def has_before(self, step: int) -> bool:
        return step > 1 and bool(self._read(1, last=step - 1))

    def has_after(self, step: int) -> bool:
        return bool(self._read(1, first=step + 1))

    def read(self, wanted: PageWanted, steps: int) -> list[SearchText]:
        """The page that is wanted; by default the last one."""
        if wanted.around:
            before = self._read(STEPS_PAGE // 3, last=wanted.around - 1 or -1)
            return [*before, *self._forward(wanted.around, STEPS_PAGE - len(before))]
        if wanted.after:
            return self._forward(wanted.after + 1, STEPS_PAGE)
        return self._backward(wanted.before - 1 or -1 if wanted.before else max(steps, 1))

    def _forward(self, first: int, limit: int) -> list[SearchText]:
        found = self._read(limit, first=first)
        return found if len(found) < limit else [*found, *self._rest(found)]

    def _rest(self, found: list[SearchText]) -> list[SearchText]:
        """The texts of the last step that were cut off."""
        step = found[-1].step
        have = sum(one.step == step for one in found)
        return self._read(have + STEPS_PAGE, step, step)[have:]

    def _backward(self, last: int) -> list[SearchText]:
        found = self._read(STEPS_PAGE, last=last)
        if len(found) < STEPS_PAGE:
            return found
        step = found[0].step
        whole = self._read(2 * STEPS_PAGE, step, step)
        return [*whole, *(one for one in found if one.step != step)]


def _digest(workspace: Workspace, source: SearchSource) -> RunDigest:
    finder = runs_of(workspace).finder(everywhere=True)
    found = Found(source.agent, source.path, source.native, 0.0, 0, source.cwd)
    try:
        return digest_of(workspace, finder, found)
    except (SegueError, OSError):
        return RunDigest()


def _changed(digest: RunDigest) -> list[FileChanged]:
    changed = [
        FileChanged(path, use.edits, use.created, use.deleted, use.edited or use.last)
        for path, use in digest.files.items()
        if use.edits or use.created or use.deleted
    ]
    return sorted(changed, key=lambda one: -one.step)
