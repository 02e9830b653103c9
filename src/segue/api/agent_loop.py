"""A work loop that survives crashes: each item gets what was learnt before, and its result is remembered.

The result of an item becomes a memory before the item is marked as done, so that a crash in between loses no
result. A failure is recorded with a reflection and raised again; the next run begins with the item that was
under way. Features are verified before the session is completed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from .._checked_calls import checked
from ..core.base.values import count
from ..core.sessions.status import SessionStatus
from ..services.memories.service import Recalled
from .session import Session

RESULT_CHARS = 500
MEMORIES_EACH = 5
Work = Callable[[str, list[Recalled]], Any] | Callable[[str], Any]
Plan = Iterable[str] | Callable[[str], Iterable[str]]


@checked
class RecoverableAgent:
    """Works through a session's items, one after the other: ``RecoverableAgent(session, work).run()``.

    ``work(item, memories)``, or ``work(item)``, does one item and returns its result, which is stored as
    text. ``plan`` provides the items of a session that has none: texts, or a function of the goal.
    """

    def __init__(
        self,
        session: Session,
        work: Work,
        *,
        agent: str = "",
        scope: str = "project",
        top_k: int = MEMORIES_EACH,
        plan: Plan = (),
    ) -> None:
        self.session = session
        self._work: Callable[..., Any] = work
        self._alone = _takes_one(work)
        self._plan = plan
        self._memories = session.memories
        self._agent = agent
        self._scope = scope
        self._top_k = top_k

    def run(self, *, complete: bool = True) -> SessionStatus:
        """Work until nothing is left to do. The session is not completed while items are blocked."""
        self._begin()
        while True:
            status = self.session.status()
            item = next(iter([*status.active, *status.next]), None)
            if item is None:
                break
            self.one(item)
        status = self.session.status()
        if complete and not status.blocked and self.session.state.status in ("active", "created"):
            return self._complete(status)
        return status

    def one(self, item: str) -> Any:
        """Do one item, with the memories that are relevant to it. Raises what the work raises."""
        self.session.begin(item)
        try:
            result = self._work(item) if self._alone else self._work(item, self.recalled(item))
        except Exception as fault:
            self._failed(item, fault)
            raise
        text = str(result if result is not None else "done")
        self._keep(f"{item}: {text}"[:RESULT_CHARS], "task-result", item=item)
        self.session.done(item)
        return result

    def recalled(self, item: str) -> list[Recalled]:
        """The memories for an item: the best ones, without those that read like instructions."""
        session, agent = self.session.id, self._agent
        found = self._memories.recall(item, top_k=self._top_k * 2, session=session, agent=agent)
        return [one for one in found if not one.quoted and one.memory.type != "session-init"][: self._top_k]

    def _begin(self) -> None:
        state = self.session.state
        if not state.items and self._plan:
            planned = self._plan(state.goal) if callable(self._plan) else self._plan
            if texts := [text for text in planned if text.strip()]:
                self.session.add(*texts)
            state = self.session.state
        items = [item.text for item in state.items]
        self._keep(state.goal, "session-init", goal=state.goal, items=items)

    def _keep(self, text: str, type: str, **metadata: Any) -> None:
        self._memories.remember_many([{"content": text, "type": type, **self._about(metadata)}])

    def _about(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """The fields that all memories of this work have in common."""
        return {
            "scope": self._scope, "session": self.session.id, "agent": self._agent, "metadata": metadata,
            "source": f"session {self.session.id}",
        }  # fmt: skip

    def _failed(self, item: str, fault: BaseException) -> None:
        why = f"{type(fault).__name__}: {fault}"
        pattern = why.splitlines()[0][:200]
        lesson = f"{item} fails with {pattern}"[:RESULT_CHARS]
        lessons = [
            {"content": f"{item} failed: {why}"[:RESULT_CHARS], "type": "task-failure"},
            {"content": lesson, "type": "reflection", "error_pattern": pattern},
        ]
        self._memories.remember_many([{**lesson, **self._about({"item": item})} for lesson in lessons])
        self.session.error(f"{item}: {pattern}")

    def _complete(self, status: SessionStatus) -> SessionStatus:
        done = ", ".join(status.done[-8:])
        text = f"{status.goal}: completed with {count(len(status.done), 'item')} ({done})"[:RESULT_CHARS]
        if self.session.state.features:
            self.session.features.verify()
        self.session.complete(text)
        about = {"scope": "global", "session": self.session.id, "agent": self._agent}
        self._memories.remember_many([{"content": text, "type": "reflection", **about}])
        return self.session.status()


def _takes_one(work: Callable[..., Any]) -> bool:
    """Whether the function takes the item only."""
    try:
        inspect.signature(work).bind("item", [])
    except TypeError:
        return True
    except ValueError:  # a builtin without a signature
        return False
    return False
