"""What else Aegis Memory's clients ask for: handoffs with something in them, context, upkeep, numbers."""

from __future__ import annotations

import time
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....core.base.token_estimate import estimate
from ....core.memories.model import Memory, MemoryFilter
from ....effects.clock import moment, now
from ....services.memories import curation
from ....services.memories.service import EVERYTHING
from ....services.server.aegis import progress
from ....services.server.aegis.progress import SessionProgress
from ..server.route import Visit
from . import forms
from .memories import found, shown, since_ms
from .sessions import acting, aegis_route, list_features_of, own, sessions_of

_SESSIONS_MAX = 5
_TOLD_MAX = 10


class Handoff(msgspec.Struct):
    """From whom to whom."""

    source_agent_id: forms.Name
    target_agent_id: forms.Name
    namespace: str = forms.DEFAULT
    user_id: str | None = None
    task_context: str | None = None
    max_memories: forms.Count = 20


class Baton(msgspec.Struct):
    """What the one leaves the other: only what that one may read."""

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


class ContextQuery(msgspec.Struct):
    """For whom, for what, and how much."""

    agent_id: forms.Name
    query: str | None = None
    task_type: str | None = None
    namespace: str = forms.DEFAULT
    token_budget: Annotated[int, Meta(ge=100, le=1_000_000)] = 8_000
    prompt_name: str | None = None
    include_skills: bool = True
    include_subagents: bool = True
    memory_top_k: forms.Count = 10
    skill_top_k: int = 3
    apply_decay: bool = True


class ContextItem(msgspec.Struct):
    """A piece of context, whole."""

    kind: str
    id: str
    name: str
    content: str
    score: float
    tokens_estimated: int
    metadata: dict[str, Any]
    integrity_verified: bool = True


class ContextOut(msgspec.Struct):
    """What fits, the most important first."""

    agent_id: str
    task_type: str | None
    query: str | None
    tokens_budget: int
    tokens_used: int
    items: list[ContextItem]
    left_out: int
    integrity_all_verified: bool = True


class Upkeep(msgspec.Struct):
    """Which memories are looked at, and whether anything is changed."""

    namespace: str = forms.DEFAULT
    agent_id: str | None = None
    threshold: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.1
    dry_run: bool | None = None
    top_k: forms.Count = 10
    min_effectiveness_threshold: forms.Share = -0.3
    similarity_threshold: float = 0.92
    max_pairs: forms.Count = 25


class ExpiredCount(msgspec.Struct):
    """How many no longer count, or would not."""

    archived: int
    namespace: str
    threshold: float
    dry_run: bool


class Curated(msgspec.Struct):
    """What stands out."""

    promoted: list[dict[str, Any]]
    flagged: list[dict[str, Any]]
    consolidation_candidates: list[dict[str, Any]]


class Consolidated(msgspec.Struct):
    """What says nearly the same."""

    dry_run: bool
    pairs_found: int
    consolidated: int
    results: list[dict[str, Any]]


class ExportWish(msgspec.Struct):
    """Which memories."""

    namespace: str | None = None
    agent_id: str | None = None
    format: str = "json"
    include_embeddings: bool = False
    limit: int | None = None


class Exported(msgspec.Struct):
    """Memories, and how many of what."""

    memories: list[forms.MemoryOut]
    stats: dict[str, Any]


class HybridOut(msgspec.Struct):
    """What answers a query by words and by meaning, the best first."""

    results: list[forms.MemoryOut]
    meta: dict[str, Any]
    query_time_ms: float


class Stats(msgspec.Struct):
    """A namespace in numbers."""

    namespace: str
    total_memories: int
    total_reflections: int
    total_strategies: int
    total_features: int
    recent_activity_count: int
    active_sessions: int
    by_type: dict[str, int]
    features: dict[str, int]
    votes: dict[str, int]
    top_agents: list[dict[str, Any]]


class SessionsOut(msgspec.Struct):
    """Sessions, the one that was worked on last first."""

    sessions: list[SessionProgress]


# -- handoff and context ---------------------------------------------------------------------------


@aegis_route("POST", "/memories/handoff", need="reader")
def handoff(visit: Visit, data: Handoff) -> Baton:
    """What an agent leaves another: its open sessions, its decisions, and what the other may read."""
    source = acting(visit, data.source_agent_id)
    segue, target = visit.segue, data.target_agent_id
    recalled = segue.memories.recall(
        data.task_context or EVERYTHING, top_k=data.max_memories, agent=target, agents=source,
        user=data.user_id or "", namespace=data.namespace,
    )  # fmt: skip
    facts = [one for one in recalled if not one.quoted]
    sessions = sessions_of(segue, visit, source)[:_SESSIONS_MAX]
    states = [segue.workspace.repository.state(id) for id in sessions]
    shown = [progress.shown(state, progress.label_of(segue.workspace, state)) for state in states]
    decisions = [
        f"{one.text} ({one.why})" if one.why else one.text for state in states for one in state.decisions
    ]
    decisions += [one.content for one in facts if one.memory.type == "decision"]
    told = [
        f"{one.summary or one.session_id}: {one.completed_count} of {one.total_items} done" for one in shown
    ]
    return Baton(
        source, target, data.namespace, data.user_id, data.task_context, "; ".join(told) or None,
        [item for one in shown for item in [one.in_progress_item, *one.next_items] if item],
        [f"{stuck.item}: {stuck.reason}" for one in shown for stuck in one.blocked_items],
        decisions[-_TOLD_MAX:], [one.content for one in facts], [one.id for one in facts], sessions,
    )  # fmt: skip


@aegis_route("POST", "/context/load", need="reader")
def load_context(visit: Visit, data: ContextQuery) -> ContextOut:
    """Sessions and memories of an agent within a budget: whole pieces, and nothing that gives orders."""
    agent = acting(visit, data.agent_id)
    items, used, left = [], 0, 0
    for item in _context(visit, agent, data):
        if used + item.tokens_estimated > data.token_budget:
            left += 1
            continue
        used += item.tokens_estimated
        items.append(item)
    return ContextOut(agent, data.task_type, data.query, data.token_budget, used, items, left)


def _context(visit: Visit, agent: str, data: ContextQuery) -> list[ContextItem]:
    segue, items = visit.segue, []
    for id in sessions_of(segue, visit, agent)[:_SESSIONS_MAX]:
        one = progress.get(segue.workspace, id)
        text = "\n".join(
            [
                f"{one.summary or id} ({one.status}): {one.completed_count} of {one.total_items} done",
                *([f"under way: {one.in_progress_item}"] if one.in_progress_item else ()),
                *(f"next: {item}" for item in one.next_items),
                *(f"blocked: {stuck.item} ({stuck.reason})" for stuck in one.blocked_items),
            ]
        )
        items.append(ContextItem("session", id, id, text, 1.0, estimate(text), {"status": one.status}))
    words = " ".join(filter(None, (data.task_type, data.query)))
    query = forms.MemoryQuery(
        words or EVERYTHING, agent_id=agent, namespace=data.namespace, top_k=data.memory_top_k
    )
    for recalled in found(visit, query):
        if not recalled.quoted:
            memory = recalled.memory
            about = {"memory_type": memory.type, "trust_level": memory.trust}
            text = memory.content
            items.append(
                ContextItem("memory", memory.id, memory.type, text, recalled.score, estimate(text), about)
            )
    return items


# -- upkeep ----------------------------------------------------------------------------------------


@aegis_route("POST", "/memories/decay/archive", need="writer")
def archive(visit: Visit, data: Upkeep) -> ExpiredCount:
    """Deprecate what time, votes and disuse have left little worth of."""
    dry = bool(data.dry_run)
    gone = curation.decay(
        visit.segue.memories, threshold=data.threshold, dry_run=dry, namespace=data.namespace,
        agent=acting(visit, data.agent_id),
    )  # fmt: skip
    return ExpiredCount(len(gone), data.namespace, data.threshold, dry)


@aegis_route("POST", "/memories/ace/curate", need="reader")
def curate(visit: Visit, data: Upkeep) -> Curated:
    """What is worth most, what harms, and what says nearly the same; nothing is changed."""
    agent = acting(visit, data.agent_id)
    junk = curation.audit(visit.segue.memories, agent=agent, namespace=data.namespace)
    live = _live(visit, data.namespace, agent)
    voted = sorted(
        (one for one in live.values() if one.helpful + one.harmful), key=lambda m: -m.effectiveness
    )
    limit = data.min_effectiveness_threshold
    best = [one for one in voted if one.effectiveness > 0][: data.top_k]
    worst = [one for one in reversed(voted) if one.effectiveness < limit][: data.top_k]
    pairs = [
        {
            "memory_id_a": pair.one, "memory_id_b": pair.other, "content_a": live[pair.one].content,
            "content_b": live[pair.other].content, "reason": "they say nearly the same",
        }
        for pair in junk.duplicates
        if pair.one in live and pair.other in live
    ]  # fmt: skip
    return Curated([_entry(one) for one in best], [_entry(one) for one in worst], pairs[: data.max_pairs])


def _entry(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id, "content": memory.content, "memory_type": memory.type.replace("-", "_"),
        "effectiveness_score": memory.effectiveness, "bullet_helpful": memory.helpful,
        "bullet_harmful": memory.harmful, "total_votes": memory.helpful + memory.harmful,
    }  # fmt: skip


@aegis_route("POST", "/memories/ace/consolidate", need="writer")
def consolidate(visit: Visit, data: Upkeep) -> Consolidated:
    """Of two that say nearly the same, the older no longer counts; a dry run unless it is said."""
    dry = data.dry_run is not False
    pairs = curation.consolidate(
        visit.segue.memories, dry_run=dry, agent=acting(visit, data.agent_id), namespace=data.namespace
    )
    results = [{"memory_id_a": one.one, "memory_id_b": one.other} for one in pairs[: data.max_pairs]]
    return Consolidated(dry, len(pairs), 0 if dry else len(pairs), results)


@aegis_route("POST", "/memories/export", need="reader")
def export(visit: Visit, data: ExportWish) -> Exported:
    """The memories that the key may read, of one namespace."""
    agent = acting(visit, data.agent_id)
    found = list(_live(visit, data.namespace or forms.DEFAULT, agent).values())
    found = [one for one in found if not data.agent_id or one.agent == agent]
    shown_ones = [shown(one) for one in found[: data.limit]]
    stats = {
        "total_exported": len(shown_ones), "format": "json",
        "namespaces": sorted({one.namespace for one in shown_ones}),
        "agents": sorted({one.agent_id for one in shown_ones if one.agent_id}),
    }  # fmt: skip
    return Exported(shown_ones, stats)


@aegis_route("POST", "/memories/hybrid_query", need="reader")
def hybrid_query(visit: Visit, data: forms.MemoryQuery) -> HybridOut:
    """What answers a query by words and by meaning: as every query here."""
    begun = time.perf_counter()
    recalled = [shown(one.memory, one.score) for one in found(visit, data)]
    return HybridOut(recalled, {"fused": len(recalled)}, since_ms(begun))


def _live(visit: Visit, namespace: str, agent: str) -> dict[str, Memory]:
    service = visit.segue.memories
    reader = service.reader(agent=agent, namespace=namespace)
    return {one.id: one for one in service.store.listing(reader, MemoryFilter(), now())}


# -- numbers ---------------------------------------------------------------------------------------


@aegis_route("GET", "/memories/ace/dashboard/stats", need="reader")
def stats(visit: Visit, namespace: str = forms.DEFAULT, agent_id: str = "") -> Stats:
    """A namespace in numbers, as the key sees it."""
    live = list(_live(visit, namespace, acting(visit, agent_id)).values())
    by_type: dict[str, int] = {}
    by_agent: dict[str, int] = {}
    for one in live:
        kind = one.type.replace("-", "_")
        by_type[kind] = by_type.get(kind, 0) + 1
        by_agent[one.agent] = by_agent.get(one.agent, 0) + 1
    features = list_features_of(visit, namespace)
    open_ones = [
        one for one in visit.index.sessions(visit.segue.workspace).values() if one.status == "active"
    ]
    top = sorted(by_agent.items(), key=lambda pair: (-pair[1], pair[0]))[:_TOLD_MAX]
    return Stats(
        namespace, len(live), by_type.get("reflection", 0), by_type.get("strategy", 0), features.total,
        sum(one.updated >= moment(-86_400) for one in live), len(open_ones), by_type,
        {name: getattr(features, name) for name in ("total", "passing", "failing", "in_progress")},
        {"helpful": sum(one.helpful for one in live), "harmful": sum(one.harmful for one in live)},
        [{"agent_id": name, "memory_count": count} for name, count in top if name],
    )  # fmt: skip


@aegis_route("GET", "/memories/ace/dashboard/sessions", need="reader")
def sessions(visit: Visit, namespace: str = forms.DEFAULT, limit: forms.Count = 20) -> SessionsOut:
    """Sessions of a namespace, the one that was worked on last first."""
    entries = visit.index.sessions(visit.segue.workspace)
    newest = sorted(
        ((entry.updated, name) for name, entry in entries.items() if entry.label.namespace == own(namespace)),
        reverse=True,
    )[:limit]
    return SessionsOut([progress.get(visit.segue.workspace, name) for _, name in newest])


ROUTES = [
    handoff,
    load_context,
    archive,
    curate,
    consolidate,
    export,
    hybrid_query,
    stats,
    sessions,
]
