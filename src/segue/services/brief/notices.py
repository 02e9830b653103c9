"""What Segue itself has to say about the work: an interrupted handover, a budget nearly spent, a pause
or the end of the session, and what of a run there was no time to read.

Each is one sentence, and only said while it holds. Of a handover the file beside the journal is read, as
`segue handover check` does, so that no store is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.base.page import plain
from ...core.base.values import Value
from ...core.handover.record import code_of, is_theirs, pending_in
from ...core.runs.identifiers import short_run
from ...core.sessions.state import SessionState, handing_words
from ...effects.files.checkpoint_file import AGENT_HANDOVER, recall_checkpoint
from ..runs.observed import runs_of
from ..sessions.offers import with_offers_settled
from ..workspace.working_tree import tree_stream
from ..workspace.workspace import Workspace

if TYPE_CHECKING:
    from ...core.sessions.budget import Standing

NEARLY_SPENT = 0.8
STEPS_SHOWN = 3


def notices_of(workspace: Workspace, state: SessionState | None, *, handover: bool = True) -> list[str]:
    """The notices that hold now, the most urgent first. ``handover`` is whether to look for an interrupted
    one, which a handover under way does not."""
    found = [notice_of_handover(workspace)] if handover else []
    if state is not None:
        found += [_budget(workspace, state), _standstill(state), _handed(workspace, state)]
    found.append(notice_of_unread(workspace))
    return [text for text in found if text]


def notice_of_unread(workspace: Workspace) -> str:
    """What a hook had no time to read; empty if it has read all."""
    if not workspace.sees_tree:
        return ""
    cut = max(runs_of(workspace).cut_readings.values(), key=lambda reading: reading.left_out, default=None)
    if cut is None:
        return ""
    run, left_out = plain(short_run(cut.native)), f"{cut.left_out / 1e6:,.1f} MB"
    if not (cut.missing or cut.digest.steps):
        told = f"there was no time to read the transcript of run {run} ({plain(cut.agent)}, {left_out})"
        return f"{told}; `segue brief {run}` reads it"
    where = "before its end" if cut.missing else "that were added since"
    return (
        f"there was no time to read the whole transcript of run {run} ({plain(cut.agent)}):"
        f" {left_out} {where} are missing here; `segue brief {run}` reads all of it"
    )


class Interrupted(Value):
    """A handover of this working tree that was interrupted."""

    steps: list[str]
    """What is not done of it."""
    resume: str
    """How it goes on."""


def notice_of_handover(workspace: Workspace) -> str:
    """The notice of an interrupted handover; empty if there is none."""
    found = interrupted_handover(workspace)
    if found is None:
        return ""
    left = found.steps
    more = f" and {len(left) - STEPS_SHOWN} more" if len(left) > STEPS_SHOWN else ""
    return f"a handover was interrupted before {', '.join(left[:STEPS_SHOWN])}{more}: {found.resume}"


def interrupted_handover(workspace: Workspace) -> Interrupted | None:
    """The interrupted handover of this working tree, Segue's own or one of agent-handover."""
    if not workspace.sees_tree:
        return None
    root = workspace.working_tree.root
    name = tree_stream(str(root)).removeprefix("tree/")
    own, _ = recall_checkpoint(workspace.home.handover / f"{name}.json")
    theirs, _ = recall_checkpoint(root / AGENT_HANDOVER)
    is_other = is_theirs(own, theirs)
    record = theirs if is_other else own
    if code_of(record) != 1:
        return None
    resume = "finish it with the program that began it" if is_other else "`segue handover run` continues it"
    return Interrupted(pending_in(record), resume)


def _budget(workspace: Workspace, state: SessionState) -> str:
    budget = workspace.standing(state)
    if not (budget.limit or budget.tokens_limit):
        return ""
    sparingly = "; continue sparingly" if budget.limited else ""
    if budget.share < NEARLY_SPENT and not sparingly:
        return ""
    if not budget.exceeded:
        share = f"{budget.share:.0%}".replace("%", " %")
        return f"{share} of the budget is spent: {_spent(budget)}{sparingly}"
    more = sparingly or f"; `segue budget {state.id} --go-on` continues sparingly"
    return f"the budget is spent: {_spent(budget)}{more}"


def _spent(budget: Standing) -> str:
    amounts = [f"{budget.current_spend:g} of {budget.limit:g} USD"] if budget.limit else []
    if budget.tokens_limit:
        amounts.append(f"{budget.tokens_used:,} of {budget.tokens_limit:,} tokens")
    return ", ".join(amounts)


def _standstill(state: SessionState) -> str:
    """That a session is paused, or has ended, and why."""
    reasons = {"paused": state.pause_reason, "completed": state.summary, "abandoned": state.end_reason}
    if state.status not in reasons:
        return ""
    told = f"the session {'is' if state.status == 'paused' else 'was'} {state.status}"
    return f"{told}: {reasons[state.status]}" if reasons[state.status] else told


def _handed(workspace: Workspace, state: SessionState) -> str:
    """The note of the last handoff that still holds, until the session was resumed."""
    if not state.handed or state.handed[-1].at < state.resumed:
        return ""
    standing = with_offers_settled(workspace.store, state).handed
    last = standing[-1] if standing else None
    return handing_words(last) if last is not None and last.note and last.at >= state.resumed else ""
