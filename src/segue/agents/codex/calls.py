"""The tool calls of Codex as steps: all names that its tools have had, and what their arguments mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.runs.steps import Act, Call, Change, Plan, PlanItem, Planning
from ..common import act_of, hunks_change, patch_changes, plain_text
from .wire import parsed, rows, table, text

SHELLS = frozenset(
    {"shell", "shell_command", "exec_command", "container.exec", "local_shell", "unified_exec"}
)
WAITS = frozenset({"wait", "wait_agent"})
CLOSES = "close_agent"
SCRIPT = "exec"  # the only tool of code mode

_ACTS: dict[str, Act] = {
    "update_plan": "plan",
    "spawn_agent": "agent",
    "request_user_input": "ask",
    "web_search": "web",
    "view_image": "read",
    "read_file": "read",
    "list_dir": "read",
    "grep_files": "search",
}
_STATES: dict[str, Planning] = {"pending": "pending", "in_progress": "active", "completed": "done"}
_PATHS = ("path", "file_path", "dir_path")
_ASKED: dict[str, tuple[str, ...]] = {
    "wait": ("cell_id", "ids"),
    "wait_agent": ("ids", "targets", "target"),
    "send_input": ("id", "target"),
    "send_message": ("target", "to"),
    "followup_task": ("target",),
    "resume_agent": ("id",),
    CLOSES: ("id", "target"),
}
"""The tools that ask, tell or stop an agent or a script, and the arguments that may have its id."""


def full_name(name: str, namespace: str) -> str:
    """A tool's name, with the server if it belongs to an MCP server."""
    return f"{namespace}__{name}" if namespace.startswith("mcp__") else name


def call_of(
    at: float, id: str, tool: str, arguments: Any, running: Mapping[str, list[str]] | None = None
) -> Call:
    """The call of a tool with these arguments: an object, the JSON text of one, or plain text."""
    value = parsed(arguments)
    if tool in SHELLS:
        return _of_shell(at, id, tool, value)
    if tool == "apply_patch":
        patch = value if isinstance(value, str) else plain_text(value)
        return _of_patch(at, id, tool, patch, patch_changes(patch))
    if tool == "write_stdin":
        process = str(table(value).get("session_id", ""))
        command = (running or {}).get(process, ["", ""])[1]
        chars = text(table(value).get("chars"))
        return Call(at, id, tool, "run", text=chars, command=command, process=process)
    return _of_other(at, id, tool, value)


def _of_shell(at: float, id: str, tool: str, arguments: Any) -> Call:
    fields = table(arguments)
    command = command_of(fields.get("command") or fields.get("cmd") or arguments)
    if "*** Begin Patch" in command:
        changes = patch_changes(command)
        if changes:
            return _of_patch(at, id, tool, command, changes)
    call_text = command
    for key, value in fields.items():
        if key not in ("command", "cmd") and (words := plain_text(value)):
            call_text = f"{call_text}\n{words}" if call_text else words
    return Call(at, id, tool, "run", text=call_text, command=command, note=text(fields.get("justification")))


def _of_patch(at: float, id: str, tool: str, patch: str, changes: tuple[Change, ...]) -> Call:
    paths = tuple(dict.fromkeys([change.path for change in changes]))
    return Call(at, id, tool, act_of(changes), text=patch, paths=paths, changes=changes)


def command_of(command: Any) -> str:
    """A command as the shell gets it: ``["bash", "-lc", "ls"]`` is ``ls``."""
    if isinstance(command, str):
        return command
    words = [word for word in rows(command) if isinstance(word, str)]
    if len(words) == 3 and words[1] in ("-lc", "-c", "-ic", "-Command", "/c"):
        return words[2]
    if not words:
        return text(command)
    import shlex

    return shlex.join(words)


def _of_other(at: float, id: str, tool: str, arguments: Any) -> Call:
    fields = table(arguments)
    act = _ACTS.get(tool, "other")
    paths = tuple(fields[key] for key in _PATHS if text(fields.get(key))) if act in ("read", "search") else ()
    note = text(fields.get("explanation")) or text(fields.get("task_name"))
    if act == "ask":
        questions = [text(table(question).get("question")) for question in rows(fields.get("questions"))]
        note = "\n".join(filter(None, questions))
    process = _asked(tool, fields) if tool in _ASKED else ""
    return Call(at, id, tool, act, text=plain_text(arguments), paths=paths, note=note, process=process)


def _asked(tool: str, fields: dict[str, Any]) -> str:
    """The id of the agent or script that a call is about, or of the first one."""
    for key in _ASKED[tool]:
        value = fields.get(key)
        first = value[0] if isinstance(value, list) and value else value
        if text(first):
            return text(first)
    return ""


def plan_of(at: float, arguments: Any) -> Plan | None:
    """The whole plan that ``update_plan`` sets; None if it has no items."""
    items = []
    for row in rows(table(parsed(arguments)).get("plan")):
        step = text(table(row).get("step"))
        if step:
            items.append(PlanItem(step, _STATES.get(text(table(row).get("status")), "pending")))
    return Plan(at, tuple(items)) if items else None


def call_of_changes(at: float, id: str, record: Any) -> Call:
    """The call that a record of changed files stands for, where the call itself could not be read."""
    files = table(record)
    changes = tuple([change for path, about in files.items() for change in _recorded(path, table(about))])
    parts = [part for change in changes for part in (change.path, change.old, change.new) if part]
    return Call(at, id, "apply_patch", act_of(changes), "\n".join(parts), paths=tuple(files), changes=changes)


def _recorded(path: str, about: dict[str, Any]) -> tuple[Change, ...]:
    kind = text(about.get("type"))
    if not kind:  # older versions: {"update": {…}}
        kind = next(iter(about), "")
        about = table(about.get(kind))
    diff, moved = text(about.get("unified_diff")), text(about.get("move_path"))
    if kind == "delete":
        return (Change(path, "delete"),)
    if kind == "add":
        return (Change(path, "create", "", text(about.get("content")) or hunks_change(path, diff).new),)
    if moved:
        return (Change(path, "delete"), hunks_change(moved, diff) if diff else Change(moved, "create"))
    return (hunks_change(path, diff),) if diff else (Change(path),)
