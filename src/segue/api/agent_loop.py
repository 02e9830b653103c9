"""A loop that survives: every item is given what was learnt before, and leaves behind what it taught.

The result of an item becomes a memory, then the item is done: one that is not done may have left its
result, never the other way round. A failure is kept with a reflection and raised again; the next run
begins with the item that was under way. What was declared as a feature is verified before anything is
completed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..core.base.values import count
from ..core.sessions.status import SessionStatus
from ..services.memories.service import Recalled

if TYPE_CHECKING:
    from .session import Session

RESULT_CHARS = 500
MEMORIES_EACH = 5
Work = Callable[[str, list[Recalled]], Any] | Callable[[str], Any]
Plan = Iterable[str] | Callable[[str], Iterable[str]]


class RecoverableAgent:
    """Works a session's items off, one after the other: ``RecoverableAgent(session, work).run()``.

    ``work(item, memories)``, or ``work(item)``, does one item; what it gives back, as text, is its result.
    ``plan`` gives the items of a session that has none: texts, or a function of the goal.
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
        """Until nothing is left that can be done; what is blocked stays, and then nothing is completed."""
        self._begin()
        while True:
            status = self.session.status()
            item = next(iter([*status.active, *status.next]), None)
            if item is None:
                break
            self.one(item)
        status = self.session.status()
        if complete and not status.blocked and status.status in ("active", "created"):
            return self._complete(status)
        return status

    def one(self, item: str) -> Any:
        """One item, with the memories that bear on it; raises what the work raises."""
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
        """The memories that an item is given: the best that are no instructions in disguise."""
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
        self._memories.remember(text, type=type, **self._about(metadata))

    def _about(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """What all memories of this work have."""
        return {
            "scope": self._scope, "session": self.session.id, "agent": self._agent, "metadata": metadata,
            "source": f"session {self.session.id}",
        }  # fmt: skip

    def _failed(self, item: str, fault: BaseException) -> None:
        why = f"{type(fault).__name__}: {fault}"
        pattern = why.splitlines()[0][:200]
        lesson = f"{item} fails with {pattern}"[:RESULT_CHARS]
        wishes = [
            {"content": f"{item} failed: {why}"[:RESULT_CHARS], "type": "task-failure"},
            {"content": lesson, "type": "reflection", "error_pattern": pattern},
        ]
        self._memories.remember_many([{**wish, **self._about({"item": item})} for wish in wishes])
        self.session.error(f"{item}: {pattern}")

    def _complete(self, status: SessionStatus) -> SessionStatus:
        done = ", ".join(status.done[-8:])
        text = f"{status.goal}: completed with {count(len(status.done), 'item')} ({done})"[:RESULT_CHARS]
        if self.session.state.features:
            self.session.features.verify()
        self.session.complete(text)
        self._memories.reflect(text, scope="global", session=self.session.id, agent=self._agent)
        return self.session.status()


def _takes_one(work: Callable[..., Any]) -> bool:
    """Whether it wants the item only."""
    try:
        inspect.signature(work).bind("item", [])
    except TypeError:
        return True
    except ValueError:  # a builtin that does not say
        return False
    return False
