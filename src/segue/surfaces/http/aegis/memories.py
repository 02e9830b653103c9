"""Memories in Aegis Memory's words: add, query, change, vote, reflect; strategies for a task.

A key acts as any agent of its project, or as the one that it is bound to, and what that agent may not read is
not there. Where a client names only a memory's id, it asks as whoever the memory is meant for. ``global`` is
for all of a project here, as there; what is deleted is erased, what is deprecated says why.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from ....core.memories.model import SCOPES, TRUSTS, Memory
from ....errors import SegueError, StaleVersion, UnknownMemory, UsageError
from ....services.memories import curation
from ....services.memories.service import MemoryService, Recalled
from ..server.route import Visit
from . import forms
from .sessions import acting, aegis_route

_RETRIES = 16
OWN = "aegis"
"""The part of a memory's metadata that holds what Segue has no field for."""
_SCOPES = {"private": "agent-private", "shared": "agent-shared"}
_LEVELS = {"user": "privileged", "agent": "internal", "transcript": "untrusted", "imported": "untrusted"}
_TRUSTS = {"untrusted": "imported", "internal": "agent", "privileged": "user", "system": "user"}


def since_ms(begun: float) -> float:
    """How many milliseconds went by."""
    return round((time.perf_counter() - begun) * 1000, 3)


# -- what is kept, and how it is shown -------------------------------------------------------------


def scope_of(scope: str | None, shared: Sequence[str] | None = None) -> str:
    """Segue's scope; what names none is for all of the project, unless it is shared with some."""
    wanted = _SCOPES.get(scope or "", scope or "") or ("agent-shared" if shared else "project")
    if wanted not in SCOPES:
        raise UsageError(f"unknown scope: {wanted[:40]!r}", hint="agent-private, agent-shared or global")
    return wanted


def told_scope(scope: str) -> str:
    """Their scope."""
    return "global" if scope == "project" else scope


def with_own(metadata: dict[str, Any] | None, **own: Any) -> dict[str, Any]:
    """Metadata with what Segue has no field for."""
    kept = {name: value for name, value in own.items() if value}
    return {**(metadata or {}), **({OWN: kept} if kept else {})}


def shown(memory: Memory, score: float | None = None) -> forms.MemoryOut:
    """A memory as those clients read it."""
    own = memory.metadata.get(OWN)
    own = own if isinstance(own, dict) else {}
    return forms.MemoryOut(
        id=memory.id, content=memory.content, namespace=memory.namespace, created_at=memory.created,
        updated_at=memory.updated, scope=told_scope(memory.scope), user_id=memory.user or None,
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


def asks_of(visit: Visit, id: str) -> dict[str, str]:
    """As whom a client asks that names only a memory; UnknownMemory if it is meant for somebody else."""
    audience = visit.segue.memories.store.meant([id]).get(id)
    if audience is None:
        raise UnknownMemory(f"there is no memory {id[:60]!r}", hint="query for it")
    asks = {"namespace": audience.namespace, "user": audience.user, "agent": visit.access.agent}
    if audience.scope.startswith("agent-") and not visit.access.agent:
        asks["agent"] = audience.names[0]
    if audience.scope == "session":
        asks["session"] = audience.names[0]
    return asks


# -- keeping ---------------------------------------------------------------------------------------


def _wish(visit: Visit, one: forms.NewMemory) -> dict[str, Any]:
    session = one.session_id or (one.metadata or {}).get("session_id")
    return {
        "content": one.content, "type": one.memory_type.replace("_", "-"), "namespace": one.namespace,
        "scope": scope_of(one.scope, one.shared_with_agents), "agent": acting(visit, one.agent_id),
        "user": one.user_id or "", "session": session if isinstance(session, str) else "",
        "shared_with": one.shared_with_agents or (), "ttl_seconds": one.ttl_seconds,
        "metadata": with_own(
            one.metadata, derived_from_agents=one.derived_from_agents,
            coordination_metadata=one.coordination_metadata,
        ),
    }  # fmt: skip


def _add(visit: Visit, items: Sequence[forms.NewMemory]) -> list[forms.Added]:
    wishes = [_wish(visit, one) for one in items]
    kept = visit.segue.memories.remember_many(wishes)
    return [
        forms.Added(
            one.id, one.id if one.known else None,
            None if item.scope else told_scope(str(wish["scope"])),
        )
        for one, item, wish in zip(kept, items, wishes, strict=True)
    ]  # fmt: skip


@aegis_route("POST", "/memories/add", need="writer")
def add_memory(visit: Visit, data: forms.NewMemory) -> forms.Added:
    """Keep a memory; the same text for the same readers is kept once."""
    return _add(visit, [data])[0]


@aegis_route("POST", "/memories/add_batch", need="writer")
def add_memories(visit: Visit, data: forms.NewMemories) -> forms.AddedMany:
    """Keep memories, all or none."""
    begun = time.perf_counter()
    return forms.AddedMany(_add(visit, data.items), since_ms(begun))


@aegis_route("POST", "/memories/ace/reflection", need="writer")
def add_reflection(visit: Visit, data: forms.NewReflection) -> forms.Reflected:
    """Keep what was learnt from how something went."""
    scope = scope_of(data.scope or "global")
    kept = visit.segue.memories.reflect(
        data.content, error_pattern=data.error_pattern or "", correct_approach=data.correct_approach or "",
        agent=acting(visit, data.agent_id), user=data.user_id or "", namespace=data.namespace, scope=scope,
        metadata=with_own(
            data.metadata, source_trajectory_id=data.source_trajectory_id,
            applicable_contexts=data.applicable_contexts,
        ),
    )  # fmt: skip
    return forms.Reflected(kept.id, told_scope(scope))


# -- finding ---------------------------------------------------------------------------------------


def found(visit: Visit, data: forms.MemoryQuery) -> list[Recalled]:
    """What answers a query, for the agent that it names."""
    return visit.segue.memories.recall(
        data.query, top_k=data.top_k, metadata=data.filter_metadata, agent=acting(visit, data.agent_id),
        user=data.user_id or "", namespace=data.namespace,
        types=(data.memory_type or "").replace("_", "-") or None,
        min_score=data.min_score if data.min_score > 0 else None,
    )  # fmt: skip


@aegis_route("POST", "/memories/query", need="reader")
def query(visit: Visit, data: forms.MemoryQuery) -> forms.Found:
    """What answers a query, the best first; ``*`` lists the newest."""
    begun = time.perf_counter()
    return forms.Found([shown(one.memory, one.score) for one in found(visit, data)], since_ms(begun))


@aegis_route("POST", "/memories/query_cross_agent", need="reader")
def query_cross_agent(visit: Visit, data: forms.CrossQuery) -> forms.Found:
    """What answers a query among what agents left for the one that asks."""
    begun = time.perf_counter()
    recalled = visit.segue.memories.recall(
        data.query, top_k=data.top_k, agent=acting(visit, data.requesting_agent_id),
        agents=data.target_agent_ids or None, user=data.user_id or "", namespace=data.namespace,
        min_score=data.min_score if data.min_score > 0 else None,
    )  # fmt: skip
    return forms.Found([shown(one.memory, one.score) for one in recalled], since_ms(begun))


def _strategies(visit: Visit, data: forms.PlaybookQuery, query: str) -> forms.Strategies:
    begun = time.perf_counter()
    types = [one.replace("_", "-") for one in data.include_types or ()]
    recalled = visit.segue.memories.playbook(
        query, top_k=data.top_k, types=types or None, min_effectiveness=data.min_effectiveness,
        agent=acting(visit, data.agent_id), namespace=data.namespace,
    )  # fmt: skip
    entries = [
        forms.Strategy(
            one.id, one.content, one.memory.type.replace("-", "_"), one.memory.effectiveness,
            one.memory.helpful, one.memory.harmful, one.memory.created, one.memory.error_pattern or None,
        )
        for one in recalled
    ]  # fmt: skip
    return forms.Strategies(entries, since_ms(begun))


@aegis_route("POST", "/memories/ace/playbook", need="reader")
def playbook(visit: Visit, data: forms.PlaybookQuery) -> forms.Strategies:
    """Strategies and reflections that bear on a task, those that worked first."""
    return _strategies(visit, data, data.query)


@aegis_route("POST", "/memories/ace/playbook/agent", need="reader")
def playbook_of_agent(visit: Visit, data: forms.PlaybookQuery) -> forms.Strategies:
    """The same for an agent and a kind of task."""
    return _strategies(visit, data, f"{data.task_type} {data.query}" if data.task_type else data.query)


# -- one memory ------------------------------------------------------------------------------------


def _live(service: MemoryService, id: str, asks: dict[str, str]) -> Memory:
    memory = service.get(id, **asks)
    if memory.forgotten:
        raise UnknownMemory(f"there is no memory {id[:60]!r}", hint="it was deleted")
    return memory


@aegis_route("GET", "/memories/{id}", need="reader")
def get_memory(visit: Visit, id: str) -> forms.MemoryOut:
    """A memory, also one that was deprecated."""
    return shown(_live(visit.segue.memories, id, asks_of(visit, id)))


@aegis_route("PATCH", "/memories/{id}", need="writer", errors=(404, 409))
def update_memory(visit: Visit, id: str, data: forms.MemoryChangeIn) -> forms.MemoryOut:
    """Change what a memory says; metadata is added to what is there."""
    service, asks = visit.segue.memories, asks_of(visit, id)
    wish = {"type": "update", "memory_id": id, "content": data.content, "metadata_patch": data.metadata}
    if data.trust_level is not None:
        wish["trust"] = _TRUSTS.get(data.trust_level, data.trust_level)
        if wish["trust"] not in TRUSTS:
            raise UsageError(
                f"unknown trust level: {data.trust_level[:40]!r}", hint="one of " + ", ".join(_TRUSTS)
            )
    _changed(service, wish, asks)
    return shown(service.get(id, **asks))


@aegis_route("DELETE", "/memories/{id}", need="writer", status=204)
def delete_memory(visit: Visit, id: str) -> None:
    """Erase what a memory says; that there was one stays in the trail."""
    service, asks = visit.segue.memories, asks_of(visit, id)
    _live(service, id, asks)
    service.forget(id, reason="deleted", **asks)


@aegis_route("POST", "/memories/ace/vote/{id}", need="writer")
def vote(visit: Visit, id: str, data: forms.Ballot) -> forms.Voted:
    """Say whether a memory was of help; one vote a voter, the last one counts."""
    voter = acting(visit, data.voter_agent_id)
    context = " ".join(filter(None, (data.context, data.task_id and f"[task {data.task_id}]")))
    after = visit.segue.memories.vote(id, data.vote, voter=voter, context=context, **asks_of(visit, id))
    return forms.Voted(after.id, after.helpful, after.harmful, after.effectiveness)


# -- operations ------------------------------------------------------------------------------------


@aegis_route("POST", "/memories/ace/delta", need="writer")
def delta(visit: Visit, data: forms.Delta) -> forms.DeltaOut:
    """Add, update and deprecate; each operation for itself, patches and reasons are kept."""
    begun = time.perf_counter()
    return forms.DeltaOut([_operated(visit, one) for one in data.operations], since_ms(begun))


def _operated(visit: Visit, one: forms.Operation) -> forms.Operated:
    try:
        return forms.Operated(one.type, True, _operate(visit, one))
    except SegueError as fault:
        if fault.retryable:
            raise
        return forms.Operated(one.type, False, one.memory_id, fault.message)


def _operate(visit: Visit, one: forms.Operation) -> str:
    service, agent = visit.segue.memories, acting(visit, one.agent_id)
    if one.type == "add":
        kept = service.remember(
            one.content or "", type=(one.memory_type or "standard").replace("_", "-"),
            scope=scope_of(one.scope), agent=agent, user=one.user_id or "",
            namespace=one.namespace or forms.DEFAULT, metadata=one.metadata, ttl_seconds=one.ttl_seconds,
        )  # fmt: skip
        return kept.id
    id = one.memory_id or ""
    asks = asks_of(visit, id)
    wish = {
        "type": one.type, "memory_id": id, "content": one.content, "metadata_patch": one.metadata_patch,
        "superseded_by": one.superseded_by, "deprecation_reason": one.deprecation_reason,
    }  # fmt: skip
    if one.type == "update" and one.memory_type:
        wish["memory_type"] = one.memory_type.replace("_", "-")
    return _changed(service, wish, asks)


def _changed(service: MemoryService, wish: dict[str, Any], asks: dict[str, str]) -> str:
    """Carry out an operation on a memory that is there, behind whatever somebody else did meanwhile."""
    operation = {name: value for name, value in wish.items() if value}
    for attempt in range(_RETRIES):
        _live(service, str(wish["memory_id"]), asks)
        try:
            return curation.delta(service, [operation], **asks)[0]
        except StaleVersion:
            if attempt == _RETRIES - 1:
                raise
    raise AssertionError("unreachable")


ROUTES = [
    add_memory,
    add_memories,
    add_reflection,
    query,
    query_cross_agent,
    playbook,
    playbook_of_agent,
    get_memory,
    update_memory,
    delete_memory,
    vote,
    delta,
]
