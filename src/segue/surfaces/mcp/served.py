"""The eight tools on a server: the same commands, on the sessions of the key's project, many at once.

Which session is meant is said by the header ``Segue-Session``, else it is the one that this key last worked
on here, else the only one that is open; with several nothing is guessed. A server has no working tree: what
needs one is said to be done on the machine with the code. A reader's key calls what only looks.
"""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from typing import Any

from ...api.segue import Segue
from ...core.base.values import Value
from ...core.server.access import Access
from ...core.sessions.state import OPEN
from ...errors import RefusedError, SegueError, UnknownSession, UsageError
from ...services.brief.brief import brief_of_session
from ..cli.command import find
from ..cli.run_in_process import run
from ..render import as_json
from .calls import LOOKING, ToolOutcome, failed, unforeseen
from .tools import BY_NAME, Arguments, Tool, checked, new_session

NOWHERE = {
    "verify": "checks are run on the machine with the code: `segue verify` there",
    "since": "what changed in the project is seen on the machine with the code: `segue since` there",
}
_REMEMBERED_MAX = 4_096
_NAMED_MAX = 8


class ServedCaller(Value):
    """Who calls: the sessions as they may be seen, the key behind it, and the session that was named."""

    segue: Segue
    access: Access
    session: str = ""


class ServedCalls:
    """The tools, for whoever has a key."""

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._lock = threading.Lock()

    def call(self, asker: ServedCaller, name: str, arguments: Arguments) -> ToolOutcome:
        """Run a tool; what goes wrong is an outcome too."""
        tool = BY_NAME.get(name)
        if tool is None:
            return failed(UsageError(f"there is no tool {name}", hint=f"there are {', '.join(BY_NAME)}"))
        try:
            return self._call(asker, tool, checked(tool, arguments))
        except SegueError as fault:
            return failed(fault)
        except Exception as fault:
            return unforeseen(fault)

    def _call(self, asker: ServedCaller, tool: Tool, given: Arguments) -> ToolOutcome:
        words = tool.words(given)
        looks = (words[0] in LOOKING and words[0] != "resume") or given.get("action") in ("list", "show")
        asker.access.demand("reader" if looks else "writer")
        if words[0] in NOWHERE:
            raise RefusedError("a server sees no working tree", hint=NOWHERE[words[0]])
        session = ""
        if tool.session:
            try:
                session = self._meant(asker)
            except UnknownSession:
                if tool.name == "plan" and "goal" in given:
                    return self._begun(asker, given)
                if tool.name != "remember":
                    raise
            except UsageError:
                if tool.name != "remember":
                    raise
        if tool.name == "resume":
            return self._resumed(asker, session, str(given.get("budget") or ""))
        flag = [f"--session={session}"] if session and find(words[0]).session else []
        return _ran(asker.segue, [words[0], *flag, *words[1:]])

    def brief(self, asker: ServedCaller) -> str:
        """The brief as text, for prompts and resources."""
        try:
            return brief_of_session(asker.segue.workspace, self._meant(asker))
        except SegueError:
            return "Nothing is known of earlier work here."

    def _begun(self, asker: ServedCaller, given: Arguments) -> ToolOutcome:
        words = new_session(given)
        if asker.session:
            words[1:1] = [f"--id={asker.session}"]
        outcome = _ran(asker.segue, words)
        if not outcome.failed:
            self._remember(asker, str(outcome.value["id"]))
        return outcome

    def _resumed(self, asker: ServedCaller, session: str, budget: str) -> ToolOutcome:
        segue = asker.segue
        saved = segue.attach(session).resume()
        restored = segue.restore(session, budget=budget) if budget else None
        told: dict[str, Any] = {name: getattr(saved, name) for name in saved.__struct_fields__}
        told |= {
            "id": session, "status": segue.workspace.repository.state(session).status,
            "restoration": restored,
            "brief": "" if restored is not None else brief_of_session(segue.workspace, session),
        }  # fmt: skip
        return ToolOutcome(as_json(told))

    # -- which session -------------------------------------------------------------------------

    def _meant(self, asker: ServedCaller) -> str:
        segue = asker.segue
        if asker.session:
            return segue.attach(asker.session).id
        with self._lock:
            last = self._last.get(self._key(asker), "")
        if (
            last
            and segue.workspace.repository.exists(last)
            and segue.workspace.repository.state(last).status in OPEN
        ):
            return last
        there = [card.id for card in segue.workspace.repository.cards() if card.status in OPEN]
        if not there:
            raise UnknownSession("no session is open here", hint="`plan` with a goal begins one")
        if len(there) > 1:
            named = ", ".join(there[:_NAMED_MAX]) + (" …" if len(there) > _NAMED_MAX else "")
            raise UsageError(
                f"{len(there)} sessions are open: {named}", hint="name one with the header Segue-Session"
            )
        return self._remember(asker, there[0])

    def _remember(self, asker: ServedCaller, session: str) -> str:
        with self._lock:
            self._last[self._key(asker)] = session
            self._last.move_to_end(self._key(asker))
            while len(self._last) > _REMEMBERED_MAX:
                self._last.popitem(last=False)
        return session

    @staticmethod
    def _key(asker: ServedCaller) -> tuple[str, str]:
        return asker.access.key, f"{asker.access.project}/{asker.segue.workspace.repository.actor}"


def _ran(segue: Segue, words: list[str]) -> ToolOutcome:
    out = io.StringIO()
    try:
        run(["--json", *words], out=out, err=io.StringIO(), segue=segue)
    except SegueError as fault:
        return failed(fault)
    return ToolOutcome(out.getvalue().rstrip("\n"))
