"""Choosing the run that is meant. "The newest run" and "the run of this transcript" are decided only here.

The newest run is that of this working tree: what goes on in another worktree of the project is meant only
where nothing was done here lately. A run can be meant if it is the main one of a conversation, not a
sub-agent's, and has content. An empty file of lines has none; a conversation that was found in a database or
in documents always has. Several conversations may share one file: the path of a transcript alone does not
identify a run then.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from ...agents import agent as agent_of, agent_name
from ...agents.base import Found
from ...errors import UnknownRun, UsageError
from . import cursor
from .discovery import RunFinder, found_of
from .duplicates import RunsSeen
from .run import facts_of, refreshed, run_in

_NAMED_MAX = 8
LOOKED_AT = 64
"""Among how many runs one of this working tree is looked for."""
ELSEWHERE_SECONDS = 7 * 86_400.0
"""A run of another worktree is meant if it is newer by this than the newest of this one."""

NEWEST_MAX = 16
"""How many of the newest runs are looked at."""
NEWEST_BYTES_MAX = 4 << 20
"""How much of them is read at once; what is left waits for the next time, or for `segue sync`."""

EVERY_RUN = "segue runs --all --limit 0"

Excluded = Callable[[Found], bool]


def can_be_meant(found: Found) -> bool:
    """Whether somebody who asks for a run without naming it may mean this one."""
    return not found.parent and (found.size > 0 or agent_of(found.agent).form != "lines")


def runs_meant(
    finder: RunFinder, *, agent: str = "", session: str = "", but: Excluded | None = None
) -> Iterator[Found]:
    """Runs that can be meant, of one agent or of all, the newest first.

    ``session`` leaves out runs that belong to another session. ``but`` is a predicate for runs to leave out:
    ``finder.is_caller`` for the one that gave the present command."""
    for found in by_activity(finder, finder.found(agent)):
        if not can_be_meant(found):
            continue
        if session:
            row = finder.row(found)
            if row is not None and row.session not in ("", session):
                continue
        if but is None or not but(found):
            yield found


def by_activity(finder: RunFinder, runs: Iterable[Found]) -> Iterator[Found]:
    """Runs by when something last happened in them, the newest first, with that time as ``changed``. They are
    given by the times of their files, which are later than that where a file was copied or touched."""
    waiting: list[tuple[float, int, Found]] = []
    for number, found in enumerate(runs):
        while waiting and -waiting[0][0] >= found.changed:
            yield heapq.heappop(waiting)[2]
        last = finder.last_active(found)
        heapq.heappush(waiting, (-last, number, replace(found, changed=last)))
    while waiting:
        yield heapq.heappop(waiting)[2]


def newest_run(
    finder: RunFinder, *, agent: str = "", session: str = "", but: Excluded | None = None
) -> Found | None:
    """The newest run that can be meant, with the filters of ``runs_meant``; None if there is none."""
    return next(iter(runs_here_first(finder, agent=agent, session=session, but=but)), None)


def runs_here_first(
    finder: RunFinder, *, agent: str = "", session: str = "", but: Excluded | None = None
) -> Iterator[Found]:
    """The newest runs that can be meant: those of this working tree, then those of others, unless nothing
    was done here lately. With the filters of ``runs_meant``."""
    waiting: list[Found] = []
    for found in islice(runs_meant(finder, agent=agent, session=session, but=but), LOOKED_AT):
        if waiting and waiting[0].changed - found.changed > ELSEWHERE_SECONDS:
            yield from waiting
            waiting = []
        if is_here(finder, found):
            yield found
        else:
            waiting.append(found)
    yield from waiting


def is_here(finder: RunFinder, found: Found) -> bool:
    """Whether a run worked in the working tree of the finder's folder, as far as is known."""
    return not found.cwd or _root_of(finder, Path(found.cwd)) == _root_of(finder, finder.folder)


def is_known_alive(finder: RunFinder, found: Found) -> bool:
    """Whether the process of a run lives: its agent says so or, where that says nothing, a hook saw the
    process."""
    if found.sign:
        return found.sign == "alive"
    row = finder.row(found)
    run = run_in(row) if row is not None else None
    return run is not None and refreshed(run, found, now=time.time()).ended == "alive"


def _root_of(finder: RunFinder, folder: Path) -> Path | None:
    """The working tree that holds a folder: the innermost, as worktrees may lie inside one another."""
    holding = (root for root in finder.scope.roots if folder == root or root in folder.parents)
    innermost = max(holding, key=lambda root: len(root.parts), default=None)
    return innermost.resolve() if innermost is not None else None


def newest_other_run(finder: RunFinder, agent: str = "") -> Found:
    """The newest run of this project except the caller's own. Raises UnknownRun if there is none."""
    found = newest_run(finder, agent=agent, but=finder.is_caller)
    if found is None:
        raise UnknownRun(
            "no agent has worked in this project yet",
            hint="`segue runs --all` lists the runs of every project",
            nothing_yet=True,
        )
    return found


def newest_run_elsewhere(
    finder: RunFinder, *, session: str, projects: tuple[str, ...], agent: str
) -> Found | None:
    """The newest run of a session, or else of the project, that another machine shared; None if there is
    none."""
    if finder.runs is None or finder.copies is None:
        return None
    rows = finder.runs.rows(session=session) if session else finder.runs.rows(projects=projects)
    agent = agent_name(agent)
    shared = (found_of(row) for row in rows if agent in ("", row.agent))
    return next((found for found in shared if not found.parent), None)


def run_of_transcript(finder: RunFinder, path: str, *, agent: str = "", run: str = "") -> Found | None:
    """The run that wrote a transcript. Where several conversations share the file, ``run`` is its id; without
    it the newest is meant."""
    same = (found for found in finder.found(agent) if found.path == path)
    return next((found for found in same if run in ("", found.native)), None)


def earlier_runs(finder: RunFinder, newest: Found, *, session: str = "") -> Iterator[Found]:
    """Runs before ``newest`` that can be meant, of one session or else of the same working tree, the newest
    first."""

    def is_later(found: Found) -> bool:
        same = (found.agent, found.native, found.path) == (newest.agent, newest.native, newest.path)
        return same or found.changed > newest.changed or finder.is_caller(found)

    if not session:
        runs = runs_meant(finder, but=is_later)
        yield from (found for found in runs if is_same_tree(finder, found, newest))
        return
    rows = finder.runs.rows(session=session) if finder.runs is not None else []
    keys = {row.key for row in rows} - {finder.key(newest)}  # others need not be looked for, however many
    runs = runs_meant(finder) if keys else iter(())
    while keys and (found := next(runs, None)) is not None:
        if (key := finder.key(found)) in keys:
            keys.remove(key)
            if not is_later(found):
                yield found


def is_same_tree(finder: RunFinder, one: Found, other: Found) -> bool:
    """Whether two runs worked in the same working tree, as far as is known."""
    known = one.cwd and other.cwd
    return not known or _root_of(finder, Path(one.cwd)) == _root_of(finder, Path(other.cwd))


def find_run(finder: RunFinder, id: str) -> Found:
    """The run with this id: whole, abbreviated, as ``agent/id``, or the path of its transcript. One of this
    project or of the store is meant first, and else one of any project on this machine. Raises UnknownRun if
    there is none, and UsageError if there are several."""
    matches = _with_id(finder, id)
    elsewhere = finder.elsewhere() if id and not matches else None
    if elsewhere is not None:
        matches = _with_id(elsewhere, id)
    if len(matches) == 1 and id:
        return matches[0]
    if not matches:
        raise UnknownRun(f"there is no run {id!r}", hint=f"`{EVERY_RUN}` lists the runs of every project")
    names = ", ".join(f"{found.agent}/{found.native}" for found in matches[:_NAMED_MAX])
    raise UsageError(f"{len(matches)} runs begin with {id!r}", hint=f"give more of the id: {names}")


def _with_id(finder: RunFinder, id: str) -> list[Found]:
    """The runs with this id or else those that it abbreviates."""
    agent, slash, rest = id.partition("/")
    wanted = rest if slash and rest and "/" not in rest else id
    agent = agent if wanted is rest and slash else ""
    hits: dict[tuple[str, str], Found] = {}
    present = list(finder.found())
    seen = RunsSeen(present, finder.key)
    stored = ((found_of(row), seen.same_run(row)) for row in finder.rows())
    for found, same in (*((found, None) for found in present), *stored):
        if agent in ("", found.agent) and (found.native.startswith(wanted) or found.path == id):
            meant = same or found
            hits.setdefault((meant.agent, meant.native), meant)
    return [found for found in hits.values() if found.native == wanted] or list(hits.values())


def newest_unread(finder: RunFinder) -> list[Found]:
    """The newest runs with something new, as far as they are read at once."""
    new, left = [], NEWEST_BYTES_MAX
    for found in islice(finder.found(), NEWEST_MAX):
        row = finder.row(found)
        facts = facts_of(row) if row is not None else None
        stamp = cursor.stamp_of(found, agent_of(found.agent))
        is_told = facts is not None and bool(facts.run.goal or facts.run.calls)
        if is_told and facts and cursor.is_unchanged(facts.stamp, stamp, agent_of(found.agent)):
            continue
        left -= max(0, stamp.size - (facts.stamp.size if facts is not None else 0))
        if left < 0:
            break
        new.append(found)
    return new
