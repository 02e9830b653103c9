"""Which session a supervised run works on, and what proves that it is done."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice

from ...agents.base import Found
from ...core.base.text import one_line
from ...core.brief.facts import BriefFacts
from ...core.features.checks import Check
from ...core.sessions import commands as do
from ...core.sessions.state import OPEN
from ...effects.processes.identity import is_alive
from ...errors import BadName, SegueError, SessionOver, UnknownRun, UnknownSession, UsageError
from ..brief.gather import gather, session_of_run, summary_of_session
from ..features.features import Features, parsed
from ..resume.interruptions import pause_if_idle
from ..runs.assign_session import has_observed_goal
from ..runs.listing import list_runs
from ..runs.observed import runs_of
from ..runs.run import Run
from ..runs.select import find_run, runs_here_first
from ..runs.sync import sync
from ..workspace.open_session import find_session, start_session
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from . import record

_NUMBERS = 10_000
_FOR_SHELL = frozenset("|&;<>()$`*?[]{}~!#\n")
"""Characters that mean something to a shell, at least outside of quotes. It does no harm to use a shell where
none is needed."""
TAKEN_IN = 4
"""How many of the newest runs are taken in to find the work that is to be continued: some of them may have
ended before anything was asked of them."""


def session_for(workspace: Workspace, goal: str) -> SessionHandle:
    """The session of a goal: the current one if work on the same goal was cut off, else a new one."""
    current = workspace.working_tree.tree(fresh=True).current
    if current and workspace.repository.exists(current):
        session = find_session(workspace, current)
        kept = record.load(session)
        if kept is not None and not kept.outcome and one_line(session.state.goal) == one_line(goal):
            return session
    return start_session(workspace, goal)


def session_to_continue(workspace: Workspace, id: str = "") -> SessionHandle:
    """The session to go on with: that of this id, or of the run with this id. Without an id, the current one
    if somebody declared it and it is open, else the session of the newest run here. Runs that have no session
    yet are given one. Raises UnknownSession."""
    if id:
        return _session_named(workspace, id)
    finder = runs_of(workspace).finder()
    newest = list(islice(runs_here_first(finder, but=finder.is_caller), TAKEN_IN))
    _take_in(workspace, newest)
    current = workspace.current_session()
    if current and _is_open(workspace, current):
        session = find_session(workspace, current)
        if not has_observed_goal(workspace, session.state):
            return session
    of_runs = (_session_of(workspace, found) for found in newest)
    found = next((one for one in of_runs if one and _is_open(workspace, one)), "")
    return find_session(workspace, found or current)


def _session_named(workspace: Workspace, id: str) -> SessionHandle:
    with suppress(UnknownSession, BadName):
        return find_session(workspace, id)
    try:
        run = find_run(runs_of(workspace).finder(), id)
    except UnknownRun:
        return find_session(workspace, id)  # raises what is wrong with it as a session's id
    is_here = not run.cwd or runs_of(workspace).finder().scope.holds(run.cwd)
    if is_here:
        _take_in(workspace, [run])
    found = _session_of(workspace, run)
    if not found and not is_here:
        raise _is_elsewhere(run)
    if not found:
        raise UnknownSession(
            f"nothing in the run {id} says what it should do", hint='give a goal: segue run "…"'
        )
    return find_session(workspace, found)


def _is_elsewhere(run: Found) -> UsageError:
    """Why a run of another project is not continued here: what it began goes on where it worked."""
    is_gone = not os.path.isdir(run.cwd)
    there = f"segue --folder {shlex.quote(run.cwd)} continue {run.native}"
    return UsageError(
        f"the run {run.native} worked in {run.cwd}" + (", which is gone" if is_gone else ""),
        hint=f"`segue brief {run.native}` shows what it did" if is_gone else f"there: {there}",
    )


def _take_in(workspace: Workspace, runs: Sequence[Found]) -> None:
    """Sync these runs, the oldest first, so that later ones find the sessions of those before them."""
    with suppress(SegueError):  # where Segue is off, or another process syncs
        sync(workspace, found=list(reversed(runs)))


def _session_of(workspace: Workspace, run: Found) -> str:
    return session_of_run(workspace, runs_of(workspace).finder(), run)


def _is_open(workspace: Workspace, id: str) -> bool:
    return workspace.repository.exists(id) and workspace.repository.state(id).status in OPEN


def run_at_work(workspace: Workspace, session: SessionHandle) -> Run | None:
    """A run of the session whose process is alive; None if there is none, as far as is known."""
    runs = list_runs(workspace, limit=TAKEN_IN)
    own = (run for run in runs if run.session == session.id and run.ended == "alive")
    return next((run for run in own if run.pid and is_alive(run.pid)), None)


def take_over_plan(workspace: Workspace, session: SessionHandle) -> None:
    """Make the own list of the session's last agent the plan, if the session has none and the list is open:
    the next agent has another list, and the work is not done before this one is."""
    state = session.state
    if state.items:
        return
    with suppress(SegueError):
        runs = summary_of_session(workspace, state)
        known = gather(workspace, None, runs, memories=(), covers=False, handover=False)
        if any(line.state != "blocked" for line in known.plan) and not known.plan_note:
            source = f"the plan is {runs.agent}'s own list in run {runs.run}"
            session.commit_trusted((*_plan_commands(known), do.Note(source)))


def _plan_commands(known: BriefFacts) -> list[do.Command]:
    done = list(dict.fromkeys(known.plan_done))
    lines = {line.text: line for line in known.plan if line.text not in done}
    commands: list[do.Command] = [do.Add(text) for text in (*done, *lines)]
    commands += [do.Done(text) for text in done]
    commands += [do.Begin(line.text, quiet=True) for line in lines.values() if line.state == "active"]
    commands += [do.Block(line.text, line.reason) for line in lines.values() if line.state == "blocked"]
    return commands


def check_goal(session: SessionHandle, goal: str) -> None:
    """Raise UsageError if a goal is given and the session has another one."""
    if goal and one_line(goal) != one_line(session.state.goal):
        raise UsageError(f"{session.id} has another goal", hint="leave --session out for a new one")


def refuse_if_over(session: SessionHandle, hint: str) -> None:
    """Raise SessionOver if the session has ended."""
    status = session.state.status
    if status in ("completed", "abandoned"):
        raise SessionOver(f"{session.id} is {status}", hint=hint)


def resume_if_paused(session: SessionHandle) -> None:
    """Resume a session that was paused."""
    if session.state.status == "paused":
        pause_if_idle(session)
        session.commit_trusted((do.Resume(),))


def checks_of(commands: Sequence[str]) -> list[Check]:
    """The checks that these command lines stand for, each run by a shell if it needs one. Raises UsageError
    for a line that cannot be read."""
    return [_check_of(command.strip()) for command in commands]


def _check_of(command: str) -> Check:
    first, _, _ = command.partition(" ")
    if "=" not in first and not _FOR_SHELL & set(command):
        check = parsed(command)
    else:
        try:
            shlex.split(command)
        except ValueError as fault:
            raise UsageError(f"cannot parse the command: {fault}", hint="check its quotes") from fault
        check = Check((command,), shell=True)
    if not command:
        raise UsageError("a check is empty", hint='for example: --check "pytest -q"')
    return check


def declare_checks(session: SessionHandle, checks: Sequence[Check]) -> None:
    """Declare a feature for each of these checks that no feature has yet."""
    for number, check in enumerate(checks, 1):
        features = session.state.features
        if check.text in {one.text for feature in features.values() for one in feature.checks}:
            continue
        id = next(name for n in range(number, _NUMBERS) if (name := f"check-{n}") not in features)
        Features(session).add(id, f"{check.text} passes", checks=[check])


def add_items(session: SessionHandle, items: Sequence[str]) -> None:
    """Add these items to the plan, if the session is open."""
    if items and session.state.status in ("active", "created"):
        session.commit_trusted(tuple(map(do.Add, items)))
