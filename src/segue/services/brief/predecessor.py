"""Which run a run that starts takes up, and which others it should know of.

It is the newest of this working tree that has stopped. A run that is at work is not taken up, nor is what it
took up itself: two agents would do the same. Of runs that were here at the same time, each agent takes up its
own; the others are mentioned in a line.
"""

from __future__ import annotations

import time

from ...agents.base import Found
from ...agents.hooks import HookEvent
from ...core.base.values import Value
from ...core.brief.page import cut
from ...errors import SegueError
from ..runs.discovery import RunFinder
from ..runs.run import left_of
from ..runs.select import is_here, runs_here_first
from ..workspace.workspace import Workspace
from .gather import digest_of, runs_taken_up, task_of_run

PARALLEL_SECONDS = 3_600.0
"""Runs that were active within an hour of one another may be about different work at the same time."""
TASK_BYTES = 120


class Predecessor(Value):
    """The run to take up, and what to say of the others, at most one line."""

    found: Found | None = None
    others: str = ""


def predecessor_of(workspace: Workspace, finder: RunFinder, event: HookEvent) -> Predecessor:
    """The run that the run of a hook event takes up."""

    def is_own(run: Found) -> bool:
        return run.native == event.native or run.path == event.transcript

    busy: list[Found] = []
    stopped: list[Found] = []
    for run in runs_here_first(finder, but=is_own):
        if run.sign == "alive" and _is_at_work(workspace, finder, run):
            busy.append(run)
        else:
            stopped.append(run)
            if stopped[0].changed - run.changed > PARALLEL_SECONDS or len(stopped) > 8:
                break
    taken = {key for run in busy for key in runs_taken_up(workspace, finder, run)}
    here = [run for run in busy if is_here(finder, run)]
    free = [run for run in stopped if finder.key(run) not in taken and (not here or is_here(finder, run))]
    if not free:
        return Predecessor(None, _line(workspace, finder, here, "is at work here now"))
    chosen = _own_of_parallel(workspace, finder, free, event.agent)
    beside = [run for run in _parallel_to(workspace, finder, chosen, free, 0.0) if is_here(finder, run)]
    gone_on = {key for run in beside for key in runs_taken_up(workspace, finder, run)}
    beside = [run for run in beside if finder.key(run) not in gone_on]
    line = _line(workspace, finder, here, "is at work here now") or _line(
        workspace, finder, beside, "worked here at the same time"
    )
    return Predecessor(chosen, line)


def _is_at_work(workspace: Workspace, finder: RunFinder, run: Found) -> bool:
    try:
        return left_of(digest_of(workspace, finder, run)) == "middle"
    except SegueError:
        return False


def _own_of_parallel(workspace: Workspace, finder: RunFinder, free: list[Found], agent: str) -> Found:
    """The newest run, or one of this agent's own that was here at the same time and that nobody took up."""
    newest = free[0]
    if newest.agent == agent:
        return newest
    near = _parallel_to(workspace, finder, newest, free, PARALLEL_SECONDS)
    own = (run for run in near if run.agent == agent)
    return next((run for run in own if is_here(finder, run) == is_here(finder, newest)), newest)


def _parallel_to(
    workspace: Workspace, finder: RunFinder, run: Found, others: list[Found], before_seconds: float
) -> list[Found]:
    """The others that were active when a run was, or so many seconds before, and are not the work that it
    took up."""
    before = {finder.key(run), *runs_taken_up(workspace, finder, run)}
    try:
        began = digest_of(workspace, finder, run).began
    except SegueError:
        return []
    since = (began or run.changed) - before_seconds
    return [one for one in others if finder.key(one) not in before and one.changed > since]


def _line(workspace: Workspace, finder: RunFinder, runs: list[Found], what: str) -> str:
    """What is said of other runs: the first with its task, and how many more there are."""
    if not runs:
        return ""
    first = runs[0]
    task = task_of_run(workspace, finder, first)
    at = time.strftime("%H:%M UTC", time.gmtime(first.changed))
    more = f", and {len(runs) - 1} more" if len(runs) > 1 else ""
    about = f' on "{cut(task, TASK_BYTES)}"' if task else ""
    return f"another run ({first.agent}, last active {at}{more}) {what}{about}; leave that to it"
