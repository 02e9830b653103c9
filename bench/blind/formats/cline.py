"""Cline and Roo: a folder with the messages to the model and what the user saw. A record is a message.

Tools are blocks or, with Roo and with models without tools, XML in the text. What the user saw has times of
its own, and is written before the message that it belongs to; at a cut only what surely was seen is kept. The
other documents of a task tell how it ended, and are left out.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.blind.transcript import (
    Event,
    arguments_text,
    blocks,
    in_order,
    joined,
    mapping,
    text_of,
    written,
)

API, UI = "api_conversation_history.json", "ui_messages.json"
_TOOLS = (
    "execute_command|read_command_output|read_file|fetch_instructions|write_to_file|replace_in_file|apply_diff|"
    "apply_patch|insert_content|search_and_replace|edit_file|search_files|list_files|"
    "list_code_definition_names|codebase_search|browser_action|use_mcp_tool|access_mcp_resource|"
    "load_mcp_documentation|ask_followup_question|plan_mode_respond|attempt_completion|new_task|"
    "switch_mode|update_todo_list|web_fetch|web_search|condense|run_slash_command|generate_image"
)
_XML_CALL = re.compile(rf"<({_TOOLS})>(.*?)(?:</\1>|\Z)", re.DOTALL)
_THINKING = re.compile(r"<thinking>.*?(?:</thinking>|\Z)", re.DOTALL)
_TASK = re.compile(r"\s*<(task|user_message)>\n?(.*?)\n?</\1>", re.DOTALL)
_WORDS = re.compile(r"^<(feedback|answer|user_message)>\n?(.*?)\n?</\1>", re.DOTALL | re.MULTILINE)
_RESULT = re.compile(r"\[(\w+)(?: for .*?)?\] Result:", re.DOTALL)
_COMMENTED = re.compile(r"(?:\(see below for feedback\) ?)?The user (?:approved|denied) this operation")
_MESSAGES = ("attempt_completion", "plan_mode_respond")
_ANSWERS = frozenset({"ask_followup_question", "attempt_completion", "plan_mode_respond", "new_task"})
_ROO = (b"<slug>", b"Current time in ISO 8601", b"update_todo_list", b'"isSummary"')


def recognises(head: bytes, name: str) -> bool:
    return name == API


class Task:
    copied = 0

    def __init__(self, path: Path) -> None:
        self.path = path
        data = path.read_bytes()
        self.agent = "roo" if any(mark in data for mark in _ROO) else "cline"
        self.api = [mapping(message) for message in json.loads(data)]
        self.ui = _shown(path.with_name(UI))
        self.events = in_order(self._events())

    def _events(self) -> Iterator[Event]:
        for number, message in enumerate(self.api):
            if message.get("isSummary"):
                yield Event(number, "compacted", joined(message.get("content")))
            elif message.get("role") == "assistant":
                for block in blocks(message.get("content")):
                    yield from _assistant(number, block)
            else:
                yield from _user(number, blocks(message.get("content")))
        if not any(message.get("isSummary") for message in self.api):
            yield from self._condensed()

    def _condensed(self) -> Iterator[Event]:
        """Condensations of which only the user was told."""
        times = [message.get("ts") or 0 for message in self.api]
        for one in self.ui:
            summary = text_of(mapping(one.get("contextCondense")).get("summary"))
            if one.get("say") == "condense_context" and summary and times == sorted(times):
                yield Event(bisect_right(times, one.get("ts") or 0), "compacted", summary)

    def write_until(self, record: int, folder: Path) -> Path:
        inside = folder / (self.path.parent.name or "task")
        inside.mkdir()
        shown = self._shown_until(record)
        if shown:
            written(inside, UI, json.dumps(shown, ensure_ascii=False).encode())
        return written(inside, API, json.dumps(self.api[:record], ensure_ascii=False).encode())

    def _shown_until(self, record: int) -> list[dict[str, Any]]:
        """What the user had seen before a message began; nothing where that cannot be told."""
        ends = [message["ts"] for message in self.api[:record] if isinstance(message.get("ts"), int | float)]
        if ends:
            return [
                one for one in self.ui if isinstance(one.get("ts"), int | float) and one["ts"] <= ends[-1]
            ]
        places = [one.get("conversationHistoryIndex") for one in self.ui]
        if not all(isinstance(place, int) for place in places):
            return []
        return [one for one in self.ui if one["conversationHistoryIndex"] < record - 1]


def _shown(path: Path) -> list[dict[str, Any]]:
    try:
        shown = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return []
    return [mapping(one) for one in shown] if isinstance(shown, list) else []


def _assistant(record: int, block: dict[str, Any]) -> Iterator[Event]:
    if block.get("type") == "tool_use" and block.get("name") == "condense":
        yield Event(record, "compacted", arguments_text(block.get("input")))
    elif block.get("type") == "tool_use":
        yield _call(record, text_of(block.get("name")), arguments_text(block.get("input")))
    elif block.get("type") == "text":
        yield from _text(record, _THINKING.sub("", text_of(block.get("text"))))


def _call(record: int, tool: str, arguments: str) -> Event:
    """A call; one that only hands a message to the user is what the agent said."""
    return Event(record, "said", arguments) if tool in _MESSAGES else Event(record, "call", arguments, tool)


def _text(record: int, text: str) -> Iterator[Event]:
    """What was said, with the calls that are written into it."""
    end = 0
    for call in _XML_CALL.finditer(text):
        if said := text[end : call.start()].strip():
            yield Event(record, "said", said)
        if call[1] == "condense":
            yield Event(record, "compacted", call[2].strip())
        else:
            yield _call(record, call[1], call[2].strip())
        end = call.end()
    if said := text[end:].strip():
        yield Event(record, "said", said)


def _user(record: int, content: list[dict[str, Any]]) -> Iterator[Event]:
    tool = ""  # whose result the next text is, where the heading is a text of its own
    for block in content:
        text = joined(block.get("content") if block.get("type") == "tool_result" else block.get("text"))
        heading = _RESULT.match(text)
        if heading or tool or block.get("type") == "tool_result":
            given = text[heading.end() :].strip() if heading else text
            tool = heading[1] if heading else tool
            if given:
                yield Event(record, "result", given, failed="The tool execution failed" in given[:400])
                if tool in _ANSWERS or _COMMENTED.match(given):
                    yield from _typed(record, given)
                tool = ""
        elif task := _TASK.match(text):
            yield Event(record, "user", task[2])
        elif not text.lstrip().startswith("<environment_details>"):
            yield from _typed(record, text)


def _typed(record: int, text: str) -> Iterator[Event]:
    return (Event(record, "user", words[2]) for words in _WORDS.finditer(text))
