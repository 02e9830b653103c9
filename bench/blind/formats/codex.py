"""Codex: rollouts. Most things stand in them twice; the channel of response items is read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from bench.blind.transcript import Event, Lines, arguments_text, joined, mapping, text_of

_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
_EXIT = re.compile(r'"?exit_code"?\s*[:=]\s*(\d+)|exited with code (\d+)|Exit code: (\d+)')
_NOT_TYPED = ("<", "# AGENTS.md", "Another language model started to solve this problem")
_REQUEST = "## My request for Codex:"  # what the editor puts before it is not typed


def recognises(head: bytes, name: str) -> bool:
    if not name.endswith(".jsonl"):
        return False
    marks = (b'"session_meta"', b'"response_item"', b'"record_type"')
    return any(mark in head for mark in marks) or (b'"call_id"' in head and b'"function_call"' in head)


class Codex(Lines):
    agent = "codex"

    def _events(self) -> Iterator[Event]:
        for line, record in self.records():
            kind = record.get("type")
            payload = mapping(record.get("payload"))
            if kind == "compacted":
                yield Event(line, "compacted", text_of(payload.get("message")))
            elif kind == "event_msg" and payload.get("type") == "turn_aborted":
                yield Event(line, "stopped", text_of(payload.get("reason")))
            elif kind == "response_item":
                yield from _item(line, payload)
            elif not payload:
                yield from _item(line, record)  # as the first versions wrote it


def _item(line: int, item: dict[str, Any]) -> Iterator[Event]:
    kind = item.get("type")
    if kind == "message":
        yield from _message(line, item)
    elif kind in _CALLS:
        yield Event(line, "call", _arguments(item), text_of(item.get("name")) or str(kind))
    elif kind in _RESULTS:
        yield _result(line, item.get("output"))


def _message(line: int, item: dict[str, Any]) -> Iterator[Event]:
    text = joined(item.get("content")).strip()
    if item.get("role") == "assistant" and text:
        yield Event(line, "said", text)
    elif item.get("role") == "user" and not text.startswith(_NOT_TYPED):
        typed = text.rpartition(_REQUEST)[2].strip()
        if typed:
            yield Event(line, "user", typed)


def _arguments(item: dict[str, Any]) -> str:
    raw = item.get("arguments") or item.get("input") or item.get("action") or ""
    try:
        return arguments_text(json.loads(raw) if isinstance(raw, str) else raw)
    except ValueError:
        return arguments_text(raw)  # a patch, or a script


def _result(line: int, output: Any) -> Event:
    text = joined(output) or arguments_text(output)
    code = _EXIT.search(text)
    failed = code is not None and any(int(digits or 0) for digits in code.groups())
    return Event(line, "result", text, failed=failed)
