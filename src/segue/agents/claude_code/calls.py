"""The tool calls of Claude Code as steps: what each tool does, and what its arguments change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ...core.base.definitions import enclosing
from ...core.base.lazy import json_decoder
from ...core.runs.steps import Act, Call, Change, Plan, PlanItem, Planning, Step
from ..base import DECODE_ERRORS
from ..common import plain_text, question_texts, rewritten, todo_items
from .background import process_asked
from .wire import Block

ACTS: dict[str, Act] = {
    "Read": "read", "NotebookRead": "read", "LS": "search", "Glob": "search", "Grep": "search",
    "Edit": "edit", "MultiEdit": "edit", "NotebookEdit": "edit", "Write": "create",
    "LSP": "search", "Bash": "run", "PowerShell": "run", "BashOutput": "other", "KillShell": "other",
    "TaskOutput": "other", "TaskStop": "other",
    "TodoWrite": "plan", "TaskCreate": "plan", "TaskUpdate": "plan", "ExitPlanMode": "plan",
    "Task": "agent", "Agent": "agent", "AskUserQuestion": "ask", "WebSearch": "web", "WebFetch": "web",
}  # fmt: skip
STATES: dict[str, Planning] = {
    "in_progress": "active",
    "completed": "done",
    "deleted": "dropped",
    "cancelled": "dropped",
}
_PATHS = ("file_path", "notebook_path", "path")
_EDIT_BYTES_MAX = 400_000
_CHANGING = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})


def call_steps(block: Block, at: float) -> list[Step]:
    """A call, and the change of the plan that it makes."""
    arguments = block.input if isinstance(block.input, dict) else {}
    act = ACTS.get(block.name, "other")
    paths = tuple([arguments[key] for key in _PATHS if isinstance(arguments.get(key), str)])
    command = arguments.get("command") if act == "run" else ""
    note = arguments.get("description") if act in ("run", "agent") else ""
    if act == "ask":
        note = question_texts(arguments)
    call = Call(
        at, block.id, block.name, act, plain_text(arguments), command if isinstance(command, str) else "",
        paths, note if isinstance(note, str) else "",
        _changes(block.name, arguments, paths) if block.name in _CHANGING else (),
        process_asked(block.name, arguments, paths),
    )  # fmt: skip
    return [call, *_plan(block.name, arguments, at)] if act == "plan" else [call]


class _Edit(msgspec.Struct, rename="camel", gc=False):
    original_file: str | None = None
    old_string: str | None = None
    content: str | None = None  # of a whole file that was written


_edit = json_decoder(_Edit)


def edited_place(result: msgspec.Raw) -> str:
    """The line that defines what an edit changed, from the copy of the file that the agent keeps."""
    if memoryview(result).nbytes > _EDIT_BYTES_MAX:
        return ""
    try:
        edit = _edit.decode(result)
    except DECODE_ERRORS:
        return ""
    if edit.old_string is None and edit.original_file and edit.content:
        return rewritten("", edit.original_file, edit.content).place
    return enclosing(edit.original_file or "", edit.old_string or "")


def _changes(tool: str, arguments: dict[str, Any], paths: tuple[str, ...]) -> tuple[Change, ...]:
    if not paths:
        return ()
    if tool == "Write":
        content = arguments.get("content")
        return (Change(paths[0], "create", "", content),) if isinstance(content, str) else ()
    if tool == "NotebookEdit":
        cell = _text(arguments, "cell_id")
        return (Change(paths[0], "edit", "", _text(arguments, "new_source"), cell),)
    edits: Any = [arguments] if tool == "Edit" else arguments.get("edits")
    rows = [row for row in edits if isinstance(row, dict)] if isinstance(edits, list) else []
    old = "\n".join([_text(row, "old_string") for row in rows])
    new = "\n".join([_text(row, "new_string") for row in rows])
    return (Change(paths[0], "edit", old, new),) if old or new else ()


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _plan(tool: str, arguments: dict[str, Any], at: float) -> Iterator[Step]:
    todos = arguments.get("todos")
    if tool == "TodoWrite" and isinstance(todos, list):
        yield Plan(at, todo_items(todos, "content", STATES))
    elif tool == "TaskUpdate":
        subject, status = arguments.get("subject"), arguments.get("status")
        item = PlanItem(
            subject if isinstance(subject, str) else "",
            STATES.get(str(status), "pending") if status else "",
            str(arguments.get("taskId", "")),
        )
        yield Plan(at, (item,), whole=False)
