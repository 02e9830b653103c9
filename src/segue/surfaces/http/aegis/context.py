"""`/context/load`: the sessions and memories of an agent within a token budget, in Aegis Memory's terms."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....core.base.token_estimate import estimate
from ....services.memories.service import EVERYTHING
from ....services.server.aegis import progress
from ..server.route import Caller
from .base import DEFAULT, Count, Name, aegis_route, agent_of
from .memories import MemoryQueryIn, recalled
from .sessions import sessions_of

SESSIONS_MAX = 5


class ContextQueryIn(msgspec.Struct):
    """The agent, what it is about to do, and how many tokens its context may take."""

    agent_id: Name
    query: str | None = None
    task_type: str | None = None
    namespace: str = DEFAULT
    token_budget: Annotated[int, Meta(ge=100, le=1_000_000)] = 8_000
    prompt_name: str | None = None
    include_skills: bool = True
    include_subagents: bool = True
    memory_top_k: Count = 10
    skill_top_k: int = 3
    apply_decay: bool = True


class ContextItemOut(msgspec.Struct):
    """A session or a memory, never truncated."""

    kind: str
    id: str
    name: str
    content: str
    score: float
    tokens_estimated: int
    metadata: dict[str, Any]
    integrity_verified: bool = True


class ContextOut(msgspec.Struct):
    """What fits into the budget, the most important first."""

    agent_id: str
    task_type: str | None
    query: str | None
    tokens_budget: int
    tokens_used: int
    items: list[ContextItemOut]
    left_out: int
    integrity_all_verified: bool = True


@aegis_route("POST", "/context/load", role="reader")
def load_context(caller: Caller, body: ContextQueryIn) -> ContextOut:
    """Sessions and memories of an agent within a budget. None is truncated, and what reads like an
    instruction is left out."""
    agent = agent_of(caller, body.agent_id)
    items, used, left = [], 0, 0
    for item in _context(caller, agent, body):
        if used + item.tokens_estimated > body.token_budget:
            left += 1
            continue
        used += item.tokens_estimated
        items.append(item)
    return ContextOut(agent, body.task_type, body.query, body.token_budget, used, items, left)


def _context(caller: Caller, agent: str, body: ContextQueryIn) -> list[ContextItemOut]:
    segue, items = caller.segue, []
    for id in sessions_of(caller, agent)[:SESSIONS_MAX]:
        one = progress.get(segue.workspace, id)
        text = "\n".join(
            [
                f"{one.summary or id} ({one.status}): {one.completed_count} of {one.total_items} done",
                *([f"under way: {one.in_progress_item}"] if one.in_progress_item else ()),
                *(f"next: {item}" for item in one.next_items),
                *(f"blocked: {stuck.item} ({stuck.reason})" for stuck in one.blocked_items),
            ]
        )
        items.append(ContextItemOut("session", id, id, text, 1.0, estimate(text), {"status": one.status}))
    words = " ".join(filter(None, (body.task_type, body.query)))
    query = MemoryQueryIn(
        words or EVERYTHING, agent_id=agent, namespace=body.namespace, top_k=body.memory_top_k
    )
    for found in recalled(caller, query):
        if not found.quoted:
            memory = found.memory
            about = {"memory_type": memory.type, "trust_level": memory.trust}
            text = memory.content
            items.append(
                ContextItemOut("memory", memory.id, memory.type, text, found.score, estimate(text), about)
            )
    return items
