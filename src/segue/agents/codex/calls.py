"""The tool calls of Codex as steps: all names that its tools have had, and what their arguments mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.runs.steps import Act, Call, Plan, PlanItem, Planning
from ..common import patch_targets, plain_text
from .wire import parsed, rows, table, text

SHELLS = frozenset(
    {"shell", "shell_command", "exec_command", "container.exec", "local_shell", "unified_exec"}
)
WAITS = frozenset({"wait", "wait_agent"})
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
        act, paths = patch_targets(_headings(patch))
        return Call(at, id, tool, act, text=patch, paths=paths)
    if tool == "write_stdin":
        carried = (running or {}).get(str(table(value).get("session_id")), ["", ""])
        return Call(at, id, tool, "run", text=text(table(value).get("chars")), command=carried[1])
    return _of_other(at, id, tool, value)


def _of_shell(at: float, id: str, tool: str, arguments: Any) -> Call:
    fields = table(arguments)
    command = command_of(fields.get("command") or fields.get("cmd") or arguments)
    if "*** Begin Patch" in command:
        act, paths = patch_targets(_headings(command))
        if paths:
            return Call(at, id, tool, act, text=command, paths=paths)
    rest = [plain_text(value) for key, value in fields.items() if key != "command" and key != "cmd"]
    call_text = "\n".join(filter(None, (command, *rest)))
    return Call(at, id, tool, "run", text=call_text, command=command, note=text(fields.get("justification")))


def _headings(patch: str) -> str:
    """The few lines of a patch that begin with ``***``, found without examining the others."""
    lines = [patch.partition("\n")[0]]
    at = patch.find("\n*** ")
    while at >= 0:
        end = patch.find("\n", at + 1)
        lines.append(patch[at + 1 : end if end >= 0 else len(patch)])
        at = patch.find("\n*** ", at + 1)
    return "\n".join(lines)


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
    return Call(at, id, tool, act, text=plain_text(arguments), paths=paths, note=note)


def plan_of(at: float, arguments: Any) -> Plan | None:
    """The whole plan that ``update_plan`` sets; None if it has no items."""
    items = []
    for row in rows(table(parsed(arguments)).get("plan")):
        step = text(table(row).get("step"))
        if step:
            items.append(PlanItem(step, _STATES.get(text(table(row).get("status")), "pending")))
    return Plan(at, tuple(items)) if items else None


def call_of_changes(at: float, id: str, changes: Any) -> Call:
    """The call that a record of changed files stands for, where the call itself could not be read."""
    files = table(changes)
    kinds = {text(table(change).get("type")) or next(iter(table(change)), "") for change in files.values()}
    act: Act = "create" if kinds == {"add"} else "delete" if kinds == {"delete"} else "edit"
    return Call(at, id, "apply_patch", act, text=_patch(files), paths=tuple(files))


def _patch(files: dict[str, Any]) -> str:
    parts: list[str] = []
    for path, change in files.items():
        fields = table(change)
        if "type" not in fields:  # older versions: {"update": {…}}
            fields = next((table(inner) for inner in fields.values()), {})
        parts += filter(None, (path, text(fields.get("unified_diff")) or text(fields.get("content"))))
    return "\n".join(parts)
