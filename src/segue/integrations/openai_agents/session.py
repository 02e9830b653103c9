"""A session of the OpenAI Agents SDK in Segue's store. Nothing that the SDK hands over is changed, and what
``add_items`` returned from is on the disk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agents.items import TResponseInputItem
from agents.memory.session import SessionABC
from agents.memory.session_settings import (
    SessionSettings,
    coerce_session_settings,
    resolve_session_limit,
)

from ...api.segue import Segue
from ...core.brief.compose import BYTES_DEFAULT
from ...services.runs.conversations.log import ConversationLog
from ..opened import brief_of, in_thread, segue_of

AGENT = "openai-agents"
TESTED = "0.24.0"
"""The version of the SDK that this was tested with."""


class SegueSession(SessionABC):
    """A session of the OpenAI Agents SDK whose items are kept in Segue's store.

    ``segue`` is the Segue to keep it in; by default the one that the environment names. All sessions with
    the same id in a store are the same conversation, in any process.
    """

    session_settings: SessionSettings | None = None

    def __init__(
        self, session_id: str, segue: Segue | None = None, *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or SessionSettings())
        self._is_closed = False
        self.segue = segue_of(segue)
        self._log = ConversationLog(self.segue.workspace, AGENT, session_id)

    @property
    def run_id(self) -> str:
        """The id of the conversation as a run: `segue brief RUN_ID`."""
        return self._log.native

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items, oldest first; with a limit, only the latest. The limit of the settings applies if
        none is given."""
        most = resolve_session_limit(limit, self.session_settings)
        if most is not None and most < 0:
            most = None
        return await in_thread(lambda: self._open_log().items(most))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items to the end, all or none; they are durable when this returns."""
        log = self._open_log()
        if items:
            await in_thread(lambda: log.add(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the latest item and return it; None if there is none."""
        popped: TResponseInputItem | None = await in_thread(self._open_log().pop)
        return popped

    async def clear_session(self) -> None:
        """Erase all items."""
        await in_thread(self._open_log().clear)

    async def brief(self, *, budget_bytes: int = BYTES_DEFAULT) -> str:
        """What was wanted, done, under way and broken in this conversation; in a new one, in the run that was
        the newest in this project. Empty if there is nothing to tell."""
        return await in_thread(lambda: brief_of(self._log, budget_bytes))

    def instructions(self, text: str = "") -> Callable[[Any, Any], Awaitable[str]]:
        """Instructions for an ``Agent``: the text, and the brief as it was when they were first asked for."""
        known: list[str] = []

        async def with_brief(context: Any, agent: Any) -> str:
            if not known:
                known.append(await self.brief())
            return "\n\n".join(filter(None, (text, known[0])))

        return with_brief

    def close(self) -> None:
        """Close the session: nothing can be read or added. The Segue stays open until you close it."""
        self._is_closed = True

    def _open_log(self) -> ConversationLog:
        if self._is_closed:
            raise RuntimeError(f"{type(self).__name__} is closed")
        return self._log

    async def _get_compaction_snapshot(
        self, limit: int, *, prune_prefix: Callable[[TResponseInputItem], bool] | None = None
    ) -> Any:
        """What the SDK asks of a session whose end it can replace in one step when it compacts."""
        try:
            from agents.memory.session import _CompactionSnapshot
        except ImportError:  # a version without it clears, and adds again
            return None
        version, whole = await in_thread(lambda: (self._log.version(), self._log.items()))
        first = max(0, len(whole) - limit)

        async def replace_suffix(start: int, output: list[TResponseInputItem]) -> bool:
            kept = first + start
            if kept >= len(whole):
                return False
            expired = 0
            while prune_prefix is not None and expired < kept and prune_prefix(whole[expired]):
                expired += 1
            if expired:
                items = [*whole[expired:kept], *output]
                return await in_thread(lambda: self._log.replace_end(0, items, version=version))
            return await in_thread(lambda: self._log.replace_end(kept, output, version=version))

        return _CompactionSnapshot(whole[first:], first == 0, replace_suffix)
