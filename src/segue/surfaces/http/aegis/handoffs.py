"""`/memories/handoff`: what one agent leaves to another, in Aegis Memory's terms."""

from __future__ import annotations

import msgspec

from ....services.memories.service import EVERYTHING
from ....services.server.aegis import progress
from ..server.route import Caller
from .base import DEFAULT, Count, Name, aegis_route, agent_of
from .sessions import sessions_of

SESSIONS_MAX = 5
_DECISIONS_MAX = 10


class HandoffIn(msgspec.Struct):
    """The agent that hands over, the one that takes over, and what the work is about."""

    source_agent_id: Name
    target_agent_id: Name
    namespace: str = DEFAULT
    user_id: str | None = None
    task_context: str | None = None
    max_memories: Count = 20


class HandoffOut(msgspec.Struct):
    """What one agent leaves to another: only what the other may read."""

    source_agent_id: str
    target_agent_id: str
    namespace: str
    user_id: str | None
    task_context: str | None
    summary: str | None
    active_tasks: list[str]
    blocked_on: list[str]
    recent_decisions: list[str]
    key_facts: list[str]
    memory_ids: list[str]
    session_ids: list[str]


@aegis_route("POST", "/memories/handoff", role="reader")
def handoff(caller: Caller, body: HandoffIn) -> HandoffOut:
    """What an agent leaves to another: its open sessions, its decisions, and memories that the other may
    read."""
    source = agent_of(caller, body.source_agent_id)
    segue, target = caller.segue, body.target_agent_id
    recalled = segue.memories.recall(
        body.task_context or EVERYTHING, top_k=body.max_memories, agent=target, agents=source,
        user=body.user_id or "", namespace=body.namespace,
    )  # fmt: skip
    facts = [one for one in recalled if not one.quoted]
    sessions = sessions_of(caller, source)[:SESSIONS_MAX]
    states = [segue.workspace.repository.state(id) for id in sessions]
    shown = [progress.shown(state, progress.label_of(segue.workspace, state)) for state in states]
    decisions = [
        f"{one.text} ({one.why})" if one.why else one.text for state in states for one in state.decisions
    ]
    decisions += [one.content for one in facts if one.memory.type == "decision"]
    summaries = [
        f"{one.summary or one.session_id}: {one.completed_count} of {one.total_items} done" for one in shown
    ]
    return HandoffOut(
        source, target, body.namespace, body.user_id, body.task_context, "; ".join(summaries) or None,
        [item for one in shown for item in [one.in_progress_item, *one.next_items] if item],
        [f"{stuck.item}: {stuck.reason}" for one in shown for stuck in one.blocked_items],
        decisions[-_DECISIONS_MAX:], [one.content for one in facts], [one.id for one in facts], sessions,
    )  # fmt: skip
