"""Copilot CLI: an event per line. A call stands first in the message that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.blind.transcript import Event, Lines, arguments_text, joined, mapping, text_of


def recognises(head: bytes, name: str) -> bool:
    return name.endswith(".jsonl") and (b'"session.start"' in head or b'"user.message"' in head)


class CopilotCli(Lines):
    agent = "copilot-cli"

    def _events(self) -> Iterator[Event]:
        compaction: int | None = None
        asked: set[str] = set()
        for line, record in self.records():
            data = mapping(record.get("data"))
            if record.get("agentId") or data.get("parentToolCallId"):
                continue  # a sub-agent's
            kind = record.get("type")
            if kind == "session.compaction_start" or data.get("hookType") == "preCompact":
                compaction = line if compaction is None else compaction
            elif kind == "session.compaction_complete" and data.get("success") is not False:
                at = line if compaction is None else compaction
                yield Event(at, "compacted", text_of(data.get("summaryContent")))
                compaction = None
            elif kind == "abort":
                yield Event(line, "stopped", text_of(data.get("reason")))
            elif kind == "user.message":
                yield from _user(line, data)
            elif kind == "assistant.message":
                yield from _assistant(line, data, asked)
            elif kind == "tool.execution_start" and data.get("toolCallId") not in asked:
                yield _call(line, text_of(data.get("toolName")), data)
            elif kind == "tool.execution_complete":
                yield _result(line, data)


def _user(line: int, data: dict[str, Any]) -> Iterator[Event]:
    text = text_of(data.get("content")).strip()
    if text and not data.get("source") and not text.startswith("<"):
        yield Event(line, "user", text)


def _assistant(line: int, data: dict[str, Any], asked: set[str]) -> Iterator[Event]:
    if text := text_of(data.get("content")).strip():
        yield Event(line, "said", text)
    for request in data.get("toolRequests") or ():
        asked.add(text_of(mapping(request).get("toolCallId")))
        yield _call(line, text_of(mapping(request).get("name")), mapping(request))


def _call(line: int, tool: str, data: dict[str, Any]) -> Event:
    return Event(line, "call", arguments_text(data.get("arguments")), tool)


def _result(line: int, data: dict[str, Any]) -> Event:
    failed = data.get("success") is False
    given = data.get("error" if failed else "result")
    text = text_of(mapping(given).get("message")) or joined(given)
    return Event(line, "result", text, failed=failed)
