"""Listing runs: those whose transcripts are on disk as they are now, and those that only Segue still has.

Nothing is written, and a transcript that has not changed since it was stored is not read again.
"""

from __future__ import annotations

import time
from contextlib import suppress

from msgspec.structs import replace

from ...agents import agent as agent_of, agent_name
from ...agents.base import Found
from ...core.runs.steps import Step
from ...effects.redaction.redact import redact_bytes
from ...errors import BadName, SegueError, UnknownRun
from ..workspace.workspace import Workspace
from . import cursor
from .discovery import RunFinder, found_of
from .duplicates import RunsSeen
from .observed import runs_of
from .read_transcript import final
from .run import Run, facts_of, refreshed, run_in, run_of
from .select import find_run, newest_other_run


def list_runs(
    workspace: Workspace, *, agent: str = "", everywhere: bool = False, limit: int = 0
) -> list[Run]:
    """The runs of the project, or of all, the newest first. Runs that cannot be read are left out."""
    agent = agent_name(agent)
    finder = runs_of(workspace).finder(everywhere=everywhere, every_file=not limit)
    archived = runs_of(workspace).archive.sessions()
    rows = {row.key: row for row in runs_of(workspace).runs.rows()}
    keys = set(workspace.working_tree.project_keys(workspace.settings))
    listed: dict[str, Run] = {}
    seen = RunsSeen((), finder.key)
    for found in finder.found(agent):
        if limit and len(listed) >= limit:
            break
        key = finder.key(found)
        seen.add(found)
        if key not in listed and (run := _present_run(finder, found, key in rows)) is not None:
            listed[key] = replace(run, archived=key in archived)
    for key, row in rows.items():
        run = run_in(row)
        wanted = everywhere or row.project in keys
        if run is None or not wanted or key in listed or agent not in ("", row.agent):
            continue
        if seen.same_run(row) is None:
            present = cursor.stamp_of(found_of(row), agent_of(row.agent)).inode > 0
            run = refreshed(run, found_of(row), now=time.time(), present=present)
            listed[key] = replace(run, archived=key in archived)
    newest = sorted(listed.values(), key=lambda run: run.last, reverse=True)
    return newest[:limit] if limit else newest


def _present_run(finder: RunFinder, found: Found, known: bool) -> Run | None:
    """A run from the store if its transcript has not changed, else from the transcript; None if that
    fails."""
    row = finder.row(found) if known else None
    facts = facts_of(row) if row is not None else None
    agent = agent_of(found.agent)
    now = time.time()
    stamp = cursor.stamp_of(found, agent)
    if facts is not None and cursor.is_unchanged(facts.stamp, stamp, agent):
        return refreshed(facts.run, found, now=now, present=stamp.inode > 0)
    try:
        reading = finder.reading(found)
    except SegueError as fault:
        finder.faults.append(fault)
        return facts.run if facts is not None else None
    before = facts.run if facts is not None else None
    digest = finder.with_prompts_seen(found, final(reading, agent))
    run = run_of(found, reading, digest, host=finder.host, now=now, before=before)
    if not stamp.inode:
        run = replace(run, present=False, written=finder.is_written(found))
    if row is None:
        return run
    return replace(run, project=row.project, session=row.session)


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
    run = _present_run(finder, found, row is not None)
    if run is None:
        raise finder.faults[-1]
    return replace(run, archived=archived, shared=shared, present=present)


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
