"""The prompts for launched agents: at first the goal, later the brief and why the previous run ended.

What Segue itself says, the brief included, is between marks of its own, so that readers of transcripts can
tell it from the user's words: only the goal is the user's.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ...core.base.text import harmless_text, one_line
from ...core.runs.brief_text import CLOSING, OPENING
from ...effects.redaction.redact import redact
from ...errors import SegueError
from ..brief.gather import gather, summary_of_session
from ..brief.project_brief import brief_of_session, told_bytes
from ..features.features import session_status
from ..runs.assign_session import has_observed_goal
from ..runs.observed import runs_of
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace

if TYPE_CHECKING:
    from ...effects.processes.launch import LeftoverProcess

ITEMS_MAX = 20
NOT_PROVEN = "not proven"
MARKING = (
    "Mark an item as soon as it is done: tick it off under the same name in your own list of things to do, "
    'or run `segue done "<item>"`, or, where you have the tools of Segue, `checkpoint` with `done`.'
)
ALONE = "Nobody watches: do not ask, decide and go on. Stop when all of it is done"
PROOF = f"{ALONE}; Segue then runs the checks itself, and what they do not prove is not done."


def first_prompt(workspace: Workspace, session: SessionHandle, *, own_goal: bool = False) -> str:
    """The goal, the plan, and what must be proven; with a brief if there was work before. If nobody declared
    the goal, the request that holds takes its place, unless the session's ``own_goal`` is wanted."""
    goal = harmless_text(session.state.goal if own_goal else _wanted(workspace, session))
    brief = brief_of_work(workspace, session) if has_history(workspace, session) else ""
    lines = [*_plan(session), *_proofs(session), _ending(session)]
    if not brief:
        return f"{goal}\n\n{_marked(lines)}"
    return f"{_marked(['Go on with this work where it stopped.', *lines], brief)}\n\n{goal}"


def _wanted(workspace: Workspace, session: SessionHandle) -> str:
    """The goal; where nobody declared one, the oldest request that holds, which later ones add to."""
    state = session.state
    if has_observed_goal(workspace, state):
        with suppress(SegueError):
            runs = summary_of_session(workspace, state)
            known = gather(workspace, None, runs, memories=(), covers=False, handover=False)
            if known.goal and not one_line(state.goal).startswith(one_line(known.goal).removesuffix("…")):
                return known.goal
    return state.goal


def has_history(workspace: Workspace, session: SessionHandle) -> bool:
    """Whether there was work on a session before: runs of agents, or what somebody declared about it."""
    state = session.state
    declared = state.done or state.active or state.decisions or state.findings or state.troubles
    return bool(declared) or bool(runs_of(workspace).runs.rows(session=session.id))


def _plan(session: SessionHandle) -> list[str]:
    """What is left of the plan, and how an item of it is marked as done."""
    status = session_status(session)
    items = [*status.active, *status.next]
    if not items:
        return []
    return ["Plan:", *(f"- {item}" for item in items[:ITEMS_MAX]), MARKING]


def _ending(session: SessionHandle) -> str:
    return PROOF if session.state.features else f"{ALONE}."


def _proofs(session: SessionHandle) -> list[str]:
    features = session.state.features
    lines = ["It is done when this is proven:"] if features else []
    for feature in features.values():
        checks = "; ".join(check.text for check in feature.checks)
        lines.append(f"- {feature.description}" + (f" ({checks})" if checks else ""))
    return lines


def next_prompt(
    workspace: Workspace, session: SessionHandle, why: str, left: Sequence[LeftoverProcess]
) -> str:
    """The prompt for a fresh window: the brief, and why there is a new run."""
    opening = (
        f"Go on with this work where it stopped. Why there is a new run: {why or 'the last one stopped'}."
    )
    brief = brief_of_work(workspace, session)
    block = _marked([opening, *_left(left), *_plan(session), _ending(session)], brief)
    return block if brief else f"{block}\n\n{harmless_text(session.state.goal)}"


def resume_prompt(session: SessionHandle, why: str, left: Sequence[LeftoverProcess]) -> str:
    """The prompt for continuing the same conversation."""
    opening = f"Go on with the work; your process was started again ({why or 'it had stopped'})."
    if why.startswith(NOT_PROVEN):
        opening = f"You stopped, but it is {why}\nGo on with the work."
    return _marked([opening, *_left(left), *_plan(session), _ending(session)])


def _marked(lines: Sequence[str], brief: str = "") -> str:
    """Lines of Segue's own between its marks, behind a brief if there is one."""
    said = harmless_text("\n".join(lines))
    if not brief:
        return f"{OPENING} {said}\n{CLOSING}"
    body, _, closing = brief.rpartition("\n")
    return f"{body}\n{said}\n{closing}"


def _left(left: Sequence[LeftoverProcess]) -> list[str]:
    if not left:
        return []
    names = "; ".join(f"pid {one.pid}: {redact(one.command)[:160]}" for one in left[:5])
    return [f"Still running from before (check these before you start the same again): {names}."]


def brief_of_work(workspace: Workspace, session: SessionHandle) -> str:
    """The brief of a session; empty if there is nothing to tell."""
    with suppress(SegueError):
        return brief_of_session(workspace, session.id, budget=told_bytes(workspace))
    return ""
