"""A program in the shape of the session-recovery recipe. Only its import is ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from segue.aegis import AegisClient

KEEP_RECENT = 50


class CodingSession:
    """Work on a task that outlives the process that does it."""

    def __init__(self, aegis: AegisClient, session_id: str, task_description: str, agent_id: str) -> None:
        self.aegis, self.session_id, self.agent_id = aegis, session_id, agent_id
        self.task_description = task_description

    def initialize(self, subtasks: list[str], features: list[dict[str, Any]]) -> None:
        self.aegis.progress.update(
            session_id=self.session_id, summary=self.task_description, status="in_progress", completed=[],
            in_progress=subtasks[0], next_items=subtasks[1:], blocked=[], last_action="session initialised",
        )  # fmt: skip
        for feature in features:
            self.aegis.features.create(
                feature_id=feature["id"], session_id=self.session_id, description=feature["description"],
                test_steps=feature["test_steps"], status="not_started",
            )  # fmt: skip
        self._remember(f"Task: {self.task_description}", "session_init")

    def resume(self) -> dict[str, Any] | None:
        progress = self.aegis.progress.get(self.session_id)
        if not progress:
            return None
        if progress.status == "completed":
            return {"status": "completed", "summary": progress.summary}
        features = self.aegis.features.list(session_id=self.session_id)
        memories = self.aegis.query(
            query=progress.in_progress_item or self.task_description, agent_id=self.agent_id, top_k=20,
            filter_metadata={"session_id": self.session_id},
        )  # fmt: skip
        return {
            "status": "resuming", "summary": progress.summary, "completed": progress.completed_items,
            "in_progress": progress.in_progress_item, "next": progress.next_items,
            "blocked": progress.blocked_items, "last_action": progress.last_action,
            "features": {
                "total": features["total"], "passing": features["passing"],
                "incomplete": [one.feature_id for one in features["features"] if not one.passes],
            },
            "relevant_memories": [one.content for one in memories],
        }  # fmt: skip

    def checkpoint(
        self, completed_task: str, started_task: str | None, action_description: str,
        memories_to_store: list[str] | None = None,
    ) -> None:  # fmt: skip
        progress = self.aegis.progress.get(self.session_id)
        assert progress is not None
        waiting = [item for item in progress.next_items if item != started_task]
        self.aegis.progress.update(
            session_id=self.session_id, completed=[*progress.completed_items, completed_task],
            in_progress=started_task or "", next_items=waiting, last_action=action_description,
        )  # fmt: skip
        for text in memories_to_store or []:
            self._remember(text, "decision")

    def mark_blocked(self, task: str, reason: str) -> None:
        progress = self.aegis.progress.get(self.session_id)
        assert progress is not None
        waiting = [item for item in progress.next_items if item != task]
        active = progress.in_progress_item
        if active == task:
            active = waiting.pop(0) if waiting else ""
        self.aegis.progress.update(
            session_id=self.session_id, in_progress=active, next_items=waiting,
            blocked=[*progress.blocked_items, {"item": task, "reason": reason}],
        )  # fmt: skip

    def update_feature(self, feature_id: str, passed: bool, notes: str = "") -> None:
        if passed:
            self.aegis.features.mark_complete(feature_id, verified_by=self.agent_id)
        else:
            self.aegis.features.update(feature_id, status="failing", passes=False, failure_reason=notes)

    def complete(self, final_summary: str) -> None:
        features = self.aegis.features.list(session_id=self.session_id)
        if features["failing"] or features["passing"] < features["total"]:
            raise RuntimeError(f"{features['total'] - features['passing']} features do not pass")
        self.aegis.progress.update(
            self.session_id, summary=final_summary, status="completed", in_progress="", next_items=[]
        )
        self.aegis.reflection(final_summary, agent_id=self.agent_id, scope="global")

    def prune(self) -> int:
        found = self.aegis.query(
            query="*", agent_id=self.agent_id, top_k=1000, filter_metadata={"session_id": self.session_id}
        )
        old = found[KEEP_RECENT:]
        self.aegis.delta(
            [
                {"type": "deprecate", "memory_id": one.id, "deprecation_reason": "pruned: session too long"}
                for one in old
            ],
            agent_id=self.agent_id,
        )
        return len(old)

    def _remember(self, content: str, memory_type: str) -> None:
        self.aegis.add(
            content, agent_id=self.agent_id, scope="agent-private", memory_type=memory_type,
            metadata={"session_id": self.session_id},
        )  # fmt: skip


class RecoverableCodingAgent:
    """Does one task after the other; may die anywhere and be run again."""

    def __init__(self, session: CodingSession, execute: Callable[[str, list[str]], str]) -> None:
        self.session, self.execute = session, execute

    def run(self, tasks: list[str]) -> dict[str, Any]:
        aegis, session = self.session.aegis, self.session
        state = session.resume()
        if state is None:
            session.initialize(tasks, [])
            state = session.resume()
        assert state is not None
        while state["status"] == "resuming" and state["in_progress"]:
            self._one(aegis, session, state)
            state = session.resume()
            assert state is not None
        if state["status"] == "resuming" and not state["blocked"]:
            session.complete(f"{session.task_description}: done")
        return session.resume() or {}

    def _one(self, aegis: AegisClient, session: CodingSession, state: dict[str, Any]) -> None:
        task = state["in_progress"]
        known = aegis.query(task, agent_id=session.agent_id, top_k=5)
        try:
            result = self.execute(task, [one.content for one in known])
        except Exception as fault:
            session._remember(f"{task} failed: {fault}", "task_failure")
            aegis.reflection(
                f"{task} fails", agent_id=session.agent_id, scope="agent-private", error_pattern=str(fault)
            )
            raise
        session._remember(f"{task}: {result}"[:500], "task_result")
        following = state["next"][0] if state["next"] else None
        session.checkpoint(task, following, f"finished {task}")
