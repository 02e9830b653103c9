"""Pydantic AI's conversations in Segue's store: a log for each, in which every message stands once.

A save is one event with the new entries and the record, so that both are there or none. A fork has entries of
its own, so that deleting a conversation takes nothing from another. What a keeper kept of a run that is under
way stands in the same log, behind the record that the run began from; the next save makes it void.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)
from pydantic_ai.messages import ModelResponse

from ...api.segue import Segue
from ...core.brief.compose import BYTES_DEFAULT
from ...services.runs.conversations.log import PREFIX, ConversationLog, native_id
from ..opened import brief_of, in_thread, segue_of
from .keeper import Keeper
from .kept import AGENT, RECORD, ConversationLogs, KeptConversation, messages_of, values_of

TESTED = "2.66.0"
"""The version of Pydantic AI that this was tested with."""


class SegueConversations(ConversationStore):
    """A ``ConversationStore`` in Segue's store. ``segue`` is the one to keep it in; by default the one that
    the environment names."""

    def __init__(self, segue: Segue | None = None) -> None:
        self.segue = segue_of(segue)
        self._logs = ConversationLogs(self.segue.workspace)
        self._homes: dict[str, str] = {}
        """In which conversation the entries stand that a record pointed at."""

    def log(self, conversation_id: str) -> ConversationLog:
        """The log of a conversation."""
        return self._logs.log(conversation_id)

    def kept(self, conversation_id: str) -> KeptConversation:
        """What the log of a conversation says now."""
        return self._logs.kept(conversation_id)

    def run_id(self, conversation_id: str) -> str:
        """The id of a conversation as a run: `segue brief RUN_ID`."""
        return native_id(conversation_id)

    def keeper(self) -> Keeper:
        """A capability that keeps messages and results of tools as they come: ``capabilities=[…]`` of an
        agent or of a run."""
        return Keeper(self._logs)

    async def brief(self, conversation_id: str, *, budget_bytes: int = BYTES_DEFAULT) -> str:
        """What was wanted, done, under way and broken in a conversation; in a new one, in the newest run of
        this project. Empty if there is nothing to tell."""
        return await in_thread(lambda: brief_of(self.log(conversation_id), budget_bytes))

    async def load(
        self, conversation_id: str, *, limit: int | None = None, scope: str | None = None
    ) -> Conversation | None:
        """The conversation, with what a run that was cut off had kept; None if there is none."""
        loaded = await super().load(conversation_id, limit=limit, scope=scope)
        kept = await in_thread(lambda: self.kept(conversation_id))
        if (kept.record is not None and loaded is None) or not kept.messages:
            return loaded
        if loaded is None:
            loaded = Conversation(conversation_id=conversation_id)
        loaded.messages += messages_of(kept.messages)
        return loaded

    def is_cut_off(self, conversation: Conversation) -> bool:
        """Whether the last run of a loaded conversation was cut off: run it without a prompt to continue
        where it was."""
        if not conversation.messages:
            return False
        last = conversation.messages[-1]
        kept = self.kept(conversation.conversation_id)
        return bool(kept.messages) or not isinstance(last, ModelResponse)

    # -- what a backend of Pydantic AI implements ----------------------------------------------

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        kept = await in_thread(lambda: self.kept(conversation_id))
        return self._known(kept.record)

    def _known(self, record: ConversationRecord | None) -> ConversationRecord | None:
        if record is not None:
            for id in (record.head_id, *record.branches):
                if id is not None:
                    self._homes[id] = record.conversation_id
        return record

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        found = await in_thread(self._records)
        chosen = [one for one in found if scope is None or one.scope == scope]
        chosen.sort(key=lambda one: one.updated_at, reverse=True)
        return chosen[:limit]

    def _records(self) -> list[ConversationRecord]:
        workspace = self.segue.workspace
        prefix = f"{PREFIX}{AGENT}/"
        natives = [name.removeprefix(prefix) for name, _ in workspace.store.streams(prefix)]
        logs = (ConversationLog(workspace, AGENT, native, writes=False) for native in natives)
        records = (self._known(KeptConversation(log.items()).record) for log in logs)
        return [record for record in records if record is not None]

    async def write_record(
        self, record: ConversationRecord, *, new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:  # fmt: skip
        await in_thread(lambda: self._write(record, new_entries, expected_revision))
        self._known(record)

    def _write(
        self, record: ConversationRecord, new: Sequence[ConversationEntry], expected: str | None
    ) -> None:
        log = self.log(record.conversation_id)
        while True:
            version = log.version()
            kept = KeptConversation(log.items())
            if kept.revision != expected:
                raise ConversationConflict(record.conversation_id)
            items = [*self._forked(record, new, kept), *_entries(new, told_count=len(kept.messages))]
            items.append({"record": RECORD.dump_python(record, mode="json")})
            if log.add_if(items, version=version):
                return

    def _forked(
        self, record: ConversationRecord, new: Sequence[ConversationEntry], kept: KeptConversation
    ) -> list[dict[str, Any]]:
        """The entries of another conversation that a fork begins with. Raises ConversationConflict if they
        are gone."""
        own = {entry.id for entry in new} | kept.entries.keys()
        if record.head_id is None or record.head_id in own:
            return []
        try:
            found = self.kept(record.forked_from or "-").chain(record.head_id)
        except LookupError:
            raise ConversationConflict(record.conversation_id) from None
        return [{"entry": entry} for entry in found]

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Delete a conversation with all of its messages, and its transcript."""
        await in_thread(lambda: self._delete(conversation_id, expected_revision))

    def _delete(self, conversation_id: str, expected: str) -> None:
        log = self.log(conversation_id)
        while True:
            version = log.version()
            kept = KeptConversation(log.items())
            if kept.record is None or kept.revision != expected:
                raise ConversationConflict(conversation_id)
            if log.clear(version=version):
                return

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        return (await self._chain(entry_id))[-1]

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        entries = await self._chain(head_id) if head_id is not None else []
        return entries if limit is None else entries[max(0, len(entries) - limit) :]

    async def _chain(self, head_id: str) -> list[ConversationEntry]:
        if head_id not in self._homes:
            for record in await in_thread(self._records):
                kept = await in_thread(lambda id=record.conversation_id: self.kept(id))  # type: ignore[misc]
                self._homes.update(dict.fromkeys(kept.entries, record.conversation_id))
        home = self._homes[head_id]
        found = await in_thread(lambda: self.kept(home).chain(head_id))
        messages = messages_of([entry["message"] for entry in found])
        return [
            ConversationEntry(id=entry["id"], parent_id=entry["parent_id"], message=message)
            for entry, message in zip(found, messages, strict=True)
        ]


def _entries(new: Sequence[ConversationEntry], *, told_count: int) -> list[dict[str, Any]]:
    """Items for new entries, of which the first were told in the transcript when they were kept."""
    values = values_of([entry.message for entry in new])
    found: list[dict[str, Any]] = []
    for number, (entry, value) in enumerate(zip(new, values, strict=True)):
        item: dict[str, Any] = {"entry": {"id": entry.id, "parent_id": entry.parent_id, "message": value}}
        found.append({**item, "told": True} if number < told_count else item)
    return found
