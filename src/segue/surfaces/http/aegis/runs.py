"""`/memories/ace/run`: tracked runs, what they used and how they ended, in Aegis Memory's terms."""

from __future__ import annotations

from typing import Any

import msgspec

from ....errors import SegueError
from ....services.server.aegis.records import TrackedRun, TrackedRuns
from ..server.route import Caller
from .base import DEFAULT, Name, aegis_route, agent_of
from .memories import reader_of


class RunIn(msgspec.Struct):
    """A run to track."""

    run_id: Name
    agent_id: str | None = None
    task_type: str | None = None
    namespace: str = DEFAULT
    memory_ids_used: list[str] | None = None


class RunResultIn(msgspec.Struct):
    """The outcome of a run."""

    success: bool
    evaluation: dict[str, Any] | None = None
    logs: dict[str, Any] | None = None
    auto_vote: bool = True
    auto_reflect: bool = True


@aegis_route("POST", "/memories/ace/run", role="writer")
def start_run(caller: Caller, body: RunIn) -> TrackedRun:
    """Start tracking a run; one that is tracked already stays as it is."""
    return TrackedRuns(caller.segue.memories).start(
        body.run_id, namespace=body.namespace, agent=agent_of(caller, body.agent_id),
        task=body.task_type or "", used=body.memory_ids_used or (),
    )  # fmt: skip


@aegis_route("GET", "/memories/ace/run/{id}", role="reader")
def get_run(caller: Caller, id: str) -> TrackedRun:
    """A tracked run: what it used, and its outcome."""
    return TrackedRuns(caller.segue.memories).get(id)


@aegis_route("POST", "/memories/ace/run/{id}/complete", role="writer")
def complete_run(caller: Caller, id: str, body: RunResultIn) -> TrackedRun:
    """Record the outcome of a run; the memories that it used get votes, and a failure leaves a reflection."""
    runs = TrackedRuns(caller.segue.memories)
    run = runs.get(id)
    if run.completed_at is not None:
        return run
    agent_of(caller, run.agent_id)  # its votes and its reflection are that agent's
    reflections = _reflected(caller, run, body) if body.auto_reflect and not body.success else []
    run, first = runs.complete(
        id, success=body.success, evaluation=body.evaluation or {}, logs=body.logs or {},
        reflections=reflections,
    )  # fmt: skip
    if first and body.auto_vote:
        for memory in run.memory_ids_used:
            _voted(caller, memory, run, "helpful" if body.success else "harmful")
    return run


def _reflected(caller: Caller, run: TrackedRun, body: RunResultIn) -> list[str]:
    reason = (body.logs or {}).get("error") or (body.evaluation or {}).get("reason") or "no reason was given"
    task = run.task_type or "a task"
    [kept] = caller.segue.memories.remember_many([{
        "content": f"Run {run.run_id} of {task} failed: {reason}"[:2_000], "type": "reflection",
        "error_pattern": str(reason)[:500], "agent": run.agent_id or "", "namespace": run.namespace,
        "scope": "global", "metadata": {"run_id": run.run_id},
    }])  # fmt: skip
    return [kept.id]


def _voted(caller: Caller, memory: str, run: TrackedRun, vote: str) -> None:
    """Vote on a memory; one that is gone by now or belongs to another agent is skipped."""
    try:
        caller.segue.memories.vote(
            memory, vote, voter=run.agent_id or caller.access.agent or f"run {run.run_id}",
            context=f"run {run.run_id}", **reader_of(caller, memory),
        )  # fmt: skip
    except SegueError as fault:
        if fault.retryable:
            raise
