"""Claude Code: a line per content block of the main conversation, and bookkeeping in between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bench.blind.transcript import Event, Lines, arguments_text, blocks, joined, mapping, text_of

_COMMAND = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_OF_THE_HARNESS = (
    "clear", "compact", "config", "context", "cost", "doctor", "exit", "help", "hooks", "ide", "login",
    "logout", "mcp", "model", "permissions", "plugin", "rate-limit-options", "rename", "resume", "status",
    "usage",
)  # fmt: skip
_NOT_TYPED = ("<", "Caveat:", "This session is being continued from a previous conversation", '{"task_id"')
_REFUSED = "To tell you how to proceed, the user said:"
_INTERRUPTED = "[Request interrupted by user"


def recognises(head: bytes, name: str) -> bool:
    return name.endswith(".jsonl") and b'"sessionId"' in head and b'"projectHash"' not in head


class ClaudeCode(Lines):
    agent = "claude-code"

    def _events(self) -> Iterator[Event]:
        boundary: int | None = None
        queued: set[str] = set()  # typed while the agent worked; told again when the agent gets it
        for line, record in self.records():
            if record.get("isSidechain"):
                continue
            kind = record.get("type")
            content = mapping(record.get("message")).get("content")
            if kind == "system" and record.get("subtype") == "compact_boundary":
                boundary = line
            elif kind == "user" and record.get("isCompactSummary"):
                yield Event(line if boundary is None else boundary, "compacted", joined(content))
                boundary = None
            elif kind == "user":
                yield from _untold(_user(line, record, content), queued)
            elif kind == "attachment":
                yield from _untold(_attached(line, mapping(record.get("attachment"))), queued)
            elif kind == "assistant" and not record.get("isApiErrorMessage"):
                yield from _assistant(line, content)
            elif kind == "queue-operation":
                for event in _enqueued(line, record):
                    queued.add(event.text)
                    yield event


def _untold(events: Iterator[Event], queued: set[str]) -> Iterator[Event]:
    """The events without those that were told when they were queued."""
    for event in events:
        if event.kind == "user" and event.text in queued:
            queued.remove(event.text)
        else:
            yield event


def _user(line: int, record: dict[str, Any], content: Any) -> Iterator[Event]:
    for block in blocks(content):
        if block.get("type") == "tool_result":
            text = joined(block.get("content"))
            yield Event(line, "result", text, failed=bool(block.get("is_error")))
            if block.get("is_error") and _REFUSED in text:
                yield Event(line, "user", text.partition(_REFUSED)[2].strip())
        elif block.get("type") == "text" and not record.get("isMeta"):
            text = text_of(block.get("text"))
            if text.lstrip().startswith(_INTERRUPTED):
                yield Event(line, "stopped", "by the user")
            elif typed := _typed(text):
                yield Event(line, "user", typed)


def _typed(text: str) -> str:
    """What the user typed, empty if the harness wrote the text."""
    text = text.strip()
    if command := _COMMAND.search(text):
        arguments = _ARGUMENTS.search(text)
        if command[1].strip().removeprefix("/") in _OF_THE_HARNESS:
            return ""
        return f"{command[1].strip()} {arguments[1].strip() if arguments else ''}".strip()
    return "" if text.startswith(_NOT_TYPED) else text


def _assistant(line: int, content: Any) -> Iterator[Event]:
    for block in blocks(content):
        if block.get("type") == "text" and text_of(block.get("text")).strip():
            yield Event(line, "said", block["text"])
        elif block.get("type") == "tool_use":
            yield Event(line, "call", arguments_text(block.get("input")), text_of(block.get("name")))


def _enqueued(line: int, record: dict[str, Any]) -> Iterator[Event]:
    text = _typed(text_of(record.get("content"))) if record.get("operation") == "enqueue" else ""
    if text:
        yield Event(line, "user", text)


def _attached(line: int, attachment: dict[str, Any]) -> Iterator[Event]:
    """What the user typed while the agent worked, at the place where the agent got it."""
    typed = attachment.get("type") == "queued_command" and attachment.get("commandMode", "prompt") == "prompt"
    if typed and (text := _typed(joined(attachment.get("prompt")))):
        yield Event(line, "user", text)
