"""`/interaction-events`: what was said and done in sessions, in Aegis Memory's terms."""

from __future__ import annotations

import time
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....services.server.aegis.records import Interaction, Interactions
from ..server.route import Caller
from .base import DEFAULT, Count, Name, QueryText, Text, aegis_route, agent_of, milliseconds_since

Limit = Annotated[int, Meta(ge=1, le=1_000)]


class InteractionIn(msgspec.Struct):
    """Something that was said or done in a session."""

    session_id: Name
    content: Text
    agent_id: str | None = None
    tool_calls: list[Any] | None = None
    parent_event_id: str | None = None
    namespace: str = DEFAULT
    extra_metadata: dict[str, Any] | None = None
    embed: bool = False


class InteractionQueryIn(msgspec.Struct):
    """A query for interactions."""

    query: QueryText
    namespace: str = DEFAULT
    session_id: str | None = None
    agent_id: str | None = None
    top_k: Count = 10
    min_score: float = 0.0


class InteractionHitOut(msgspec.Struct):
    """An interaction that matches a query."""

    event: Interaction
    score: float


class InteractionHitsOut(msgspec.Struct):
    """Interactions that match a query, the best first."""

    results: list[InteractionHitOut]
    query_time_ms: float


class SessionTimelineOut(msgspec.Struct):
    """The interactions of a session, in order."""

    session_id: str
    namespace: str
    events: list[Interaction]
    count: int


class AgentTimelineOut(msgspec.Struct):
    """The interactions of an agent, the newest first."""

    agent_id: str
    namespace: str
    events: list[Interaction]
    count: int


class InteractionChainOut(msgspec.Struct):
    """An interaction and what led to it, the earliest first."""

    event: Interaction
    chain: list[Interaction]
    chain_depth: int


def _interactions(caller: Caller) -> Interactions:
    return Interactions(caller.segue.memories, caller.access.project)


@aegis_route("POST", "/interaction-events", role="writer", status=201)
def record_interaction(caller: Caller, body: InteractionIn) -> Interaction:
    """Store an interaction, so that searches find it."""
    return _interactions(caller).record(
        body.session_id, body.content, namespace=body.namespace, agent=agent_of(caller, body.agent_id),
        calls=body.tool_calls or (), parent=body.parent_event_id or "", more=body.extra_metadata,
    )  # fmt: skip


@aegis_route("POST", "/interaction-events/search", role="reader")
def search_interactions(caller: Caller, body: InteractionQueryIn) -> InteractionHitsOut:
    """The interactions that match a query, the best first."""
    begun = time.perf_counter()
    found = _interactions(caller).search(
        body.query, namespace=body.namespace, top_k=body.top_k, sessions=body.session_id or None,
        agents=body.agent_id or None,
    )  # fmt: skip
    hits = [InteractionHitOut(event, score) for event, score in found if score >= body.min_score]
    return InteractionHitsOut(hits, milliseconds_since(begun))


@aegis_route("GET", "/interaction-events/session/{id}", role="reader")
def session_interactions(
    caller: Caller, id: str, namespace: str = DEFAULT, limit: Limit = 100, offset: int = 0
) -> SessionTimelineOut:
    """The interactions of a session, in order."""
    events = _interactions(caller).of_session(id, namespace)
    return SessionTimelineOut(id, namespace, events[max(0, offset) :][:limit], len(events))


@aegis_route("GET", "/interaction-events/agent/{id}", role="reader")
def agent_interactions(
    caller: Caller, id: str, namespace: str = DEFAULT, limit: Limit = 100, offset: int = 0
) -> AgentTimelineOut:
    """The interactions of an agent, the newest first."""
    events = _interactions(caller).of_agent(id, namespace)
    return AgentTimelineOut(id, namespace, events[max(0, offset) :][:limit], len(events))


@aegis_route("GET", "/interaction-events/{id}", role="reader")
def interaction_chain(caller: Caller, id: str) -> InteractionChainOut:
    """An interaction and what led to it."""
    chain = _interactions(caller).chain(id)
    return InteractionChainOut(chain[-1], chain, len(chain))
