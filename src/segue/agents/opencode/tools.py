"""The tool calls of OpenCode as steps, their plans and their outputs."""

from __future__ import annotations

import re
from typing import Any

from ...core.base.lazy import regex
from ...core.runs.steps import Act, Call, Plan, Planning
from ..common import patch_targets, plain_text, question_texts, todo_items
from .wire import Metadata, State

ACTS: dict[str, Act] = {
    "bash": "run", "read": "read", "edit": "edit", "multiedit": "edit", "write": "create",
    "patch": "edit", "apply_patch": "edit", "list": "search", "glob": "search", "grep": "search",
    "codesearch": "search", "lsp": "search", "webfetch": "web", "websearch": "web", "task": "agent",
    "todowrite": "plan", "todoread": "plan", "plan_exit": "plan", "question": "ask",
}  # fmt: skip
STATES: dict[str, Planning] = {"in_progress": "active", "completed": "done", "cancelled": "dropped"}

_FILE = regex(r"\A(?:<path>.*?</path>\s*)?(?:<type>.*?</type>\s*)?<(content|file|entries)>\n?(.*)", re.S)
_TASK = regex(r"</?task(?:_result|_metadata|_error)?\b[^>]*>|^task_id: .*$", re.M)

REFUSED = regex(
    r"\AThe user (?:dismissed this question|rejected permission(?: to use this specific tool call)?)"
    r"(?: with (?:the following )?feedback: ?(.*))?",
    re.S,
)
_NOTHING = "(no output)"


def call(at: float, id: str, tool: str, state: State, about: Metadata) -> Call:
    """The call of a tool, whatever its state."""
    arguments = state.input if isinstance(state.input, dict) else {}
    act = ACTS.get(tool, "other")
    paths = tuple(
        arguments[key]
        for key in ("filePath", "path")
        if isinstance(arguments.get(key), str) and arguments[key]
    )
    patch = arguments.get("patchText")
    if isinstance(patch, str):
        act, paths = patch_targets(patch)
    elif tool == "write" and about.exists:
        act = "edit"
    note = question_texts(arguments) if act == "ask" else arguments.get("description")
    command = arguments.get("command") if act == "run" else ""
    return Call(
        at, id, tool, act, plain_text(arguments), command if isinstance(command, str) else "",
        paths, note if isinstance(note, str) else "",
    )  # fmt: skip


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
