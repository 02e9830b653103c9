"""A tool call of Codex as a ``Call``: the names that its tools have had, and what their arguments mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.runs.steps import Act, Call, Plan, PlanItem, Planning
from ..common import patched, plain
from .wire import parsed, rows, table, text

SHELLS = frozenset(
    {"shell", "shell_command", "exec_command", "container.exec", "local_shell", "unified_exec"}
)
WAITS = frozenset({"wait", "wait_agent"})
SCRIPT = "exec"  # code mode's one tool

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
    """A tool's name; of an MCP server's, with the server."""
    return f"{namespace}__{name}" if namespace.startswith("mcp__") else name


def made(
    at: float, id: str, tool: str, arguments: Any, running: Mapping[str, list[str]] | None = None
) -> Call:
    """The call of a tool with these arguments: a table, a JSON text of one, or plain text."""
    given = parsed(arguments)
    if tool in SHELLS:
        return _of_shell(at, id, tool, given)
    if tool == "apply_patch":
        patch = given if isinstance(given, str) else plain(given)
        act, paths = patched(_headings(patch))
        return Call(at, id, tool, act, text=patch, paths=paths)
    if tool == "write_stdin":
        carried = (running or {}).get(str(table(given).get("session_id")), ["", ""])
        return Call(at, id, tool, "run", text=text(table(given).get("chars")), command=carried[1])
    return _of_other(at, id, tool, given)


def _of_shell(at: float, id: str, tool: str, given: Any) -> Call:
    fields = table(given)
    command = command_of(fields.get("command") or fields.get("cmd") or given)
    if "*** Begin Patch" in command:
        act, paths = patched(_headings(command))
        if paths:
            return Call(at, id, tool, act, text=command, paths=paths)
    rest = [plain(value) for key, value in fields.items() if key != "command" and key != "cmd"]
    said = "\n".join(filter(None, (command, *rest)))
    return Call(at, id, tool, "run", text=said, command=command, note=text(fields.get("justification")))


def _headings(patch: str) -> str:
    """The lines of a patch that begin with ``***``: few, found without looking at each of the others."""
    lines = [patch.partition("\n")[0]]
    at = patch.find("\n*** ")
    while at >= 0:
        end = patch.find("\n", at + 1)
        lines.append(patch[at + 1 : end if end >= 0 else len(patch)])
        at = patch.find("\n*** ", at + 1)
    return "\n".join(lines)


def command_of(given: Any) -> str:
    """A command as its shell gets it: ``["bash", "-lc", "ls"]`` is ``ls``."""
    if isinstance(given, str):
        return given
    words = [one for one in rows(given) if isinstance(one, str)]
    if len(words) == 3 and words[1] in ("-lc", "-c", "-ic", "-Command", "/c"):
        return words[2]
    if not words:
        return text(given)
    import shlex

    return shlex.join(words)


def _of_other(at: float, id: str, tool: str, given: Any) -> Call:
    fields = table(given)
    act = _ACTS.get(tool, "other")
    paths = tuple(fields[key] for key in _PATHS if text(fields.get(key))) if act in ("read", "search") else ()
    note = text(fields.get("explanation")) or text(fields.get("task_name"))
    if act == "ask":
        questions = [text(table(one).get("question")) for one in rows(fields.get("questions"))]
        note = "\n".join(filter(None, questions))
    return Call(at, id, tool, act, text=plain(given), paths=paths, note=note)


def planned(at: float, arguments: Any) -> Plan | None:
    """The plan that ``update_plan`` sets; it is always whole."""
    items = []
    for row in rows(table(parsed(arguments)).get("plan")):
        said = text(table(row).get("step"))
        if said:
            items.append(PlanItem(said, _STATES.get(text(table(row).get("status")), "pending")))
    return Plan(at, tuple(items)) if items else None


def changed(at: float, id: str, changes: Any) -> Call:
    """The call behind a record of changed files, where the call itself was not readable."""
    files = table(changes)
    kinds = {text(table(change).get("type")) or next(iter(table(change)), "") for change in files.values()}
    act: Act = "create" if kinds == {"add"} else "delete" if kinds == {"delete"} else "edit"
    return Call(at, id, "apply_patch", act, text=_patch(files), paths=tuple(files))


def _patch(files: dict[str, Any]) -> str:
    parts = []
    for path, change in files.items():
        told = table(change)
        told = told if "type" in told else next((table(one) for one in told.values()), {})
        parts.append(
            "\n".join(filter(None, (path, text(told.get("unified_diff")) or text(told.get("content")))))
        )
    return "\n".join(parts)
