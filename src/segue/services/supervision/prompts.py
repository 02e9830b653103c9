"""The prompts for launched agents: at first the goal, later the brief and why the previous run ended.

The brief is between marks of its own, so that readers of transcripts can tell it from the user's words.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ...core.runs.inherited import (
    GO_ON,
    NOBODY_WATCHES,
    PLAN,
    PROVEN,
    STARTED_AGAIN,
    STOPPED_TOO_EARLY,
)
from ...effects.redaction.redact import redact
from ...errors import SegueError
from ..brief.project_brief import brief_here
from ..features.features import session_status
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace

if TYPE_CHECKING:
    from ...effects.processes.launch import LeftoverProcess

ITEMS_MAX = 20
NOT_PROVEN = "not proven"
PROOF = (
    f"{NOBODY_WATCHES} do not ask, decide and go on. Stop when all of it is done; Segue then runs the checks "
    "itself, and what they do not prove is not done."
)


def first_prompt(workspace: Workspace, session: SessionHandle) -> str:
    """The goal, the plan, and what must be proven; with a brief if there was work before."""
    state, status = session.state, session_status(session)
    lines = [state.goal]
    items = [*status.active, *status.next]
    if items:
        lines += ["", PLAN, *(f"- {item}" for item in items[:ITEMS_MAX])]
    if state.features:
        lines += ["", PROVEN]
        for feature in state.features.values():
            checks = "; ".join(check.text for check in feature.checks)
            lines.append(f"- {feature.description}" + (f" ({checks})" if checks else ""))
    text = "\n".join([*lines, "", PROOF])
    if status.done or state.decisions:
        return f"{_brief(workspace)}\n\n{text}"
    return text


def next_prompt(
    workspace: Workspace, session: SessionHandle, why: str, left: Sequence[LeftoverProcess]
) -> str:
    """The prompt for a fresh window: the brief, and why there is a new run."""
    opening = f"{GO_ON} Why there is a new run: {why or 'the last one stopped'}."
    brief = _brief(workspace) or session.state.goal
    return "\n\n".join([brief, "\n".join([opening, *_left(left), PROOF])])


def resume_prompt(why: str, left: Sequence[LeftoverProcess]) -> str:
    """The prompt for continuing the same conversation."""
    opening = f"{STARTED_AGAIN} ({why or 'it had stopped'})."
    if why.startswith(NOT_PROVEN):
        opening = f"{STOPPED_TOO_EARLY} {why}\nGo on with the work."
    return "\n".join([opening, *_left(left), PROOF])


def _left(left: Sequence[LeftoverProcess]) -> list[str]:
    if not left:
        return []
    names = "; ".join(f"pid {one.pid}: {redact(one.command)[:160]}" for one in left[:5])
    return [f"Still running from before (check these before you start the same again): {names}."]


def _brief(workspace: Workspace) -> str:
    with suppress(SegueError):
        return brief_here(workspace)
    return ""
