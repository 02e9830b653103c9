"""Which run a run that starts takes up, and which others it should know of.

It is the newest of this working tree that has stopped. Where nothing was done yet, a line names the newest
run of the project's other worktrees. A run that is at work is not taken up, nor is what it took up itself:
two agents would do the same. Of runs that were here at the same time, each agent takes up its own; the others
are mentioned in a line.
"""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import islice
from pathlib import Path

from ...agents.base import Found
from ...agents.hooks import HookEvent
from ...core.base.page import cut, middle, plain, quote
from ...core.base.values import Value, seconds_of
from ...core.language.subjects import subjects_of
from ...core.runs.identifiers import short_run
from ...core.sessions.state import OPEN, SessionState
from ...effects.git import repository as git
from ...errors import SegueError
from ..runs.discovery import RunFinder
from ..runs.select import ELSEWHERE_SECONDS, LOOKED_AT, is_here, runs_meant
from ..workspace.open_session import find_session
from ..workspace.workspace import Workspace
from .gather import digest_of, is_at_work, runs_taken_up, session_of_run, task_of_run

OVER_SECONDS = 1_800.0
"""Who was silent for longer will not go on by itself."""
PARALLEL_SECONDS = 3_600.0
"""Runs that were active within an hour of one another may be about different work at the same time."""
TASK_BYTES = 120
SAME_MIN = 2
"""A prompt that shares so much with what another run works on is about the same."""
FOLDER_BYTES = 160
EMPTY_MAX = 4
"""So many runs without a word may have been here, and nothing was done yet."""
LOOKED_AT_ELSEWHERE = 4
"""Among how many runs of other worktrees one that was asked for something is looked for."""


class Predecessor(Value):
    """The run to take up, and what to say of the others, at most one line."""

    found: Found | None = None
    others: str = ""
    at_work: str = ""
    """The part of it that other work must know: who is at work here now."""


def predecessor_of(workspace: Workspace, finder: RunFinder, event: HookEvent) -> Predecessor:
    """The run that the run of a hook event takes up."""

    def is_own(run: Found) -> bool:
        return run.native == event.native or run.path == event.transcript

    busy: list[Found] = []
    stopped: list[Found] = []
    elsewhere: list[Found] = []
    for run in islice(runs_meant(finder, but=is_own), LOOKED_AT):
        if not is_here(finder, run):
            elsewhere.append(run)
        elif is_at_work(workspace, finder, run):
            busy.append(run)
        else:
            stopped.append(run)
            if stopped[0].changed - run.changed > PARALLEL_SECONDS or len(stopped) > 8:
                break
    taken = {key for run in busy for key in runs_taken_up(workspace, finder, run)}
    free = [run for run in stopped if finder.key(run) not in taken]
    if elsewhere and len(free) <= EMPTY_MAX and all(_is_empty(workspace, finder, run) for run in free):
        free = []
    at_work = line_of_others(workspace, finder, busy, "is at work here now", asked=event.text)
    if not free:
        return Predecessor(None, at_work or _line_of_elsewhere(workspace, finder, elsewhere), at_work)
    chosen = _own_of_parallel(workspace, finder, free, event.agent)
    beside = _parallel_to(workspace, finder, chosen, free, 0.0)
    gone_on = {key for run in beside for key in runs_taken_up(workspace, finder, run)}
    beside = [
        run for run in beside if finder.key(run) not in gone_on and not _is_empty(workspace, finder, run)
    ]
    newer = [run for run in elsewhere if run.changed - chosen.changed > ELSEWHERE_SECONDS]
    line = (
        at_work
        or line_of_others(workspace, finder, beside, "worked here at the same time", asked=event.text)
        or _line_of_elsewhere(workspace, finder, newer)
    )
    return Predecessor(chosen, line, at_work)


def chosen_since(workspace: Workspace, finder: RunFinder, run: Found) -> SessionState | None:
    """The open session that somebody made the current one here after a run of another one had stopped."""
    try:
        tree = workspace.working_tree.tree()
        if not tree.chosen or seconds_of(tree.chosen) <= run.changed:
            return None
        if tree.current == session_of_run(workspace, finder, run):
            return None
        state = find_session(workspace, tree.current).state
    except SegueError:
        return None
    return state if state.status in OPEN else None


def line_of_before(workspace: Workspace, finder: RunFinder, run: Found) -> str:
    """What is said of the newest run if it was about other work; empty if it was asked for nothing."""
    task = task_of_run(workspace, finder, run)
    if not task:
        return ""
    at = time.strftime("%H:%M UTC", time.gmtime(run.changed))
    return (
        f"the last run here ({run.agent}, last active {at}) was about other work, {quote(task, TASK_BYTES)};"
        f" `segue brief {plain(short_run(run.native))}` shows it"
    )


def _is_empty(workspace: Workspace, finder: RunFinder, run: Found) -> bool:
    """Whether a run was asked for nothing and did nothing."""
    try:
        digest = digest_of(workspace, finder, run)
    except SegueError:
        return False
    return not (digest.prompts or digest.told is not None or digest.calls)


def _own_of_parallel(workspace: Workspace, finder: RunFinder, free: list[Found], agent: str) -> Found:
    """The newest run, or one of this agent's own that was here at the same time and that nobody took up. One
    that had stopped before the newest began may have been parallel to what that took up; not if both are the
    same piece of work: then that went on in the newest."""
    newest = free[0]
    if newest.agent == agent:
        return newest
    near = [
        run for run in _parallel_to(workspace, finder, newest, free, PARALLEL_SECONDS) if run.agent == agent
    ]
    beside = _parallel_to(workspace, finder, newest, near, 0.0)
    session = session_of_run(workspace, finder, newest)
    apart = (run for run in near if not session or session_of_run(workspace, finder, run) != session)
    return next(iter([*beside, *apart]), newest)


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


def line_of_others(
    workspace: Workspace, finder: RunFinder, runs: list[Found], what: str, *, asked: str = ""
) -> str:
    """What is said of other runs: the first with its task, and how many more there are. Who is asked for the
    same thing is not told to leave it."""
    if not runs:
        return ""
    first = runs[0]
    task = task_of_run(workspace, finder, first)
    at = time.strftime("%H:%M UTC", time.gmtime(first.changed))
    more = f", and {len(runs) - 1} more" if len(runs) > 1 else ""
    about = f' on "{cut(task, TASK_BYTES)}"' if task else ""
    is_same = len(subjects_of(task) & subjects_of(asked[:2_000])) >= SAME_MIN
    is_over = time.time() - first.changed > OVER_SECONDS
    leave = "" if is_same or is_over else "; leave that to it"
    return f"another run ({first.agent}, last active {at}{more}) {what}{about}{leave}"


def _line_of_elsewhere(workspace: Workspace, finder: RunFinder, runs: list[Found]) -> str:
    """What is said of the newest run in another worktree; empty if it is too old to matter."""
    since = time.time() - 86_400 * workspace.settings.number("resumable_days")
    recent = [run for run in runs if run.changed >= since][:LOOKED_AT_ELSEWHERE]
    asked = ((run, task) for run in recent if (task := task_of_run(workspace, finder, run)))
    run, task = next(asked, (recent[0] if recent else None, ""))
    if run is None:
        return ""
    at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(run.changed))
    branch = _branch_of(workspace, finder, run)
    facts = [
        run.agent,
        f"in {middle(run.cwd, FOLDER_BYTES)}",
        f"branch {cut(branch, TASK_BYTES)}" if branch else "",
    ]
    about = ", ".join(filter(None, (*facts, f"last active {at}")))
    doing = " and is at work now" if is_at_work(workspace, finder, run) else ""
    wanted = f", on {quote(task, TASK_BYTES)}" if task else ""
    return (
        f"the newest run of this project is in another worktree ({about}){doing}{wanted};"
        f" `segue brief {plain(short_run(run.native))}` shows it"
    )


def _branch_of(workspace: Workspace, finder: RunFinder, run: Found) -> str:
    """The branch that a run was on or, where its agent does not write that down, of its worktree now."""
    with suppress(SegueError):
        if branch := digest_of(workspace, finder, run).branch:
            return branch
    repository = git.find(Path(run.cwd))
    return git.head(repository)[1] if repository is not None else ""
