"""Gemini CLI's chats, read plainly: one JSON document, or lines of which the last with an id holds."""

from __future__ import annotations

import re
from typing import Any

from bench.resume.truth.events import STEP, Call, Edit, Message, Result, Transcript, text_of

_EXIT = re.compile(r"^Exit Code: (\d+)", re.M)
_BACKGROUND = re.compile(r"(?:moved to|running in) (?:the )?background.{0,40}?PID: (\d+)", re.S | re.I)
_STATES = {
    "completed": "done",
    "in_progress": "now",
    "pending": "open",
    "cancelled": "dropped",
    "blocked": "open",
}
_FOLDERS = re.compile(r"^\s+- (/\S.*|[A-Z]:\\.*)$", re.M)
_FRAME = re.compile(r"\n?--- Content from referenced files ---.*", re.S)


def read(messages: list[dict[str, Any]]) -> Transcript:
    """The transcript that these messages are; a message that comes again replaces the earlier one."""
    told = Transcript("gemini-cli", len(messages))
    newest: dict[str, tuple[int, dict[str, Any]]] = {}
    for number, message in enumerate(_flat(messages)):
        if isinstance(message.get("startTime"), str):
            told.times.append((number, message["startTime"]))
        if message.get("type"):
            key = str(message.get("id") or number)
            first = newest[key][0] if key in newest else number
            newest[key] = (first, message)
    for number, message in newest.values():
        _take(told, number * STEP, message)
    return told.finish()


def _flat(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages, also those that a line sets; such a line has the place of its first message."""
    flat = []
    for message in messages:
        given = message.get("$set")
        inner = given.get("messages") if isinstance(given, dict) else None
        flat.append(inner[0] if isinstance(inner, list) and inner and isinstance(inner[0], dict) else message)
    return flat


def _take(told: Transcript, record: int, message: dict[str, Any]) -> None:
    if isinstance(message.get("timestamp"), str):
        told.times.append((record, message["timestamp"]))
    kind, content = message.get("type"), message.get("content")
    if kind == "user":
        _asked(told, record, message)
    elif kind == "gemini":
        for thought in message.get("thoughts") or []:
            told.thoughts.append(Message(record, f"{thought.get('subject')}. {thought.get('description')}"))
        text = text_of(content)
        if text.strip():
            told.said.append(Message(record + 1, text))
        calls = [one for one in message.get("toolCalls") or [] if isinstance(one, dict)]
        for at, call in enumerate(calls):
            _called(told, record + 2 + at, call)
        if text.strip() and not calls:
            told.turn_ends.append(record + 1)
    elif kind == "error":
        told.faults.append(Message(record, text_of(content)))
    elif kind == "info" and re.search(r"request cancelled", text_of(content), re.I):
        told.interrupts.append(record)


def _asked(told: Transcript, record: int, message: dict[str, Any]) -> None:
    shown, given = text_of(message.get("displayContent")), message.get("content")
    parts = given if isinstance(given, list) else [{"text": text_of(given)}]
    texts = [text_of(part) for part in parts]
    typed = _FRAME.sub("", texts[0] if texts else "").strip()
    if typed.startswith("<session_context>"):
        told.folders += [(record, folder) for folder in _FOLDERS.findall(typed)]
        return
    for text in dict.fromkeys((shown.strip(), typed)):
        if text:
            sure = (not shown or text == shown.strip()) and not text.startswith("System: ")
            told.users.append(Message(record, text, sure))


def _called(told: Transcript, record: int, given: dict[str, Any]) -> None:
    arguments = given.get("args")
    arguments = arguments if isinstance(arguments, dict) else {}
    call = Call(record, str(given.get("id")), str(given.get("name")), arguments)
    path = str(arguments.get("file_path") or arguments.get("path") or "")
    if call.tool == "run_shell_command":
        call.command = str(arguments.get("command") or "")
        call.folder = str(arguments.get("dir_path") or arguments.get("directory") or "")
    elif call.tool == "replace" and path:
        call.edits = [
            Edit(path, "edit", str(arguments.get("new_string") or ""), str(arguments.get("old_string") or ""))
        ]
    elif call.tool == "write_file" and path:
        call.edits = [Edit(path, "create", str(arguments.get("content") or ""))]
    status = given.get("status")
    if status in ("success", "error", "cancelled"):
        response = [
            one.get("functionResponse", {}).get("response", {})
            for one in given.get("result") or []
            if isinstance(one, dict)
        ]
        text = "\n".join(text_of(one.get("output") or one.get("error") or "") for one in response)
        text = text.removeprefix("Output: ")
        result = Result(record, text, failed=status == "error")
        result.answered = text_of(given.get("resultDisplay"))
        if match := _EXIT.search(text):
            result.exit = int(match[1])
        result.refused = result.stopped = status == "cancelled"
        call.result = result
        if match := _BACKGROUND.search(text):
            told.started[match[1]] = record
    if call.tool == "write_todos" and call.result is not None and not call.result.failed:
        todos = [one for one in arguments.get("todos") or [] if isinstance(one, dict)]
        told.plans.append(
            (
                record,
                [(str(one.get("description")), _STATES.get(str(one.get("status")), "open")) for one in todos],
            )
        )
    told.calls.append(call)
