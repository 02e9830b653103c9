"""Resuming a session, and switching to another one.

What changed in the meantime is looked up before the session is touched, because resuming it sets a new time
to compare with. A session that is over stays over, and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.base.values import Value, seconds_of
from ...core.resume.changes import Delta
from ...core.resume.changes_text import change_lines
from ...core.resume.restoration import Restoration, budget_of
from ...effects.git.scene import SceneQuery
from ...errors import SegueError
from ..brief.project_brief import brief_of_session, told_bytes
from ..runs.observed import runs_of
from ..runs.sessions_shown import resumption
from ..sessions.repository import Saved
from ..workspace.open_session import make_current
from ..workspace.session_handle import SessionHandle
from .interruptions import Interruption, interrupt, pause_if_idle
from .restore import restore
from .since import since
from .working_state import Working, working

OVER = ("completed", "abandoned")


class TakenUp(Value):
    """A session on which work continues, unless it is over."""

    saved: Saved
    status: str
    since: Delta | None = None
    restoration: Restoration | None = None

    @property
    def is_over(self) -> bool:
        return self.status in OVER


class Resumed(TakenUp):
    """A session that was resumed, with what its next run needs to know."""

    brief: str = ""
    """Empty if a context was restored instead, or if the session is over."""
    timeout: Interruption | None = None
    working: Working | None = None


class Switched(TakenUp):
    """A session that was switched to from another one."""

    before: str = ""
    """The session that was current until now; empty if there was none."""
    paused: str = ""
    """The same, if it is paused now."""
    working: Working | None = None


def resume(
    session: SessionHandle, *, budget: str | None = None, notes: Sequence[str] = (), look: bool = True
) -> Resumed:
    """Resume a session and make it the current one here.

    With a ``budget`` its context is restored, with these ``notes``; without one the result has the brief.
    ``look`` says whether to include the working state: focus, changes, agents and their processes."""
    workspace = session.workspace
    with runs_of(workspace).search_once():
        if budget is not None:
            budget_of(budget)  # an invalid budget is refused before anything is changed
        state = session.state
        if state.status in OVER:
            return Resumed(Saved(session.id, state.version, 0), state.status)
        delta = _changes_since(session)
        if (
            delta is not None
            and state.status == "active"
            and seconds_of(state.resumed) > seconds_of(delta.left)
        ):
            delta = None  # it was resumed after the time that is compared with
        timeout = pause_if_idle(session)
        found = working(session) if look else None
        saved = session.commit_trusted((resumption(session),))
        make_current(workspace, session.id)
        restored = _restored(session, budget, notes, delta) if budget is not None else None
        brief = (
            ""
            if restored is not None
            else brief_of_session(workspace, session.id, budget=told_bytes(workspace))
        )
        return Resumed(saved, session.state.status, delta, restored, brief, timeout, found)


def switch(target: SessionHandle, *, budget: str, notes: Sequence[str] = ()) -> Switched:
    """Pause the current session and resume another one, with its context."""
    workspace = target.workspace
    with runs_of(workspace).search_once():
        budget_of(budget)
        state = target.state
        if state.status in OVER:
            return Switched(Saved(target.id, state.version, 0), state.status)
        delta = _changes_since(target)
        found, held = working(target), workspace.hold_warnings(target.id)
        before = take_up(target)
        after = target.state
        saved = Saved(target.id, after.version, after.version - state.version, held)
        paused = before is not None and before.state.status == "paused"
        return Switched(
            saved, after.status, before=before.id if before is not None else "",
            paused=before.id if before is not None and paused else "", since=delta,
            restoration=_restored(target, budget, notes, delta), working=found,
        )  # fmt: skip


def take_up(target: SessionHandle) -> SessionHandle | None:
    """Make a session active and current here, after pausing the previous one; returns that, if any."""
    workspace = target.workspace
    current = workspace.working_tree.tree(fresh=True).current
    is_other = current and current != target.id and workspace.repository.exists(current)
    before = SessionHandle(workspace, current) if is_other else None
    if before is not None and before.state.status == "active":
        interrupt(before, "user", f"switched to {target.id}")
    pause_if_idle(target)
    target.commit_trusted((resumption(target),))
    make_current(workspace, target.id)
    return before


def _changes_since(session: SessionHandle) -> Delta | None:
    workspace = session.workspace
    try:
        with SceneQuery(workspace.working_tree.root) as begun:
            return since(workspace, session.id, begun=begun)
    except (SegueError, OSError):
        return None


def _restored(session: SessionHandle, budget: str, notes: Sequence[str], delta: Delta | None) -> Restoration:
    changes = "\n".join(change_lines(delta)) if delta is not None and not delta.nothing else ""
    return restore(session.workspace, session.id, budget=budget, notes=notes, since=changes, record=True)
