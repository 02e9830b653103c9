"""What Segue itself has to say about the work: an interrupted handover, a budget nearly spent, a pause.

Each is one sentence, and only said while it holds. Of a handover the file beside the journal is read, as
`segue handover check` does, so that no store is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..._files import read_bytes
from ...core.sessions.state import SessionState
from ..workspace.working_tree import tree_stream
from ..workspace.workspace import Workspace

if TYPE_CHECKING:
    from ...core.sessions.budget import Standing

NEARLY_SPENT = 0.8
STEPS_SHOWN = 3
AGENT_HANDOVER = Path(".agent-handover") / "checkpoint.json"


def notices_of(workspace: Workspace, state: SessionState | None, *, handover: bool = True) -> list[str]:
    """The notices that hold now, the most urgent first. ``handover`` is whether to look for an interrupted
    one, which a handover under way does not."""
    found = [_handover(workspace)] if handover and workspace.sees_tree else []
    if state is not None:
        found += [_budget(workspace, state), _pause(state), _handed(state)]
    return [text for text in found if text]


def _handover(workspace: Workspace) -> str:
    left = steps_left(workspace)
    if not left:
        return ""
    more = f" and {len(left) - STEPS_SHOWN} more" if len(left) > STEPS_SHOWN else ""
    steps = ", ".join(left[:STEPS_SHOWN])
    return f"a handover was interrupted before {steps}{more}: `segue handover run` continues it"


def steps_left(workspace: Workspace) -> list[str]:
    """The steps of an interrupted handover of this working tree that are not done; empty if there is none."""
    if not workspace.sees_tree:
        return []
    root = workspace.working_tree.root
    own = workspace.home.handover / f"{tree_stream(str(root)).removeprefix('tree/')}.json"
    record = _record(own) if own.exists() else _record(root / AGENT_HANDOVER)
    steps = record.get("steps")
    if record.get("status") != "in_progress" or not isinstance(steps, dict):
        return []
    return [str(name) for name, state in steps.items() if state != "done"]


def _record(path: Path) -> dict[str, Any]:
    """The file of a handover; empty if it is damaged, which is for `segue handover check` to report."""
    try:
        record = msgspec.json.decode(read_bytes(path))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return record if isinstance(record, dict) else {}


def _budget(workspace: Workspace, state: SessionState) -> str:
    settings, own = workspace.settings, state.budget
    cost, tokens = settings.number("budget_usd"), int(settings.number("budget_tokens"))
    if not (own.limit_cost or own.limit_tokens or cost or tokens):
        return ""
    from ...core.sessions.budget import standing  # few sessions have a limit

    budget = standing(state, limit_cost=cost, limit_tokens=tokens)
    if budget.share < NEARLY_SPENT:
        return ""
    if not budget.exceeded:
        return f"{budget.share:.0%} of the budget is spent: {_spent(budget)}".replace("%", " %")
    return f"the budget is spent: {_spent(budget)}" + ("; go on sparingly" if budget.limited else "")


def _spent(budget: Standing) -> str:
    amounts = [f"{budget.current_spend:g} of {budget.limit:g} USD"] if budget.limit else []
    if budget.tokens_limit:
        amounts.append(f"{budget.tokens_used:,} of {budget.tokens_limit:,} tokens")
    return ", ".join(amounts)


def _pause(state: SessionState) -> str:
    if state.status != "paused":
        return ""
    return f"the session is paused: {state.pause_reason}" if state.pause_reason else "the session is paused"


def _handed(state: SessionState) -> str:
    """The note of the last handoff, until the session was resumed."""
    if not state.handed or state.handed[-1].at < state.resumed:
        return ""
    last = state.handed[-1]
    return f"handed to {last.to}: {last.note}" if last.note else ""
