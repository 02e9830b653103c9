"""What the log of a conversation of Pydantic AI says, and the logs of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.conversation_store import ConversationRecord
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from ...services.runs.conversations.log import ConversationLog
from ...services.workspace.workspace import Workspace
from .told import told

AGENT = "pydantic-ai"
RECORD = TypeAdapter(ConversationRecord)
LOGS_MAX = 256


class KeptConversation:
    """What a log says: entries by id, the record, and what a run that is under way has kept."""

    def __init__(self, items: Sequence[Mapping[str, Any]]) -> None:
        self.entries: dict[str, Mapping[str, Any]] = {}
        self.record: ConversationRecord | None = None
        self.messages: list[Any] = []
        self.results: dict[str, Mapping[str, Any]] = {}
        for item in items:
            if "entry" in item:
                self.entries[item["entry"]["id"]] = item["entry"]
            elif "record" in item:
                self.record = RECORD.validate_python(item["record"])
                self.messages, self.results = [], {}
            elif item.get("on") == self.revision:
                if "kept" in item:
                    self.messages.append(item["kept"])
                elif "call" in item:
                    self.results[item["same"]] = item

    @property
    def revision(self) -> str | None:
        """That of the record; None without one."""
        return self.record.revision if self.record is not None else None

    def chain(self, head_id: str | None) -> list[Mapping[str, Any]]:
        """The entries up to this one. Raises LookupError if one is missing."""
        found = []
        while head_id is not None:
            found.append(self.entries[head_id])
            head_id = found[-1]["parent_id"]
        return found[::-1]


class ConversationLogs:
    """The logs of the conversations in a store."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._logs: dict[str, ConversationLog] = {}

    def log(self, conversation_id: str) -> ConversationLog:
        """The log of a conversation."""
        found = self._logs.get(conversation_id)
        if found is None:
            if len(self._logs) >= LOGS_MAX:
                self._logs.clear()
            found = ConversationLog(self._workspace, AGENT, conversation_id, told=told)
            self._logs[conversation_id] = found
        return found

    def kept(self, conversation_id: str) -> KeptConversation:
        """What the log of a conversation says now."""
        return KeptConversation(self.log(conversation_id).items())


def messages_of(values: Sequence[Any]) -> list[ModelMessage]:
    """Messages of their JSON values."""
    messages: list[ModelMessage] = ModelMessagesTypeAdapter.validate_python(list(values))
    return messages


def values_of(messages: Sequence[ModelMessage]) -> list[Any]:
    """The JSON values of messages."""
    values: list[Any] = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    return values
