"""`/memories/decay/archive`, `/memories/ace/curate` and `…/consolidate`: memories that could be removed."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....core.memories.model import Memory
from ....services.memories import curation
from ..server.route import Caller
from .base import DEFAULT, Count, Effectiveness, aegis_route, agent_of
from .memories import live_memories


class CurationIn(msgspec.Struct):
    """Which memories to examine, and whether to change anything."""

    namespace: str = DEFAULT
    agent_id: str | None = None
    threshold: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.1
    dry_run: bool | None = None
    top_k: Count = 10
    min_effectiveness_threshold: Effectiveness = -0.3
    similarity_threshold: float = 0.92
    max_pairs: Count = 25


class ArchivedOut(msgspec.Struct):
    """How many memories were deprecated, or would be."""

    archived: int
    namespace: str
    threshold: float
    dry_run: bool


class CuratedOut(msgspec.Struct):
    """Memories that help most, that harm, and pairs that say nearly the same."""

    promoted: list[dict[str, Any]]
    flagged: list[dict[str, Any]]
    consolidation_candidates: list[dict[str, Any]]


class ConsolidatedOut(msgspec.Struct):
    """Pairs of memories that say nearly the same, and what was done about them."""

    dry_run: bool
    pairs_found: int
    consolidated: int
    results: list[dict[str, Any]]


@aegis_route("POST", "/memories/decay/archive", role="writer")
def archive(caller: Caller, body: CurationIn) -> ArchivedOut:
    """Deprecate memories that are worth little, by age, votes and use."""
    dry = bool(body.dry_run)
    gone = curation.decay(
        caller.segue.memories, threshold=body.threshold, dry_run=dry, namespace=body.namespace,
        agent=agent_of(caller, body.agent_id),
    )  # fmt: skip
    return ArchivedOut(len(gone), body.namespace, body.threshold, dry)


@aegis_route("POST", "/memories/ace/curate", role="reader")
def curate(caller: Caller, body: CurationIn) -> CuratedOut:
    """Memories that help most, that harm, and pairs that say nearly the same; nothing is changed."""
    agent = agent_of(caller, body.agent_id)
    junk = curation.audit(caller.segue.memories, agent=agent, namespace=body.namespace)
    live = live_memories(caller, body.namespace, agent)
    voted = sorted(
        (one for one in live.values() if one.helpful + one.harmful), key=lambda m: -m.effectiveness
    )
    limit = body.min_effectiveness_threshold
    best = [one for one in voted if one.effectiveness > 0][: body.top_k]
    worst = [one for one in reversed(voted) if one.effectiveness < limit][: body.top_k]
    pairs = [
        {
            "memory_id_a": pair.one, "memory_id_b": pair.other, "content_a": live[pair.one].content,
            "content_b": live[pair.other].content, "reason": "they say nearly the same",
        }
        for pair in junk.duplicates
        if pair.one in live and pair.other in live
    ]  # fmt: skip
    return CuratedOut([_entry(one) for one in best], [_entry(one) for one in worst], pairs[: body.max_pairs])


def _entry(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id, "content": memory.content, "memory_type": memory.type.replace("-", "_"),
        "effectiveness_score": memory.effectiveness, "bullet_helpful": memory.helpful,
        "bullet_harmful": memory.harmful, "total_votes": memory.helpful + memory.harmful,
    }  # fmt: skip


@aegis_route("POST", "/memories/ace/consolidate", role="writer")
def consolidate(caller: Caller, body: CurationIn) -> ConsolidatedOut:
    """Deprecate the older of two memories that say nearly the same; a dry run unless ``dry_run`` is false."""
    dry = body.dry_run is not False
    pairs = curation.consolidate(
        caller.segue.memories, dry_run=dry, agent=agent_of(caller, body.agent_id), namespace=body.namespace
    )
    results = [{"memory_id_a": one.one, "memory_id_b": one.other} for one in pairs[: body.max_pairs]]
    return ConsolidatedOut(dry, len(pairs), 0 if dry else len(pairs), results)
