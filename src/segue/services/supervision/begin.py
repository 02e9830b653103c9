"""Which session a supervised run works on, and what proves that it is done."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.base.text import one_line
from ...core.sessions import commands as do
from ...errors import SessionOver, UsageError
from ..features.features import Features, parsed
from ..resume.interruptions import pause_if_idle
from ..workspace.open_session import find_session, start_session
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from . import record

_NUMBERS = 10_000


def session_for(workspace: Workspace, goal: str) -> SessionHandle:
    """The session of a goal: the current one if work on the same goal was cut off, else a new one."""
    current = workspace.working_tree.tree(fresh=True).current
    if current and workspace.repository.exists(current):
        session = find_session(workspace, current)
        kept = record.load(session)
        if kept is not None and not kept.outcome and one_line(session.state.goal) == one_line(goal):
            return session
    return start_session(workspace, goal)


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


def declare_checks(session: SessionHandle, commands: Sequence[str]) -> None:
    """Declare a feature for each of these commands that is not yet a feature's check."""
    for number, command in enumerate(commands, 1):
        check = parsed(command)
        features = session.state.features
        if check.text in {one.text for feature in features.values() for one in feature.checks}:
            continue
        id = next(name for n in range(number, _NUMBERS) if (name := f"check-{n}") not in features)
        Features(session).add(id, f"{command} passes", checks=[check])


def add_items(session: SessionHandle, items: Sequence[str]) -> None:
    """Add these items to the plan, if the session is open."""
    if items and session.state.status in ("active", "created"):
        session.commit_trusted(tuple(map(do.Add, items)))
