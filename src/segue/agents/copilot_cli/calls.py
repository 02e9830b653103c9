"""The tool calls of Copilot CLI as steps, and the plan in their arguments.

A plan is rows of a table that the ``sql`` tool writes, a task list in ``plan.md`` or, before 2026, the text
of ``update_todo``. SQL statements are parsed, never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...core.base.lazy import regex
from ...core.runs.steps import EDITS, Act, Call, Change, Plan, PlanItem, Planning
from ..common import act_of, checklist, patch_changes, plain_text, replacement

ACTS: dict[str, Act] = {
    "bash": "run", "powershell": "run", "shell": "run", "write_bash": "run", "write_powershell": "run",
    "view": "read", "show_file": "read", "create": "create", "edit": "edit", "str_replace": "edit",
    "insert": "edit", "str_replace_editor": "edit", "apply_patch": "edit", "delete": "delete",
    "grep": "search", "rg": "search", "glob": "search", "search_code_subagent": "search",
    "web_search": "web", "web_fetch": "web", "fetch": "web", "task": "agent",
    "ask_user": "ask", "update_todo": "plan", "exit_plan_mode": "plan",
}  # fmt: skip
_PROCESS = regex(r"(?:read|write|stop)_(?:bash|powershell|shell|agent)")
_PROCESS_IDS = ("shellId", "sessionId", "agent_id")
_PROCESS_CHARS_MAX = 200
_EDITOR: dict[str, Act] = {"view": "read", "create": "create"}  # the command of str_replace_editor
_FILES: frozenset[Act] = frozenset({"read", "edit", "create", "delete"})
_PATHS = ("path", "file_path", "filePath", "filename")
_NOTES = ("description", "question", "intent", "summary")

_STATES: dict[str, Planning] = {
    "in_progress": "active",
    "done": "done",
    "completed": "done",
    "cancelled": "dropped",
}
_SQL_MAX = 65_536
_COLUMNS = ["id", "title", "description", "status"]
_INSERT = regex(r"\b(?:INSERT\s+(?:OR\s+\w+\s+)?|REPLACE\s+)INTO\s+todos\s*(?:\(([^)]*)\))?\s*VALUES\b", re.I)
_TOKEN = regex(r"\s*(?:'((?:[^']|'')*)'|([(),;])|([^\s(),;']+))")
_UPDATE = regex(r"\bUPDATE\s+todos\s+SET\s+([^;]*?)\s+WHERE\s+id\s*(?:=|IN)\s*([^;]*)", re.I)
_DELETE = regex(r"\bDELETE\s+FROM\s+todos\s+WHERE\s+id\s*(?:=|IN)\s*([^;]*)", re.I)
_QUOTED = regex(r"'((?:[^']|'')*)'")
_STATUS = regex(r"\bstatus\s*=\s*'(\w+)'", re.I)
_TITLE = regex(r"\btitle\s*=\s*'((?:[^']|'')*)'", re.I)


def call_of(at: float, id: str, tool: str, arguments: Any, intention: str | None) -> Call:
    """The call of a tool with these arguments."""
    fields = arguments if isinstance(arguments, dict) else {}
    act = _act(tool, fields)
    text = plain_text(arguments)
    paths: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    if tool == "apply_patch":
        changes = patch_changes(text)
        act, paths = act_of(changes), tuple(dict.fromkeys(change.path for change in changes))
    elif act in _FILES:
        paths = tuple(_strings(fields, _PATHS))
        if act in EDITS and paths:
            changes = _changes(act, paths[0], fields)
    command = fields.get("command") if act == "run" else None
    note = next(_strings(fields, _NOTES), "") or intention or ""
    if act == "run" and not isinstance(command, str):
        command = fields.get("input")
    process = next(_strings(fields, _PROCESS_IDS), "") if _PROCESS.fullmatch(tool) else ""
    process = process if len(process) <= _PROCESS_CHARS_MAX else ""
    return Call(
        at, id, tool, act, text, command if isinstance(command, str) else "", paths, note, changes, process
    )


def _changes(act: Act, path: str, fields: dict[str, Any]) -> tuple[Change, ...]:
    """What a tool that edits one file changes in it."""
    if act == "delete":
        return (Change(path, "delete"),)
    if act == "create":
        content = next(_strings(fields, ("file_text", "content")), None)
        return (Change(path, "create", "", content),) if content is not None else ()
    inserted = next(_strings(fields, ("insert_text",)), None)
    if inserted is not None:
        return (Change(path, "edit", "", inserted),)
    return replacement(path, [fields], "old_str", "new_str")


def _act(tool: str, fields: dict[str, Any]) -> Act:
    if tool == "str_replace_editor":
        return _EDITOR.get(str(fields.get("command")), "edit")
    if tool == "sql" and re.search(r"\btodos\b", _query(fields)):
        return "plan"
    return ACTS.get(tool, "other")


def _strings(fields: dict[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    return (fields[name] for name in names if isinstance(fields.get(name), str) and fields[name])


def _query(fields: dict[str, Any]) -> str:
    query = fields.get("query")
    return query[:_SQL_MAX] if isinstance(query, str) else ""


def plan_of(call: Call, arguments: Any) -> Plan | None:
    """The plan that a call sets or changes; None if it does neither."""
    fields = arguments if isinstance(arguments, dict) else {}
    items: tuple[PlanItem, ...] = ()
    whole = True
    if call.tool == "sql":
        items, whole = tuple(todos(_query(fields))), False
    elif call.tool == "update_todo":
        items = checklist(plain_text(fields.get("todos")))
    elif call.tool == "exit_plan_mode":
        items = checklist(plain_text(arguments))
    elif any(path.replace("\\", "/").endswith("/plan.md") for path in call.paths):
        if call.act == "create":
            items = checklist(plain_text(fields.get("file_text") or fields.get("content")))
        elif call.act == "edit":
            items, whole = checklist(plain_text(fields.get("new_str"))), False
    return Plan(call.at, items, whole) if items else None


def todos(query: str) -> Iterator[PlanItem]:
    """The rows of the table ``todos`` that SQL statements add, change or delete."""
    for match in _INSERT.finditer(query):
        columns = [name.strip(' "`[]') for name in match[1].split(",")] if match[1] else _COLUMNS
        for row in _rows(query, match.end()):
            values = dict(zip(columns, row, strict=False))
            if values.get("id") or values.get("title"):
                state = _state(values.get("status", "pending"))
                yield PlanItem(values.get("title", ""), state, values.get("id", ""))
    for match in _UPDATE.finditer(query):
        status, title = _STATUS.search(match[1]), _TITLE.search(match[1])
        if status or title:
            for key in _QUOTED.findall(match[2]):
                yield PlanItem(
                    _unquoted(title[1]) if title else "", _state(status[1]) if status else "", _unquoted(key)
                )
    for match in _DELETE.finditer(query):
        for key in _QUOTED.findall(match[1]):
            yield PlanItem("", "dropped", _unquoted(key))


def _rows(query: str, at: int) -> Iterator[list[str]]:
    """The tuples after VALUES, as strings."""
    row: list[str] | None = None
    while match := _TOKEN.match(query, at):
        at = match.end()
        text, mark, word = match.groups()
        if mark == "(":
            row = []
        elif mark == ")" and row is not None:
            yield row
            row = None
        elif mark == ";" or (row is None and mark != ","):
            return
        elif row is not None and mark is None:
            row.append(_unquoted(text) if text is not None else "" if word.upper() == "NULL" else word)


def _state(status: str) -> Planning:
    return _STATES.get(status.lower(), "pending")


def _unquoted(text: str) -> str:
    return text.replace("''", "'")
