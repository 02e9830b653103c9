"""The twelve tools on a server: the same operations, on the sessions of the key's project, many at once.

The header ``Segue-Session`` says which session is meant; by default it is the one that this key last worked
on here, else the only one that is open; with several, nothing is guessed. A server has no working tree: a
tool that needs one says that it must be used on the machine with the code. A reader's key can call only tools
that read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from ...api.segue import Segue
from ...core.base.values import Value
from ...core.server.access import Access
from ...core.sessions.state import OPEN
from ...errors import RefusedError, SegueError, UnknownSession, UsageError
from ...services.brief.project_brief import brief_of_session, told_bytes
from ..render import as_json, saved_object
from .calls import NOTHING_KNOWN, ToolOutcome, outcome_of
from .operations import ToolCall, begin, perform, stores_nothing
from .tools import Arguments, Tool

NOWHERE = {
    "verify": "checks run on the machine with the code: use `segue verify` there",
    "since": "what changed in the project is known on the machine with the code: use `segue since` there",
    "map": "the code is on the machine where it is worked on: use `segue map` there",
    "recovery": "manifest, window and handover belong to the machine with the code: use `segue mcp` there",
}
_REMEMBERED_MAX = 4_096
_NAMED_MAX = 8


class ServedCaller(Value):
    """Who calls: the sessions that the caller may see, the key, and the session that was named."""

    segue: Segue
    access: Access
    session: str = ""


class ServedCalls:
    """The tools, for whoever has a key of the server."""

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._lock = threading.Lock()

    def call(self, caller: ServedCaller, name: str, arguments: Arguments) -> ToolOutcome:
        """Run a tool; an error is an outcome, too."""
        return outcome_of(
            lambda tool, given: ToolOutcome(as_json(self._call(caller, tool, given))), name, arguments
        )

    def _call(self, caller: ServedCaller, tool: Tool, given: Arguments) -> Any:
        caller.access.demand("reader" if stores_nothing(tool, given) else "writer")
        hint = NOWHERE.get(tool.name) or NOWHERE.get(given.get("action", ""))
        if hint:
            raise RefusedError("a server has no working tree", hint=hint)
        try:
            session = self._meant(caller) if tool.name not in ("recall", "search") else ""
        except UsageError as fault:  # there is none, or more than one
            if isinstance(fault, UnknownSession) and tool.name == "plan" and "goal" in given:
                return self._begun(caller, given)
            if tool.name != "remember":
                raise
            session = ""
        if tool.name == "resume":
            return _resumed(caller.segue, session, str(given.get("budget") or ""))
        return perform(tool, ToolCall(caller.segue, session, given))

    def brief(self, caller: ServedCaller) -> str:
        """The brief as text, for prompts and resources."""
        try:
            workspace = caller.segue.workspace
            return brief_of_session(workspace, self._meant(caller), budget=told_bytes(workspace))
        except SegueError:
            return NOTHING_KNOWN

    def _begun(self, caller: ServedCaller, given: Arguments) -> dict[str, Any]:
        begun: dict[str, Any] = begin(ToolCall(caller.segue, "", given), id=caller.session)
        self._remember(caller, str(begun["session"]))
        return begun

    def _meant(self, caller: ServedCaller) -> str:
        if caller.session:
            return caller.segue.attach(caller.session).id
        repository = caller.segue.workspace.repository
        with self._lock:
            last = self._last.get(self._key(caller), "")
        if last and repository.exists(last) and repository.state(last).status in OPEN:
            return last
        there = [card.id for card in repository.cards() if card.status in OPEN]
        if not there:
            raise UnknownSession("no session is open here", hint="`plan` with a goal begins one")
        if len(there) > 1:
            named = ", ".join(there[:_NAMED_MAX]) + (" …" if len(there) > _NAMED_MAX else "")
            raise UsageError(
                f"{len(there)} sessions are open: {named}", hint="name one with the header Segue-Session"
            )
        return self._remember(caller, there[0])

    def _remember(self, caller: ServedCaller, session: str) -> str:
        with self._lock:
            self._last[self._key(caller)] = session
            self._last.move_to_end(self._key(caller))
            while len(self._last) > _REMEMBERED_MAX:
                self._last.popitem(last=False)
        return session

    @staticmethod
    def _key(caller: ServedCaller) -> tuple[str, str]:
        return caller.access.key, f"{caller.access.project}/{caller.segue.workspace.repository.actor}"


def _resumed(segue: Segue, session: str, budget: str) -> dict[str, Any]:
    """What is known about a session without a working tree."""
    saved = segue.attach(session).resume()
    restored = segue.restore(session, budget=budget) if budget else None
    return saved_object(
        saved, id=session, status=segue.workspace.repository.state(session).status, restoration=restored,
        brief="" if restored is not None else brief_of_session(
            segue.workspace, session, budget=told_bytes(segue.workspace)
        ),
    )  # fmt: skip
