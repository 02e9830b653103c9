"""What OpenCode's tools do, and what their arguments and results say."""

from __future__ import annotations

import re
from typing import Any

from ...core.base.lazy import regex
from ...core.runs.steps import Act, Call, Plan, PlanItem, Planning
from ..common import patched, plain
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
    """The call, of whatever state."""
    given = state.input if isinstance(state.input, dict) else {}
    act = ACTS.get(tool, "other")
    paths = tuple(
        given[key] for key in ("filePath", "path") if isinstance(given.get(key), str) and given[key]
    )
    patch = given.get("patchText")
    if isinstance(patch, str):
        act, paths = patched(patch)
    elif tool == "write" and about.exists:
        act = "edit"
    note = _asked(given) if act == "ask" else given.get("description")
    command = given.get("command") if act == "run" else ""
    return Call(
        at, id, tool, act, plain(given), command if isinstance(command, str) else "",
        paths, note if isinstance(note, str) else "",
    )  # fmt: skip


def output(tool: str, text: str) -> str:
    """A result's text without the tags that the harness puts around it."""
    if tool == "read":
        found = _FILE.match(text)
        return found[2].removesuffix(f"</{found[1]}>").strip("\n") if found else text
    if text.strip() == _NOTHING:
        return ""
    return _TASK.sub("", text).strip() if tool == "task" else text


def plan(at: float, todos: Any) -> Plan | None:
    """The whole plan, from the argument of ``todowrite`` or the rows of ``todo``."""
    if not isinstance(todos, list):
        return None
    return Plan(
        at,
        tuple(
            PlanItem(todo["content"], STATES.get(str(todo.get("status")), "pending"))
            for todo in todos
            if isinstance(todo, dict) and isinstance(todo.get("content"), str)
        ),
    )


def _asked(given: dict[str, Any]) -> str:
    asked = given.get("questions")
    return "\n".join(
        one["question"]
        for one in (asked if isinstance(asked, list) else ())
        if isinstance(one, dict) and isinstance(one.get("question"), str)
    )
