"""The tool calls of OpenCode as steps, their plans and their outputs."""

from __future__ import annotations

import re
from typing import Any

from ...core.base.lazy import regex
from ...core.runs.steps import Act, Call, Change, Plan, Planning
from ..common import act_of, patch_changes, plain_text, question_texts, replacement, todo_items
from .wire import Metadata, State

ACTS: dict[str, Act] = {
    "bash": "run", "read": "read", "edit": "edit", "multiedit": "edit", "write": "create",
    "patch": "edit", "apply_patch": "edit", "list": "search", "glob": "search", "grep": "search",
    "codesearch": "search", "lsp": "search", "webfetch": "web", "websearch": "web", "task": "agent",
    "todowrite": "plan", "todoread": "plan", "plan_exit": "plan", "question": "ask",
}  # fmt: skip
STATES: dict[str, Planning] = {"in_progress": "active", "completed": "done", "cancelled": "dropped"}

_FILE = regex(r"\A(?:<path>.*?</path>\s*)?(?:<type>.*?</type>\s*)?<(content|file|entries)>\n?(.*)", re.S)
_TASK = regex(r"<summary>[^<]*</summary>\n?|</?task(?:_result|_metadata|_error)?\b[^>]*>|^task_id: .*$", re.M)
TASK_STATE = regex(r'\A<task id="([^"]+)" state="(\w+)">')
_SHELL_NOTE = regex(r"\s*<((?:bash|shell)_)?metadata>\n([^<>]*)\n</\1?metadata>\Z")

REFUSED = regex(
    r"\AThe user (?:dismissed this question|rejected permission(?: to use this specific tool call)?)"
    r"(?: with (?:the following )?feedback: ?(.*))?",
    re.S,
)
_NOTHING = "(no output)"
ABORTED = "User aborted the command"


def call(at: float, id: str, tool: str, state: State, about: Metadata, process: str = "") -> Call:
    """The call of a tool, whatever its state; ``process`` is the background task that it writes to."""
    arguments = state.input if isinstance(state.input, dict) else {}
    act = ACTS.get(tool, "other")
    paths = tuple(
        arguments[key]
        for key in ("filePath", "path")
        if isinstance(arguments.get(key), str) and arguments[key]
    )
    patch = arguments.get("patchText")
    changes: tuple[Change, ...] = ()
    if isinstance(patch, str):
        changes = patch_changes(patch)
        act, paths = act_of(changes), tuple(dict.fromkeys(change.path for change in changes))
    elif tool == "write" and about.exists:
        act = "edit"
    if paths and not changes:
        changes = _changes(tool, paths[0], arguments)
    note = question_texts(arguments) if act == "ask" else arguments.get("description")
    command = arguments.get("command") if act == "run" else ""
    return Call(
        at, id, tool, act, plain_text(arguments), command if isinstance(command, str) else "",
        paths, note if isinstance(note, str) else "", changes, process,
    )  # fmt: skip


def _changes(tool: str, path: str, arguments: dict[str, Any]) -> tuple[Change, ...]:
    """What a tool that edits one file changes in it."""
    if tool == "write":
        content = arguments.get("content")
        return (Change(path, "create", "", content),) if isinstance(content, str) else ()
    if tool == "edit":
        edits: list[Any] = [arguments]
    elif tool == "multiedit":
        edits = arguments["edits"] if isinstance(arguments.get("edits"), list) else []
    else:
        return ()
    return replacement(path, edits, "oldString", "newString")


def settled(text: str) -> tuple[str, bool, str] | None:
    """The id of a background task that a notice of the harness says to have ended, whether it succeeded, and
    its report; None if the text is no such notice."""
    match = TASK_STATE.match(text)
    if match is None or match[2] == "running":
        return None
    return match[1], match[2] == "completed", _TASK.sub("", text).strip()


def shell_output(text: str) -> tuple[str, str]:
    """The output of a command, and the harness's note after it: that it ran out of time, or was aborted."""
    note = _SHELL_NOTE.search(text) if text.endswith("metadata>") else None
    if note is None:
        return text, ""
    text = text[: note.start()]
    return "" if text.strip() == _NOTHING else text, note[2]


def output(tool: str, text: str) -> str:
    """The text of a result without the tags that the harness puts around it."""
    if tool == "read":
        match = _FILE.match(text)
        return match[2].removesuffix(f"</{match[1]}>").strip("\n") if match else text
    if text.strip() == _NOTHING:
        return ""
    return _TASK.sub("", text).strip() if tool == "task" else text


def plan(at: float, todos: Any) -> Plan | None:
    """The whole plan, from the argument of ``todowrite`` or the rows of ``todo``."""
    return Plan(at, todo_items(todos, "content", STATES)) if isinstance(todos, list) else None
