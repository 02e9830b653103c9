"""Sessions of the Claude Agent SDK in Segue's store: its port ``SessionStore``, with all that is optional.

Entries with an id are kept once, however often they are sent. The summary for lists is part of the event that
adds entries, so that it never says something else than they do.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from claude_agent_sdk import fold_session_summary
from claude_agent_sdk.types import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
)

from ...api.segue import Segue
from ...core.base.values import seconds_of
from ...services.runs.conversations.log import (
    ConversationLog,
    Listed,
    listed,
    name_of,
    native_id,
    stream_of_conversation,
)
from ..opened import in_thread, segue_of

AGENT = "claude-agent"
SUMMARY = "segue-summary"
"""The type of the item that carries the summary; no entry of the SDK has it."""


class _Known(NamedTuple):
    version: int
    ids: set[str]
    summary: SessionSummaryEntry | None


class SegueSessionStore(SessionStore):
    """A ``SessionStore`` in Segue's store. ``segue`` is the one to keep it in; by default the one that the
    environment names."""

    def __init__(self, segue: Segue | None = None) -> None:
        self.segue = segue_of(segue)
        self._logs: dict[str, ConversationLog] = {}
        self._known: dict[str, _Known] = {}
        """What is known of sessions that this process appended to."""

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        await in_thread(lambda: self._append(key, entries))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        items = await in_thread(lambda: self._log(key).items())
        return [item for item in items if item.get("type") != SUMMARY] if items else None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        found = await in_thread(lambda: self._mains(project_key))
        return [{"session_id": id, "mtime": _milliseconds(one.changed)} for id, one in found]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        found = await in_thread(lambda: self._mains(project_key))
        return [
            cast(SessionSummaryEntry, {**one.last[-1]["summary"], "mtime": _milliseconds(one.changed)})
            for _, one in found
            if one.last and one.last[-1].get("type") == SUMMARY
        ]

    async def delete(self, key: SessionKey) -> None:
        await in_thread(lambda: self._delete(key))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        workspace, within = self.segue.workspace, (key["project_key"], key["session_id"])

        def names() -> list[str]:
            return [name_of(workspace, one.stream) for one in listed(workspace, AGENT, *within)]

        return await in_thread(names)

    def _log(self, key: SessionKey) -> ConversationLog:
        project, session, subpath = key["project_key"], key["session_id"], key.get("subpath")
        within = (project, session) if subpath else (project,)
        stream = stream_of_conversation(AGENT, *map(native_id, (*within, subpath or session)))
        if stream not in self._logs:
            workspace = self.segue.workspace
            log = ConversationLog(workspace, AGENT, subpath or session, within=within, writes=False)
            self._logs[stream] = log
        return self._logs[stream]

    def _append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        log = self._log(key)
        while True:
            known = self._known_of(log)
            new: list[Any] = []
            ids = set[str]()
            for entry in entries:
                id = entry.get("uuid")
                if id is None or (id not in known.ids and id not in ids):
                    new.append(entry)
                    ids |= {id} if id is not None else set()
            if not new:
                return
            summary = known.summary
            if not key.get("subpath"):
                summary = cast(Any, fold_session_summary(summary, key, list(new)))
                new.append({"type": SUMMARY, "summary": summary})
            if log.add_if(new, version=known.version):
                self._known[log.stream] = _Known(log.version(), known.ids | ids, summary)
                return

    def _known_of(self, log: ConversationLog) -> _Known:
        """The ids of a session's entries and its summary; read only where somebody else wrote."""
        version = log.version()
        known = self._known.get(log.stream)
        if known is not None and known.version == version:
            return known
        items = log.items()
        summaries = [item["summary"] for item in items if item.get("type") == SUMMARY]
        ids = {item["uuid"] for item in items if "uuid" in item}
        return _Known(version, ids, summaries[-1] if summaries else None)

    def _delete(self, key: SessionKey) -> None:
        self._log(key).clear()
        if not key.get("subpath"):
            workspace = self.segue.workspace
            for part in listed(workspace, AGENT, key["project_key"], key["session_id"]):
                name = name_of(workspace, part.stream)
                self._log({**key, "subpath": name}).clear()

    def _mains(self, project_key: str) -> list[tuple[str, Listed]]:
        """The sessions of a project, each with its id, without their sub-agents'."""
        prefix = stream_of_conversation(AGENT, native_id(project_key)) + "/"
        found = listed(self.segue.workspace, AGENT, project_key)
        mains = [one for one in found if "/" not in one.stream.removeprefix(prefix)]
        return [(name_of(self.segue.workspace, one.stream), one) for one in mains]


def _milliseconds(at: str) -> int:
    return int(seconds_of(at) * 1000)
