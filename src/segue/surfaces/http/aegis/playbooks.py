"""`/memories/ace/reflection`, `…/playbook`, `…/vote/{id}` and `…/delta`: what worked and what did not."""

from __future__ import annotations

import time
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....errors import SegueError
from ..server.route import Caller
from . import base
from .base import DEFAULT, Name, aegis_route, agent_of, milliseconds_since
from .memories import change_memory, reader_of, scope_of, their_scope, with_extras


class ReflectionIn(msgspec.Struct):
    """What was learnt from how something went."""

    content: base.Text
    agent_id: Name
    user_id: str | None = None
    namespace: str = DEFAULT
    source_trajectory_id: str | None = None
    error_pattern: str | None = None
    correct_approach: str | None = None
    applicable_contexts: list[str] | None = None
    scope: str | None = None
    metadata: dict[str, Any] | None = None


class ReflectionOut(msgspec.Struct):
    """A reflection that was stored."""

    id: str
    scope: str
    memory_type: str = "reflection"
    effectiveness_score: float = 0.0


class PlaybookQueryIn(msgspec.Struct):
    """A task to find strategies for."""

    agent_id: Name
    query: base.QueryText = "general task strategies"
    namespace: str = DEFAULT
    task_type: str | None = None
    include_types: list[str] | None = None
    top_k: base.Count = 20
    min_effectiveness: base.Effectiveness = -1.0


class StrategyOut(msgspec.Struct):
    """A strategy or a reflection."""

    id: str
    content: str
    memory_type: str
    effectiveness_score: float
    bullet_helpful: int
    bullet_harmful: int
    created_at: str
    error_pattern: str | None = None


class PlaybookOut(msgspec.Struct):
    """Strategies and reflections, those that worked first."""

    entries: list[StrategyOut]
    query_time_ms: float


class VoteIn(msgspec.Struct):
    """A vote on whether a memory was helpful."""

    vote: str
    voter_agent_id: Name
    context: str | None = None
    task_id: str | None = None


class VotedOut(msgspec.Struct):
    """The votes on a memory after a vote."""

    memory_id: str
    bullet_helpful: int
    bullet_harmful: int
    effectiveness_score: float


class OperationIn(msgspec.Struct):
    """Add, update or deprecate a memory."""

    type: str
    content: str | None = None
    memory_type: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    namespace: str | None = None
    scope: str | None = None
    metadata: dict[str, Any] | None = None
    ttl_seconds: float | None = None
    memory_id: str | None = None
    metadata_patch: dict[str, Any] | None = None
    superseded_by: str | None = None
    deprecation_reason: str | None = None


class DeltaIn(msgspec.Struct):
    """Operations, each carried out by itself."""

    operations: Annotated[list[OperationIn], Meta(min_length=1, max_length=100)]


class OperationOut(msgspec.Struct):
    """The result of an operation."""

    operation: str
    success: bool
    memory_id: str | None = None
    error: str | None = None


class DeltaOut(msgspec.Struct):
    """The results of the operations, in order."""

    results: list[OperationOut]
    total_time_ms: float


@aegis_route("POST", "/memories/ace/reflection", role="writer")
def add_reflection(caller: Caller, body: ReflectionIn) -> ReflectionOut:
    """Store what was learnt from how something went."""
    scope = scope_of(body.scope or "global")
    [kept] = caller.segue.memories.remember_many([{
        "content": body.content, "type": "reflection", "error_pattern": body.error_pattern or "",
        "correct_approach": body.correct_approach or "", "agent": agent_of(caller, body.agent_id),
        "user": body.user_id or "", "namespace": body.namespace, "scope": scope,
        "metadata": with_extras(
            body.metadata, source_trajectory_id=body.source_trajectory_id,
            applicable_contexts=body.applicable_contexts,
        ),
    }])  # fmt: skip
    return ReflectionOut(kept.id, their_scope(scope))


def _playbook(caller: Caller, body: PlaybookQueryIn, query: str) -> PlaybookOut:
    begun = time.perf_counter()
    types = [one.replace("_", "-") for one in body.include_types or ()]
    found = caller.segue.memories.playbook(
        query, top_k=body.top_k, types=types or None, min_effectiveness=body.min_effectiveness,
        agent=agent_of(caller, body.agent_id), namespace=body.namespace,
    )  # fmt: skip
    entries = [
        StrategyOut(
            one.id, one.content, one.memory.type.replace("-", "_"), one.memory.effectiveness,
            one.memory.helpful, one.memory.harmful, one.memory.created, one.memory.error_pattern or None,
        )
        for one in found
    ]  # fmt: skip
    return PlaybookOut(entries, milliseconds_since(begun))


@aegis_route("POST", "/memories/ace/playbook", role="reader")
def playbook(caller: Caller, body: PlaybookQueryIn) -> PlaybookOut:
    """Strategies and reflections for a task, those that worked first."""
    return _playbook(caller, body, body.query)


@aegis_route("POST", "/memories/ace/playbook/agent", role="reader")
def playbook_of_agent(caller: Caller, body: PlaybookQueryIn) -> PlaybookOut:
    """Strategies and reflections for an agent and a kind of task, those that worked first."""
    return _playbook(caller, body, f"{body.task_type} {body.query}" if body.task_type else body.query)


@aegis_route("POST", "/memories/ace/vote/{id}", role="writer")
def vote(caller: Caller, id: str, body: VoteIn) -> VotedOut:
    """Vote on whether a memory was helpful. Each voter has one vote: the last one counts."""
    voter = agent_of(caller, body.voter_agent_id)
    context = " ".join(filter(None, (body.context, body.task_id and f"[task {body.task_id}]")))
    after = caller.segue.memories.vote(id, body.vote, voter=voter, context=context, **reader_of(caller, id))
    return VotedOut(after.id, after.helpful, after.harmful, after.effectiveness)


@aegis_route("POST", "/memories/ace/delta", role="writer")
def delta(caller: Caller, body: DeltaIn) -> DeltaOut:
    """Add, update and deprecate memories. Each operation is carried out by itself, and one that fails says
    why."""
    begun = time.perf_counter()
    return DeltaOut([_outcome(caller, one) for one in body.operations], milliseconds_since(begun))


def _outcome(caller: Caller, one: OperationIn) -> OperationOut:
    try:
        return OperationOut(one.type, True, _carry_out(caller, one))
    except SegueError as fault:
        if fault.retryable:
            raise
        return OperationOut(one.type, False, one.memory_id, fault.message)


def _carry_out(caller: Caller, one: OperationIn) -> str:
    service, agent = caller.segue.memories, agent_of(caller, one.agent_id)
    if one.type == "add":
        [kept] = service.remember_many([{
            "content": one.content or "", "type": (one.memory_type or "standard").replace("_", "-"),
            "scope": scope_of(one.scope), "agent": agent, "user": one.user_id or "",
            "namespace": one.namespace or DEFAULT, "metadata": one.metadata, "ttl_seconds": one.ttl_seconds,
        }])  # fmt: skip
        return kept.id
    id = one.memory_id or ""
    operation = {
        "type": one.type, "memory_id": id, "content": one.content, "metadata_patch": one.metadata_patch,
        "superseded_by": one.superseded_by, "deprecation_reason": one.deprecation_reason,
    }  # fmt: skip
    if one.type == "update" and one.memory_type:
        operation["memory_type"] = one.memory_type.replace("_", "-")
    return change_memory(service, operation, reader_of(caller, id))
