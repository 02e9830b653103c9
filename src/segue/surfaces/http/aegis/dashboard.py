"""`/memories/ace/dashboard`: statistics of a namespace, and its sessions, in Aegis Memory's terms."""

from __future__ import annotations

from typing import Any

import msgspec

from ....effects.clock import moment
from ....services.server.aegis import progress
from ....services.server.aegis.progress import SessionProgress
from ..server.route import Caller
from .base import DEFAULT, Count, aegis_route, agent_of, namespace_label
from .features import list_features
from .memories import live_memories

_AGENTS_MAX = 10


class StatsOut(msgspec.Struct):
    """Statistics of a namespace."""

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


class SessionListOut(msgspec.Struct):
    """Sessions, the most recently active first."""

    sessions: list[SessionProgress]


@aegis_route("GET", "/memories/ace/dashboard/stats", role="reader")
def stats(caller: Caller, namespace: str = DEFAULT, agent_id: str = "") -> StatsOut:
    """Statistics of what the caller may read in a namespace."""
    live = list(live_memories(caller, namespace, agent_of(caller, agent_id)).values())
    by_type: dict[str, int] = {}
    by_agent: dict[str, int] = {}
    for one in live:
        kind = one.type.replace("-", "_")
        by_type[kind] = by_type.get(kind, 0) + 1
        by_agent[one.agent] = by_agent.get(one.agent, 0) + 1
    features = list_features(caller, namespace)
    open_ones = [
        one for one in caller.index.sessions(caller.segue.workspace).values() if one.status == "active"
    ]
    top = sorted(by_agent.items(), key=lambda pair: (-pair[1], pair[0]))[:_AGENTS_MAX]
    return StatsOut(
        namespace, len(live), by_type.get("reflection", 0), by_type.get("strategy", 0), features.total,
        sum(one.updated >= moment(-86_400) for one in live), len(open_ones), by_type,
        {name: getattr(features, name) for name in ("total", "passing", "failing", "in_progress")},
        {"helpful": sum(one.helpful for one in live), "harmful": sum(one.harmful for one in live)},
        [{"agent_id": name, "memory_count": count} for name, count in top if name],
    )  # fmt: skip


@aegis_route("GET", "/memories/ace/dashboard/sessions", role="reader")
def sessions(caller: Caller, namespace: str = DEFAULT, limit: Count = 20) -> SessionListOut:
    """The sessions of a namespace, the most recently active first."""
    entries = caller.index.sessions(caller.segue.workspace)
    newest = sorted(
        (
            (entry.updated, name)
            for name, entry in entries.items()
            if entry.label.namespace == namespace_label(namespace)
        ),
        reverse=True,
    )[:limit]
    return SessionListOut([progress.get(caller.segue.workspace, name) for _, name in newest])
