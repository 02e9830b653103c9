"""`/memories`: add, query, change, delete and export memories, in Aegis Memory's words.

A key acts as any agent of its project, or as the one that it is bound to, and what that agent may not read is
treated as if it did not exist. A request that names only a memory's id reads as somebody whom the memory is
meant for. ``global`` means everybody in the project; a deleted memory is erased, a deprecated one says why.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....core.memories.model import SCOPES, TRUSTS, Memory, MemoryFilter
from ....effects.clock import now
from ....errors import StaleVersion, UnknownMemory, UsageError
from ....services.memories import curation
from ....services.memories.service import MemoryService, Recalled
from ..server.route import Caller
from .base import DEFAULT, Count, Name, QueryText, Text, aegis_route, agent_of, milliseconds_since

_RETRIES = 16
OWN = "aegis"
"""The key in a memory's metadata under which fields are stored that Segue does not have."""
_SCOPES = {"private": "agent-private", "shared": "agent-shared"}
_LEVELS = {"user": "privileged", "agent": "internal", "transcript": "untrusted", "imported": "untrusted"}
_TRUSTS = {"untrusted": "imported", "internal": "agent", "privileged": "user", "system": "user"}


class MemoryIn(msgspec.Struct):
    """A memory to store; the same text for the same readers is stored once."""

    content: Text
    user_id: str | None = None
    agent_id: str | None = None
    namespace: str = DEFAULT
    metadata: dict[str, Any] | None = None
    ttl_seconds: float | None = None
    scope: str | None = None
    shared_with_agents: list[str] | None = None
    derived_from_agents: list[str] | None = None
    coordination_metadata: dict[str, Any] | None = None
    memory_type: str = "standard"
    session_id: str | None = None


class MemoryBatchIn(msgspec.Struct):
    """Memories to store, all or none."""

    items: Annotated[list[MemoryIn], Meta(min_length=1, max_length=100)]


class AddedOut(msgspec.Struct):
    """A memory that was stored."""

    id: str
    deduped_from: str | None = None
    inferred_scope: str | None = None


class AddedManyOut(msgspec.Struct):
    """Memories that were stored, in order."""

    results: list[AddedOut]
    total_time_ms: float
    embeddings_cached: int = 0


class MemoryQueryIn(msgspec.Struct):
    """A query, and who asks."""

    query: QueryText
    user_id: str | None = None
    agent_id: str | None = None
    namespace: str = DEFAULT
    top_k: Count = 10
    min_score: float = 0.0
    apply_decay: bool = False
    filter_metadata: dict[str, Any] | None = None
    memory_type: str | None = None
    candidate_pool: int = 40


class CrossAgentQueryIn(msgspec.Struct):
    """A query for the memories that other agents shared with one."""

    query: QueryText
    requesting_agent_id: Name
    target_agent_ids: list[str] | None = None
    user_id: str | None = None
    namespace: str = DEFAULT
    top_k: Count = 10
    min_score: float = 0.0
    apply_decay: bool = False


class MemoryOut(msgspec.Struct):
    """A memory as those clients read it."""

    id: str
    content: str
    namespace: str
    created_at: str
    updated_at: str
    scope: str
    user_id: str | None
    agent_id: str | None
    session_id: str | None
    metadata: dict[str, Any]
    shared_with_agents: list[str]
    derived_from_agents: list[str]
    coordination_metadata: dict[str, Any]
    score: float | None
    memory_type: str
    bullet_helpful: int
    bullet_harmful: int
    effectiveness_score: float
    content_flags: list[str]
    trust_level: str
    error_pattern: str | None
    is_deprecated: bool
    deprecation_reason: str | None
    superseded_by: str | None


class FoundOut(msgspec.Struct):
    """The memories that match a query, the best first."""

    memories: list[MemoryOut]
    query_time_ms: float


class MemoryChangeIn(msgspec.Struct):
    """The fields of a memory to change; metadata is added to what is there."""

    content: Text | None = None
    metadata: dict[str, Any] | None = None
    trust_level: str | None = None


class HybridQueryOut(msgspec.Struct):
    """The memories that match a query by words and by meaning, the best first."""

    results: list[MemoryOut]
    meta: dict[str, Any]
    query_time_ms: float


class ExportIn(msgspec.Struct):
    """Which memories to export."""

    namespace: str | None = None
    agent_id: str | None = None
    format: str = "json"
    include_embeddings: bool = False
    limit: int | None = None


class ExportOut(msgspec.Struct):
    """Memories, and counts of them."""

    memories: list[MemoryOut]
    stats: dict[str, Any]


def scope_of(scope: str | None, shared: Sequence[str] | None = None) -> str:
    """Segue's scope; by default the whole project, or the agents that the memory is shared with."""
    wanted = _SCOPES.get(scope or "", scope or "") or ("agent-shared" if shared else "project")
    if wanted not in SCOPES:
        raise UsageError(f"unknown scope: {wanted[:40]!r}", hint="agent-private, agent-shared or global")
    return wanted


def their_scope(scope: str) -> str:
    """Aegis Memory's name for a scope."""
    return "global" if scope == "project" else scope


def with_extras(metadata: dict[str, Any] | None, **own: Any) -> dict[str, Any]:
    """Metadata that includes the fields that Segue does not have."""
    kept = {name: value for name, value in own.items() if value}
    return {**(metadata or {}), **({OWN: kept} if kept else {})}


def shown(memory: Memory, score: float | None = None) -> MemoryOut:
    """A memory as those clients read it."""
    own = memory.metadata.get(OWN)
    own = own if isinstance(own, dict) else {}
    return MemoryOut(
        id=memory.id, content=memory.content, namespace=memory.namespace, created_at=memory.created,
        updated_at=memory.updated, scope=their_scope(memory.scope), user_id=memory.user or None,
        agent_id=memory.agent or None, session_id=memory.session or None,
        metadata={name: value for name, value in memory.metadata.items() if name != OWN},
        shared_with_agents=list(memory.shared_with), score=score,
        derived_from_agents=list(own.get("derived_from_agents", ())),
        coordination_metadata=dict(own.get("coordination_metadata", {})),
        memory_type=memory.type.replace("-", "_"), bullet_helpful=memory.helpful,
        bullet_harmful=memory.harmful, effectiveness_score=memory.effectiveness,
        content_flags=list(memory.flags), trust_level=_LEVELS.get(memory.trust, "internal"),
        error_pattern=memory.error_pattern or None, is_deprecated=not memory.live,
        deprecation_reason=memory.reason or None, superseded_by=memory.superseded_by or None,
    )  # fmt: skip


def reader_of(caller: Caller, id: str) -> dict[str, str]:
    """The reader for a request that names only a memory. Raises UnknownMemory if it is meant for somebody
    else."""
    audience = caller.segue.memories.store.meant([id]).get(id)
    if audience is None:
        raise UnknownMemory(f"there is no memory {id[:60]!r}", hint="search for it with a query")
    reader = {"namespace": audience.namespace, "user": audience.user, "agent": caller.access.agent}
    if audience.scope.startswith("agent-") and not caller.access.agent:
        reader["agent"] = audience.names[0]
    if audience.scope == "session":
        reader["session"] = audience.names[0]
    return reader


def _fields(caller: Caller, one: MemoryIn) -> dict[str, Any]:
    session = one.session_id or (one.metadata or {}).get("session_id")
    return {
        "content": one.content, "type": one.memory_type.replace("_", "-"), "namespace": one.namespace,
        "scope": scope_of(one.scope, one.shared_with_agents), "agent": agent_of(caller, one.agent_id),
        "user": one.user_id or "", "session": session if isinstance(session, str) else "",
        "shared_with": one.shared_with_agents or (), "ttl_seconds": one.ttl_seconds,
        "metadata": with_extras(
            one.metadata, derived_from_agents=one.derived_from_agents,
            coordination_metadata=one.coordination_metadata,
        ),
    }  # fmt: skip


def _add(caller: Caller, items: Sequence[MemoryIn]) -> list[AddedOut]:
    wanted = [_fields(caller, one) for one in items]
    kept = caller.segue.memories.remember_many(wanted)
    return [
        AddedOut(
            one.id, one.id if one.known else None,
            None if item.scope else their_scope(str(fields["scope"])),
        )
        for one, item, fields in zip(kept, items, wanted, strict=True)
    ]  # fmt: skip


@aegis_route("POST", "/memories/add", role="writer")
def add_memory(caller: Caller, body: MemoryIn) -> AddedOut:
    """Store a memory; the same text for the same readers is stored once."""
    return _add(caller, [body])[0]


@aegis_route("POST", "/memories/add_batch", role="writer")
def add_memories(caller: Caller, body: MemoryBatchIn) -> AddedManyOut:
    """Store several memories, all or none."""
    begun = time.perf_counter()
    return AddedManyOut(_add(caller, body.items), milliseconds_since(begun))


def recalled(caller: Caller, body: MemoryQueryIn) -> list[Recalled]:
    """The memories that match a query, for the agent that it names."""
    return caller.segue.memories.recall(
        body.query, top_k=body.top_k, metadata=body.filter_metadata, agent=agent_of(caller, body.agent_id),
        user=body.user_id or "", namespace=body.namespace,
        types=(body.memory_type or "").replace("_", "-") or None,
        min_score=body.min_score if body.min_score > 0 else None,
    )  # fmt: skip


@aegis_route("POST", "/memories/query", role="reader")
def query(caller: Caller, body: MemoryQueryIn) -> FoundOut:
    """The memories that match a query, the best first; ``*`` lists the newest."""
    begun = time.perf_counter()
    return FoundOut(
        [shown(one.memory, one.score) for one in recalled(caller, body)], milliseconds_since(begun)
    )


@aegis_route("POST", "/memories/query_cross_agent", role="reader")
def query_cross_agent(caller: Caller, body: CrossAgentQueryIn) -> FoundOut:
    """The memories that match a query, among those that other agents shared with the one that asks."""
    begun = time.perf_counter()
    found = caller.segue.memories.recall(
        body.query, top_k=body.top_k, agent=agent_of(caller, body.requesting_agent_id),
        agents=body.target_agent_ids or None, user=body.user_id or "", namespace=body.namespace,
        min_score=body.min_score if body.min_score > 0 else None,
    )  # fmt: skip
    return FoundOut([shown(one.memory, one.score) for one in found], milliseconds_since(begun))


@aegis_route("POST", "/memories/hybrid_query", role="reader")
def hybrid_query(caller: Caller, body: MemoryQueryIn) -> HybridQueryOut:
    """The memories that match a query by words and by meaning, like every query here."""
    begun = time.perf_counter()
    found = [shown(one.memory, one.score) for one in recalled(caller, body)]
    return HybridQueryOut(found, {"fused": len(found)}, milliseconds_since(begun))


@aegis_route("POST", "/memories/export", role="reader")
def export(caller: Caller, body: ExportIn) -> ExportOut:
    """The memories of a namespace that the caller may read."""
    agent = agent_of(caller, body.agent_id)
    found = list(live_memories(caller, body.namespace or DEFAULT, agent).values())
    found = [one for one in found if not body.agent_id or one.agent == agent]
    shown_ones = [shown(one) for one in found[: body.limit]]
    stats = {
        "total_exported": len(shown_ones), "format": "json",
        "namespaces": sorted({one.namespace for one in shown_ones}),
        "agents": sorted({one.agent_id for one in shown_ones if one.agent_id}),
    }  # fmt: skip
    return ExportOut(shown_ones, stats)


def live_memories(caller: Caller, namespace: str, agent: str) -> dict[str, Memory]:
    """The memories of a namespace that an agent may read and that are still valid, by id."""
    service = caller.segue.memories
    reader = service.reader(agent=agent, namespace=namespace)
    return {one.id: one for one in service.store.listing(reader, MemoryFilter(), now())}


def _live(service: MemoryService, id: str, reader: dict[str, str]) -> Memory:
    """A memory that was not deleted. Raises UnknownMemory."""
    memory = service.get(id, **reader)
    if memory.forgotten:
        raise UnknownMemory(f"there is no memory {id[:60]!r}", hint="it was deleted")
    return memory


@aegis_route("GET", "/memories/{id}", role="reader")
def get_memory(caller: Caller, id: str) -> MemoryOut:
    """A memory, also one that was deprecated."""
    return shown(_live(caller.segue.memories, id, reader_of(caller, id)))


@aegis_route("PATCH", "/memories/{id}", role="writer", errors=(404, 409))
def update_memory(caller: Caller, id: str, body: MemoryChangeIn) -> MemoryOut:
    """Change what a memory says; metadata is added to what is there."""
    service, reader = caller.segue.memories, reader_of(caller, id)
    operation = {"type": "update", "memory_id": id, "content": body.content, "metadata_patch": body.metadata}
    if body.trust_level is not None:
        operation["trust"] = _TRUSTS.get(body.trust_level, body.trust_level)
        if operation["trust"] not in TRUSTS:
            raise UsageError(
                f"unknown trust level: {body.trust_level[:40]!r}", hint="one of " + ", ".join(_TRUSTS)
            )
    change_memory(service, operation, reader)
    return shown(service.get(id, **reader))


@aegis_route("DELETE", "/memories/{id}", role="writer", status=204)
def delete_memory(caller: Caller, id: str) -> None:
    """Erase the content of a memory; the audit trail still says that there was one."""
    service, reader = caller.segue.memories, reader_of(caller, id)
    _live(service, id, reader)
    service.forget(id, reason="deleted", **reader)


def change_memory(service: MemoryService, operation: dict[str, Any], reader: dict[str, str]) -> str:
    """Carry out an operation on an existing memory, again if somebody else changed it in the meantime."""
    operation = {name: value for name, value in operation.items() if value}
    for attempt in range(_RETRIES):
        _live(service, str(operation["memory_id"]), reader)
        try:
            return curation.delta(service, [operation], **reader)[0]
        except StaleVersion:
            if attempt == _RETRIES - 1:
                raise
    raise AssertionError("unreachable")
