"""Which run is meant. Whoever asks for "the newest run" or "the run of this transcript" asks here.

A run can be meant if it is the main one of a conversation (no sub-agent's) and holds anything. Where a
conversation lies in a file of lines, an empty file holds nothing; in a database or in documents, what was
found is there. Several conversations may lie in one file: a transcript's path alone does not name a run then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...agents import agent as agent_of
from ...agents.base import Found
from ...errors import UnknownRun, UsageError
from .discovery import RunFinder, found_of

_NAMED_MAX = 8

Excluded = Callable[[Found], bool]


def can_be_meant(found: Found) -> bool:
    """Whether somebody who asks for a run may mean this one."""
    return not found.parent and (found.size > 0 or agent_of(found.agent).form != "lines")


def runs_meant(
    finder: RunFinder, *, agent: str = "", session: str = "", but: Excluded | None = None
) -> Iterator[Found]:
    """Runs that can be meant, the newest first: of one agent, or of all.

    With ``session`` those that belong to it, and those of which nobody knows to which they belong. ``but``
    leaves runs out: ``finder.asks`` those in which this very command was given."""
    for one in finder.found(agent):
        if not can_be_meant(one):
            continue
        if session:
            row = finder.row(one)
            if row is not None and row.session not in ("", session):
                continue
        if but is None or not but(one):
            yield one


def newest_run(
    finder: RunFinder, *, agent: str = "", session: str = "", but: Excluded | None = None
) -> Found | None:
    """The newest run that can be meant; see ``runs_meant``."""
    return next(runs_meant(finder, agent=agent, session=session, but=but), None)


def newest_other_run(finder: RunFinder, agent: str = "") -> Found:
    """The newest run of this project that is not the one that asks; UnknownRun if there is none."""
    found = newest_run(finder, agent=agent, but=finder.asks)
    if found is None:
        raise UnknownRun(
            "no agent has left a run in this project", hint="`segue runs --all` looks in every project"
        )
    return found


def newest_run_elsewhere(
    finder: RunFinder, *, session: str, projects: tuple[str, ...], agent: str
) -> Found | None:
    """The newest run that another machine shared: of a session, or without one of the project."""
    if finder.runs is None or finder.copies is None:
        return None
    rows = finder.runs.rows(session=session) if session else finder.runs.rows(projects=projects)
    shared = (found_of(row) for row in rows if agent in ("", row.agent))
    return next((one for one in shared if not one.parent), None)


def run_of_transcript(finder: RunFinder, path: str, *, agent: str = "", run: str = "") -> Found | None:
    """The run that wrote a transcript. ``run`` is its id, where several conversations share the file; without
    it the newest of them is meant."""
    same = (one for one in finder.found(agent) if one.path == path)
    return next((one for one in same if run in ("", one.native)), None)


def earlier_runs(finder: RunFinder, newest: Found, *, session: str = "") -> Iterator[Found]:
    """Runs before one that can be meant, the newest first: of the same session, or of any if none is
    named."""
    for one in finder.found():
        if one == newest or one.changed > newest.changed or not can_be_meant(one) or finder.asks(one):
            continue
        row = finder.row(one) if session else None
        if not session or (row is not None and row.session == session):
            yield one


def find_run(finder: RunFinder, id: str) -> Found:
    """The run with this id, or the one whose id begins so; also ``agent/id`` and a transcript's path.
    UnknownRun if there is none, UsageError if there are several."""
    agent, slash, rest = id.partition("/")
    wanted = rest if slash and rest and "/" not in rest else id
    agent = agent if wanted is rest and slash else ""
    hits: dict[tuple[str, str], Found] = {}
    for one in (*finder.found(), *map(found_of, finder.rows())):
        if agent in ("", one.agent) and (one.native.startswith(wanted) or one.path == id):
            hits.setdefault((one.agent, one.native), one)
    exact = [one for one in hits.values() if one.native == wanted]
    matches = exact or list(hits.values())
    if len(matches) == 1 and id:
        return matches[0]
    if not matches:
        raise UnknownRun(f"no run is called {id!r}", hint="`segue runs` lists those of this project")
    names = ", ".join(f"{one.agent}/{one.native}" for one in matches[:_NAMED_MAX])
    raise UsageError(f"{len(matches)} runs are called {id!r}…", hint=f"give more of the id: {names}")
