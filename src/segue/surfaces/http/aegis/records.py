"""Interactions and runs in Aegis Memory's words."""

from __future__ import annotations

import time
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....errors import SegueError
from ....services.server.aegis.records import Interaction, Interactions, TrackedRun, TrackedRuns
from ..server.route import Visit
from . import forms
from .memories import asks_of, since_ms
from .sessions import acting, aegis_route

Limit = Annotated[int, Meta(ge=1, le=1_000)]


class NewInteraction(msgspec.Struct):
    """Something that was said or done in a session."""

    session_id: forms.Name
    content: forms.Text
    agent_id: str | None = None
    tool_calls: list[Any] | None = None
    parent_event_id: str | None = None
    namespace: str = forms.DEFAULT
    extra_metadata: dict[str, Any] | None = None
    embed: bool = False


class InteractionQuery(msgspec.Struct):
    """What is looked for among interactions."""

    query: forms.Query
    namespace: str = forms.DEFAULT
    session_id: str | None = None
    agent_id: str | None = None
    top_k: forms.Count = 10
    min_score: float = 0.0


class InteractionHit(msgspec.Struct):
    """An interaction that answers a query."""

    event: Interaction
    score: float


class InteractionHits(msgspec.Struct):
    """What answers a query, the best first."""

    results: list[InteractionHit]
    query_time_ms: float


class SessionTimeline(msgspec.Struct):
    """The interactions of a session, in order."""

    session_id: str
    namespace: str
    events: list[Interaction]
    count: int


class AgentTimeline(msgspec.Struct):
    """The interactions of an agent, the newest first."""

    agent_id: str
    namespace: str
    events: list[Interaction]
    count: int


class Chain(msgspec.Struct):
    """An interaction and what led to it, from the first."""

    event: Interaction
    chain: list[Interaction]
    chain_depth: int


class NewRun(msgspec.Struct):
    """A run that begins."""

    run_id: forms.Name
    agent_id: str | None = None
    task_type: str | None = None
    namespace: str = forms.DEFAULT
    memory_ids_used: list[str] | None = None


class RunResult(msgspec.Struct):
    """What came of a run."""

    success: bool
    evaluation: dict[str, Any] | None = None
    logs: dict[str, Any] | None = None
    auto_vote: bool = True
    auto_reflect: bool = True


def _interactions(visit: Visit) -> Interactions:
    return Interactions(visit.segue.memories, visit.access.project)


# -- interactions ----------------------------------------------------------------------------------


@aegis_route("POST", "/interaction-events", need="writer", status=201)
def record_interaction(visit: Visit, data: NewInteraction) -> Interaction:
    """Keep an interaction; it can be found by its words."""
    return _interactions(visit).record(
        data.session_id, data.content, namespace=data.namespace, agent=acting(visit, data.agent_id),
        calls=data.tool_calls or (), parent=data.parent_event_id or "", more=data.extra_metadata,
    )  # fmt: skip


@aegis_route("POST", "/interaction-events/search", need="reader")
def search_interactions(visit: Visit, data: InteractionQuery) -> InteractionHits:
    """What answers a query, the best first."""
    begun = time.perf_counter()
    found = _interactions(visit).search(
        data.query, namespace=data.namespace, top_k=data.top_k, sessions=data.session_id or None,
        agents=data.agent_id or None,
    )  # fmt: skip
    hits = [InteractionHit(event, score) for event, score in found if score >= data.min_score]
    return InteractionHits(hits, since_ms(begun))


@aegis_route("GET", "/interaction-events/session/{id}", need="reader")
def session_interactions(
    visit: Visit, id: str, namespace: str = forms.DEFAULT, limit: Limit = 100, offset: int = 0
) -> SessionTimeline:
    """The interactions of a session, in order."""
    events = _interactions(visit).of_session(id, namespace)
    return SessionTimeline(id, namespace, events[max(0, offset) :][:limit], len(events))


@aegis_route("GET", "/interaction-events/agent/{id}", need="reader")
def agent_interactions(
    visit: Visit, id: str, namespace: str = forms.DEFAULT, limit: Limit = 100, offset: int = 0
) -> AgentTimeline:
    """The interactions of an agent, the newest first."""
    events = _interactions(visit).of_agent(id, namespace)
    return AgentTimeline(id, namespace, events[max(0, offset) :][:limit], len(events))


@aegis_route("GET", "/interaction-events/{id}", need="reader")
def interaction_chain(visit: Visit, id: str) -> Chain:
    """An interaction and what led to it."""
    chain = _interactions(visit).chain(id)
    return Chain(chain[-1], chain, len(chain))


# -- runs ------------------------------------------------------------------------------------------


@aegis_route("POST", "/memories/ace/run", need="writer")
def start_run(visit: Visit, data: NewRun) -> TrackedRun:
    """Begin to track a run; one that is tracked already stays as it is."""
    return TrackedRuns(visit.segue.memories).start(
        data.run_id, namespace=data.namespace, agent=acting(visit, data.agent_id), task=data.task_type or "",
        used=data.memory_ids_used or (),
    )  # fmt: skip


@aegis_route("GET", "/memories/ace/run/{id}", need="reader")
def get_run(visit: Visit, id: str) -> TrackedRun:
    """A run as it stands."""
    return TrackedRuns(visit.segue.memories).get(id)


@aegis_route("POST", "/memories/ace/run/{id}/complete", need="writer")
def complete_run(visit: Visit, id: str, data: RunResult) -> TrackedRun:
    """What came of a run; the memories that it used are voted for, and a failure leaves a reflection."""
    runs = TrackedRuns(visit.segue.memories)
    run = runs.get(id)
    if run.completed_at is not None:
        return run
    acting(visit, run.agent_id)  # its votes and its reflection are that agent's
    reflections = _reflected(visit, run, data) if data.auto_reflect and not data.success else []
    run, first = runs.complete(
        id, success=data.success, evaluation=data.evaluation or {}, logs=data.logs or {},
        reflections=reflections,
    )  # fmt: skip
    if first and data.auto_vote:
        for memory in run.memory_ids_used:
            _voted(visit, memory, run, "helpful" if data.success else "harmful")
    return run


def _reflected(visit: Visit, run: TrackedRun, data: RunResult) -> list[str]:
    told = (data.logs or {}).get("error") or (data.evaluation or {}).get("reason") or "no reason was given"
    task = run.task_type or "a task"
    kept = visit.segue.memories.reflect(
        f"Run {run.run_id} of {task} failed: {told}"[:2_000], error_pattern=str(told)[:500],
        agent=run.agent_id or "", namespace=run.namespace, scope="global", metadata={"run_id": run.run_id},
    )  # fmt: skip
    return [kept.id]


def _voted(visit: Visit, memory: str, run: TrackedRun, vote: str) -> None:
    """A memory that is gone by now, or another agent's, is not voted for."""
    try:
        visit.segue.memories.vote(
            memory, vote, voter=run.agent_id or visit.access.agent or f"run {run.run_id}",
            context=f"run {run.run_id}", **asks_of(visit, memory),
        )  # fmt: skip
    except SegueError as fault:
        if fault.retryable:
            raise


ROUTES = [
    record_interaction,
    search_interactions,
    session_interactions,
    agent_interactions,
    interaction_chain,
    start_run,
    get_run,
    complete_run,
]
