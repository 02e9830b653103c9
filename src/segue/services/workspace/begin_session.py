"""Beginning a session for a command, which reports whether it existed and which other session stays
active."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from ...core.base.text import one_line
from ...core.base.values import Value
from ...errors import SegueError, StoreUnavailable
from ..sessions.repository import Saved
from .offline_queue import QueuedCommand
from .open_session import check_is_open, check_is_ours, start_session
from .workspace import Workspace

PENDING = "pending"


class Started(Value):
    """A session that was begun, or an existing one that was continued."""

    saved: Saved
    status: str
    """``pending`` if it waits until the server can be reached."""
    left_active: str = ""
    """The session that was current here before and is still active."""
    existed: bool = False
    kept_goal: str = ""
    """The goal of an existing session, if a different one was given."""

    @property
    def is_pending(self) -> bool:
        return self.status == PENDING


def begin_session(
    workspace: Workspace, goal: str, *, items: Iterable[str] = (), id: str = "", type: str = "",
    organization: str = "", project: str = "",
) -> Started:  # fmt: skip
    """Begin a session, or continue the one with this id, and make it the current one here. Raises
    ConflictError for a session of another project, and SessionOver for one that is over."""
    try:
        existed = bool(id) and workspace.repository.exists(id)
    except StoreUnavailable:
        existed = False  # the store cannot be asked; whether the command may wait is decided below
    if existed:
        check_is_ours(workspace, id, project)
        check_is_open(workspace, id)
    before = _active_here(workspace)
    session = start_session(
        workspace, goal, items=items, id=id, type=type, organization=organization, project=project
    )
    if session.pending:
        return Started(QueuedCommand(session.id, 0, 0), PENDING)
    state = session.state
    saved = Saved(session.id, state.version, 0 if existed else state.version)
    differs = existed and goal and one_line(goal) != one_line(state.goal)
    return Started(
        workspace.with_warnings(saved), state.status, left_active=before if before != session.id else "",
        existed=existed, kept_goal=state.goal if differs else "",
    )  # fmt: skip


def _active_here(workspace: Workspace) -> str:
    with suppress(SegueError):
        current = workspace.working_tree.tree().current
        return current if current and workspace.repository.state(current).status == "active" else ""
    return ""
