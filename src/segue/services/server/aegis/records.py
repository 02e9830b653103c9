"""Interactions and runs, as clients of Aegis Memory record them.

Both are memories behind a wall of their own: a namespace that no recall of lessons looks into. An interaction
is kept as often as it happens, also if the same is said twice; a run is kept once, by its id, and changed.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ....core.base.values import Value
from ....core.memories.model import Memory, MemoryFilter
from ....effects.clock import now
from ....errors import StaleVersion, UnknownMemory, UnknownRun
from ...memories.curation import delta
from ...memories.service import MemoryService

INTERACTIONS, RUNS = "interactions:", "runs:"
CHAIN_MAX = 1_000
_RETRIES = 16


class Interaction(Value):
    """Something that was said or done in a session."""

    event_id: str
    project_id: str
    session_id: str
    content: str
    timestamp: str
    namespace: str
    agent_id: str | None = None
    tool_calls: list[Any] = []
    parent_event_id: str | None = None
    extra_metadata: dict[str, Any] | None = None
    has_embedding: bool = False


class TrackedRun(Value):
    """A run of an agent, what it used and what came of it."""

    run_id: str
    status: str
    namespace: str
    started_at: str
    created_at: str
    updated_at: str
    success: bool | None = None
    agent_id: str | None = None
    task_type: str | None = None
    evaluation: dict[str, Any] = {}
    logs: dict[str, Any] = {}
    memory_ids_used: list[str] = []
    reflection_ids: list[str] = []
    completed_at: str | None = None


class Interactions:
    """The interactions of a project."""

    def __init__(self, memories: MemoryService, project: str) -> None:
        self._memories = memories
        self._project = project

    def record(
        self, session: str, content: str, *, namespace: str, agent: str = "", calls: Sequence[Any] = (),
        parent: str = "", more: Mapping[str, Any] | None = None,
    ) -> Interaction:  # fmt: skip
        """Keep one; UnknownMemory if its parent is none."""
        if parent:
            self.get(parent)
        token = secrets.token_hex(6)
        about = {"event": token, "calls": list(calls), "parent": parent, "more": dict(more or {})}
        [kept] = self._memories.remember_many([{
            "content": f"{content}\n[{token}]", "type": "interaction", "scope": "global", "agent": agent,
            "session": session, "namespace": INTERACTIONS + namespace,
            "metadata": {name: value for name, value in about.items() if value},
        }])  # fmt: skip
        return self.get(kept.id)

    def get(self, id: str) -> Interaction:
        """One by its id."""
        audience = self._memories.store.meant([id]).get(id)
        if audience is None or not audience.namespace.startswith(INTERACTIONS):
            raise UnknownMemory(f"there is no interaction {id[:60]!r}", hint="list those of its session")
        return self._shown(self._memories.get(id, namespace=audience.namespace))

    def chain(self, id: str) -> list[Interaction]:
        """An interaction and what led to it, from the first."""
        found = [self.get(id)]
        while found[-1].parent_event_id and len(found) < CHAIN_MAX:
            found.append(self.get(found[-1].parent_event_id))
        return found[::-1]

    def of_session(self, session: str, namespace: str) -> list[Interaction]:
        """Those of a session, in order."""
        return self._listed(MemoryFilter(sessions=(session,)), namespace)[::-1]

    def of_agent(self, agent: str, namespace: str) -> list[Interaction]:
        """Those of an agent, the newest first."""
        return self._listed(MemoryFilter(agents=(agent,)), namespace)

    def _listed(self, where: MemoryFilter, namespace: str) -> list[Interaction]:
        reader = self._memories.reader(namespace=INTERACTIONS + namespace)
        return [self._shown(one) for one in self._memories.store.listing(reader, where, now())]

    def search(
        self, query: str, *, namespace: str, top_k: int, **narrow: Any
    ) -> list[tuple[Interaction, float]]:
        """What answers a query, the best first."""
        inside = INTERACTIONS + namespace
        found = self._memories.search(query, top_k=top_k, namespace=inside, **narrow)
        return [(self._shown(one.memory), one.score) for one in found]

    def _shown(self, memory: Memory) -> Interaction:
        about = memory.metadata
        return Interaction(
            event_id=memory.id, project_id=self._project, session_id=memory.session,
            content=memory.content.removesuffix(f"\n[{about.get('event')}]"), timestamp=memory.created,
            namespace=memory.namespace.removeprefix(INTERACTIONS), agent_id=memory.agent or None,
            tool_calls=list(about.get("calls", ())), parent_event_id=about.get("parent"),
            extra_metadata=about.get("more"), has_embedding=True,
        )  # fmt: skip


class TrackedRuns:
    """The runs of a project."""

    def __init__(self, memories: MemoryService) -> None:
        self._memories = memories

    def start(self, run: str, *, namespace: str, agent: str, task: str, used: Sequence[str]) -> TrackedRun:
        """Begin to track a run; one that is tracked already stays as it is."""
        with suppress(UnknownRun):
            return self.get(run)
        about = {"namespace": namespace, "task": task, "used": list(used), "begun": now(), "agent": agent}
        tracked = {"type": "run", "scope": "global", "namespace": RUNS, "metadata": about}
        self._memories.remember_many([{"content": f"run {run}", **tracked}])
        return self.get(run)

    def get(self, run: str) -> TrackedRun:
        """A run by its id; UnknownRun."""
        return self._shown(self._memory(run))

    def complete(self, run: str, **came: Any) -> tuple[TrackedRun, bool]:
        """What came of it, and whether that is new: a run is completed once."""
        for attempt in range(_RETRIES):
            memory = self._memory(run)
            if "ended" in memory.metadata:
                return self._shown(memory), False
            patch = {**came, "ended": now()}
            wish = {"type": "update", "memory_id": memory.id, "metadata_patch": patch}
            try:
                delta(self._memories, [wish], namespace=RUNS)
                return self.get(run), True
            except StaleVersion:
                if attempt == _RETRIES - 1:
                    raise
        raise AssertionError("unreachable")

    def _memory(self, run: str) -> Memory:
        reader = self._memories.reader(namespace=RUNS)
        words = f"run {run}"
        for one in self._memories.search(words, top_k=50, namespace=RUNS):
            if one.content == words:
                return one.memory
        for memory in self._memories.store.listing(reader, MemoryFilter(types=("run",)), now()):
            if memory.content == words:
                return memory
        raise UnknownRun(f"there is no run {run[:60]!r}", hint="start it first")

    def _shown(self, memory: Memory) -> TrackedRun:
        about = memory.metadata
        ended = about.get("ended")
        success = about.get("success")
        status = "running" if ended is None else "completed" if success else "failed"
        return TrackedRun(
            run_id=memory.content.removeprefix("run "), status=status,
            namespace=about.get("namespace") or "default", started_at=about["begun"],
            created_at=memory.created, updated_at=memory.updated, success=success,
            agent_id=about.get("agent") or None, task_type=about.get("task") or None,
            evaluation=about.get("evaluation") or {}, logs=about.get("logs") or {},
            memory_ids_used=list(about.get("used") or ()), completed_at=ended,
            reflection_ids=list(about.get("reflections") or ()),
        )  # fmt: skip
