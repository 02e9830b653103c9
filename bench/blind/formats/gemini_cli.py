"""Gemini CLI: one document, or since 2026 a log of lines in which a message is written again as it grows.

A call is written only together with its result. In a document, the calls of a message are one record, because
the model asked for them at once, and the message without them is another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.blind.transcript import (
    Event,
    Lines,
    arguments_text,
    in_order,
    joined,
    mapping,
    text_of,
    written,
)

_STEERING = re.compile(r"User steering update:\s*<user_input>\n?(.*?)\n?</user_input>", re.DOTALL)
_NOT_TYPED = (
    "<",
    "System: ",
    "This is the Gemini CLI. We are setting up the context",
    "Here is the user's editor context",
    "Here is a summary of changes in the user's editor context",
    "[Background command completed",
    "[The previous response was interrupted",
)
_REFERENCED = "--- Content from referenced files ---"
_KEPT = ("sessionId", "projectHash", "startTime", "kind", "directories")  # the rest was written at the end


def recognises(head: bytes, name: str) -> bool:
    return name.endswith((".json", ".jsonl")) and b'"sessionId"' in head and b'"projectHash"' in head


def read(path: Path) -> GeminiLog | GeminiDocument:
    return GeminiDocument(path) if path.suffix == ".json" else GeminiLog(path)


class GeminiLog(Lines):
    agent = "gemini-cli"

    def _events(self) -> Iterator[Event]:
        seen = _Seen()
        for line, record in self.records():
            for message in mapping(record.get("$set")).get("messages") or ():
                text = joined(mapping(message).get("content"))
                if "<state_snapshot>" in text and seen.is_new("snapshot", text):
                    yield Event(line, "compacted", text)
            if "type" in record:
                yield from _message(line, line, record, seen)


class GeminiDocument:
    agent = "gemini-cli"
    copied = 0

    def __init__(self, path: Path) -> None:
        self.path = path
        document = mapping(json.loads(path.read_bytes()))
        self.head = {key: value for key, value in document.items() if key in _KEPT}
        self.messages = [mapping(message) for message in document.get("messages") or ()]
        self.events = in_order(self._events())

    def _events(self) -> Iterator[Event]:
        for number, message in enumerate(self.messages):
            yield from _message(2 * number, 2 * number + 1, message, _Seen())

    def write_until(self, record: int, folder: Path) -> Path:
        number, inside = divmod(record, 2)
        messages = self.messages[:number]
        if inside:
            began = self.messages[number]
            late = ("toolCalls", "tokens")
            messages.append({key: value for key, value in began.items() if key not in late})
        stamps = [text_of(message.get("timestamp")) for message in messages]
        document = {**self.head, "lastUpdated": max(stamps, default=""), "messages": messages}
        data = json.dumps(document, ensure_ascii=False, indent=2).encode()
        return written(folder, self.path.name, data)


class _Seen:
    """What earlier lines said of a message."""

    def __init__(self) -> None:
        self.known: set[tuple[str, str]] = set()

    def is_new(self, id: str, text: str) -> bool:
        new = (id, text) not in self.known
        self.known.add((id, text))
        return new


def _message(record: int, calls_record: int, message: dict[str, Any], seen: _Seen) -> Iterator[Event]:
    id = text_of(message.get("id"))
    shown = message.get("displayContent") or message.get("content")
    text = joined(shown).strip()
    if message.get("type") == "user":
        if (typed := _typed(text)) and seen.is_new(id, typed):
            yield Event(record, "user", typed)
    elif message.get("type") == "gemini":
        if text and seen.is_new(id, text):
            yield Event(record, "said", text)
        for call in message.get("toolCalls") or ():
            yield from _call(calls_record, mapping(call), seen)
    elif message.get("type") == "info" and "cancelled" in text:
        yield Event(record, "stopped", "by the user")


def _typed(text: str) -> str:
    """What the user typed, empty if the harness wrote the text."""
    if steering := _STEERING.match(text):
        text = steering[1]
    text = text.partition(_REFERENCED)[0].strip()
    return "" if text.startswith(_NOT_TYPED) else text


def _call(record: int, call: dict[str, Any], seen: _Seen) -> Iterator[Event]:
    id = text_of(call.get("id"))
    if seen.is_new(id, "call"):
        yield Event(record, "call", arguments_text(call.get("args")), text_of(call.get("name")))
    if call.get("result") is not None and seen.is_new(id, "result"):
        answers = [mapping(mapping(part).get("functionResponse")).get("response") for part in call["result"]]
        text = "\n".join(
            text_of(mapping(answer).get("output")) or text_of(mapping(answer).get("error"))
            for answer in answers
        )
        yield Event(record, "result", text, failed=call.get("status") == "error")
