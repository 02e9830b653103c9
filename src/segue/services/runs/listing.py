"""Listing runs: those whose transcripts are on disk as they are now, and those that only Segue still has.

A transcript that has not changed since it was stored or listed is not read again. Nothing else is written.
"""

from __future__ import annotations

import heapq
import math
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from ...agents import agent as agent_of, agent_name
from ...agents.base import Found
from ...core.base.text import slug
from ...core.base.values import Value, seconds_of
from ...core.runs.steps import Step
from ...core.sessions.status import LIVING
from ...effects.redaction.redact import redact_bytes
from ...errors import BadName, SegueError, UnknownRun
from ..workspace.workspace import Workspace
from . import cursor
from .discovery import RunFinder, found_of, last_steps
from .duplicates import RunsSeen
from .observed import runs_of
from .read_transcript import Clean, final
from .remembered_runs import RememberedRuns
from .run import Run, facts_of, lead_of, refreshed, run_in, run_of, stored_usage
from .select import find_run, newest_other_run

_TAILS_BYTES = (16_384, 262_144)
"""How much of the end of a transcript is looked through for its last record."""
_UNLIKELY_BEFORE = 946_684_800.0
"""The year 2000: a file of before was unpacked from an archive without times."""


class RunList(Value):
    """The newest runs, and how many there are."""

    runs: list[Run]
    total: int
    agents: tuple[str, ...]
    """Whose they are, all of them."""


def list_runs(
    workspace: Workspace, *, agent: str = "", everywhere: bool = False, limit: int = 0
) -> list[Run]:
    """The runs of the project, or of all, the newest first. Runs that cannot be read are left out."""
    return newest_runs(workspace, agent=agent, everywhere=everywhere, limit=limit).runs


def newest_runs(
    workspace: Workspace, *, agent: str = "", everywhere: bool = False, limit: int = 0, first: int = 0,
    sides: bool = True,
) -> RunList:  # fmt: skip
    """The runs of the project, or of all, the newest first by what their transcripts tell; ``first`` of them
    are passed over, and without ``sides`` those of sub-agents. Runs that cannot be read are left out, and so
    are those in which nothing happened, unless they are alive."""
    return _Listing(workspace, agent_name(agent), everywhere, limit, sides).runs(limit, first)


class _Candidate(Value):
    """A run that may be listed."""

    found: Found
    key: str
    run: Run | None
    """What is known of it without reading its transcript."""
    is_present: bool = True


class _Listing:
    """The runs that may be listed, in the order of when they were last active.

    That is known of a run that was read before. Of others the time of the file is an upper bound, since it
    may have been copied: they are looked into when their turn comes, as few as possible."""

    def __init__(self, workspace: Workspace, agent: str, everywhere: bool, limit: int, sides: bool) -> None:
        self._workspace, self._agent, self._everywhere, self._sides = workspace, agent, everywhere, sides
        self._observed = runs_of(workspace)
        self._finder = self._observed.finder(everywhere=everywhere, every_file=everywhere or not limit)
        self._remembered = RememberedRuns(workspace)
        self._rows = {row.key: row for row in self._observed.runs.rows()}
        self._queue: list[tuple[float, bool, int, _Candidate]] = []
        """By the newest first; the flag says whether that is only a bound."""

    def runs(self, limit: int, first: int) -> RunList:
        found = self._candidates()
        candidates = [one for one in found if self._is_wanted(one)]
        total = len(candidates)
        for number, one in enumerate(candidates):
            self._push(one, number, _bound(one), is_bound=one.run is None)
        archived = self._observed.archive.sessions()
        listed: list[Run] = []
        while self._queue and (not limit or len(listed) < first + limit):
            _, is_bound, number, one = heapq.heappop(self._queue)
            if is_bound and limit and (last := last_record(one.found)) is not None:
                self._push(one, number, last, is_bound=False)
                continue
            run = one.run or self._read(one)
            if run is None or not _is_listed(run):
                total -= 1
            else:
                listed.append(replace(run, archived=one.key in archived))
        self._keep(found)
        listed.sort(key=lambda run: run.last, reverse=True)
        return RunList(listed[first:], total, tuple(sorted({one.found.agent for one in candidates})))

    def _is_wanted(self, one: _Candidate) -> bool:
        is_side = one.run.side if one.run is not None else bool(one.found.parent)
        return (self._sides or not is_side) and (one.run is None or _is_listed(one.run))

    def _push(self, one: _Candidate, number: int, last: float, *, is_bound: bool) -> None:
        heapq.heappush(self._queue, (-last, is_bound, number, one))

    def _candidates(self) -> list[_Candidate]:
        """Each run once, with what is known of it."""
        candidates: dict[str, _Candidate] = {}
        seen = RunsSeen((), self._finder.key)
        for found in self._finder.found(self._agent):
            seen.add(found)
            key = self._finder.key(found)
            if key not in candidates:
                candidates[key] = _Candidate(found, key, self._known(found, key))
        keys = set(self._workspace.working_tree.project_keys(self._workspace.settings))
        for key, row in self._rows.items():
            wanted = self._everywhere or row.project in keys
            if key in candidates or not wanted or self._agent not in ("", row.agent):
                continue
            run = run_in(row)
            if run is not None and seen.same_run(row) is None:
                found = found_of(row)
                present = cursor.stamp_of(found, agent_of(row.agent)).inode > 0
                run = refreshed(run, found, now=time.time(), present=present)
                candidates[key] = _Candidate(found, key, run, present)
        return list(candidates.values())

    def _known(self, found: Found, key: str) -> Run | None:
        row = self._rows.get(key)
        facts = facts_of(row) if row is not None else None
        if facts is not None:
            agent = agent_of(found.agent)
            stamp = cursor.stamp_of(found, agent)
            if cursor.is_unchanged(facts.stamp, stamp, agent):
                return refreshed(facts.run, found, now=time.time(), present=stamp.inode > 0)
            return None
        kept = self._remembered.current(key, found)
        return refreshed(kept.run, found, now=time.time()) if kept is not None else None

    def _read(self, one: _Candidate) -> Run | None:
        mask = redact_bytes if self._workspace.settings["redact"] else None
        stamp = cursor.stamp_of(one.found, agent_of(one.found.agent))
        read = _read_run(self._finder, one.found, one.key in self._rows, mask)
        if read is not None and read.usage and one.key not in self._rows:
            self._remembered.put(one.key, stamp, read.run, read.usage)
        return read.run if read is not None else None

    def _keep(self, candidates: list[_Candidate]) -> None:
        is_whole = self._everywhere and not self._agent
        self._remembered.keep({one.key for one in candidates} if is_whole else None)


def _is_listed(run: Run) -> bool:
    """Whether a run is shown in lists: something happened in it, if only a prompt that hooks saw, or may
    yet."""
    return not run.empty or bool(run.session) or run.ended in LIVING


def project_name_of(workspace: Workspace, run: Run) -> str:
    """The short name of the project of a run; of one that was never synced, that of its folder."""
    if run.project:
        return workspace.working_tree.project_name(run.project)
    return slug(Path(run.cwd).name) if run.cwd else ""


def _bound(one: _Candidate) -> float:
    """When a run was last active, or at the latest; files of an unlikely time come first."""
    if one.run is not None:
        return seconds_of(one.run.last)
    return one.found.changed if one.found.changed > _UNLIKELY_BEFORE else math.inf


def last_record(found: Found) -> float | None:
    """When a transcript in lines was last written to, by its last records; None where they do not tell."""
    agent = agent_of(found.agent)
    if agent.form != "lines":
        return None
    for size in _TAILS_BYTES:
        try:
            last = max((step.at for step in last_steps(found, agent, size)), default=0.0)
        except (OSError, SegueError):
            return None
        if last > 0 or size >= found.size:
            return last if last > 0 else None
    return None


class _ReadRun(NamedTuple):
    run: Run
    usage: bytes
    """What it used; empty where nothing was read."""


def _read_run(finder: RunFinder, found: Found, known: bool, mask: Clean | None = None) -> _ReadRun | None:
    """A run from the store if its transcript has not changed, else from the transcript; None if that
    fails."""
    row = finder.row(found) if known else None
    facts = facts_of(row) if row is not None else None
    agent = agent_of(found.agent)
    now = time.time()
    stamp = cursor.stamp_of(found, agent)
    if facts is not None and cursor.is_unchanged(facts.stamp, stamp, agent):
        return _ReadRun(refreshed(facts.run, found, now=now, present=stamp.inode > 0), b"")
    try:
        reading = finder.reading(found, mask)
    except SegueError as fault:
        finder.faults.append(fault)
        return _ReadRun(facts.run, b"") if facts is not None else None
    before = facts.run if facts is not None else None
    digest = finder.with_prompts_seen(found, final(reading, agent))
    run = run_of(found, reading, digest, host=finder.host, now=now, before=before)
    if not stamp.inode:
        run = replace(run, present=False, written=finder.is_written(found))
    if row is not None:
        run = replace(run, project=row.project, session=row.session)
    return _ReadRun(run, stored_usage(digest.usage))


def run_of_transcript(workspace: Workspace, found: Found) -> Run | None:
    """The run that a transcript describes that was never synced; None if it cannot be read."""
    remembered, finder = RememberedRuns(workspace), runs_of(workspace).finder(everywhere=True)
    kept = remembered.current(finder.key(found), found)
    if kept is not None:
        return refreshed(kept.run, found, now=time.time())
    read = _read_run(finder, found, False, redact_bytes if workspace.settings["redact"] else None)
    if read is None:
        return None
    remembered.put(finder.key(found), cursor.stamp_of(found, agent_of(found.agent)), read.run, read.usage)
    remembered.keep()
    return read.run


def transcript_with_key(workspace: Workspace, key: str) -> Found | None:
    """The transcript on this machine of the run with a key; None if there is none."""
    kept = RememberedRuns(workspace).get(key)
    if kept is not None:
        run = kept.run
        with suppress(OSError):
            stat = os.stat(run.path)
            return Found(run.agent, run.path, run.id, stat.st_mtime, stat.st_size, run.cwd, lead_of(run))
    finder = runs_of(workspace).finder(everywhere=True, every_file=True)
    return next((found for found in finder.found() if finder.key(found) == key), None)


def one_run(workspace: Workspace, id: str) -> Run:
    """A run by its id or the beginning of it. Raises UnknownRun, or why its transcript cannot be read."""
    finder = runs_of(workspace).finder()
    found = find_run(finder, id)
    key = finder.key(found)
    archived = key in runs_of(workspace).archive.sessions()
    shared = finder.copies is not None and finder.copies.has(key)
    row = runs_of(workspace).runs.get(key)
    present = cursor.stamp_of(found, agent_of(found.agent)).inode > 0
    known = run_in(row) if row is not None else None
    if not present and known is not None:
        known = refreshed(known, found, now=time.time(), present=False)
        return replace(known, archived=archived, shared=shared)
    read = _read_run(finder, found, row is not None)
    if read is None:
        raise finder.faults[-1]
    return replace(read.run, archived=archived, shared=shared, present=present)


def run_named(workspace: Workspace, id: str) -> Run | None:
    """The run of this id, or the newest one here if none is given; None if it is a session that is meant."""
    with suppress(BadName):  # an id that no session could have
        if id and workspace.repository.exists(id):
            return None
    with suppress(UnknownRun):
        return one_run(workspace, id or newest_other_run(runs_of(workspace).finder()).native)
    return None


def steps_of(workspace: Workspace, run: Run) -> list[Step]:
    """The steps of a run, masked, from its transcript or its copy."""
    finder = runs_of(workspace).finder()
    found = Found(run.agent, run.path, run.id, 0.0, 0, run.cwd)
    mask = redact_bytes if workspace.settings["redact"] else None
    return list(finder.steps(found, mask))
