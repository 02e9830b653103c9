"""The tools of Cline and Roo as steps: most are calls; with some the agent talks to the user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.runs.steps import EDITS, Act, Call, Compact, End, Plan, PlanItem, Planning, Say, Step
from ..common import act_of, checklist, plain_text
from . import wire
from .edits import changes_of, shown_changes
from .texts import ACTS, paths_of

_FILES: frozenset[Act] = frozenset({"read", "edit", "create", "delete"})
_STATES: dict[str, Planning] = {"in_progress": "active", "completed": "done"}
_CHANGES = "HAS_CHANGES"  # a mark that Cline puts at the end of a completion
_ASIDE = frozenset({"task_progress", "requires_approval"})  # arguments that are not for the tool itself
_LISTS = frozenset({"list_files", "list_code_definition_names"})
ASKING = frozenset({"ask_followup_question", "plan_mode_respond", "attempt_completion"})

# How the UI names the same tools.
SHOWN: dict[str, tuple[str, Act]] = {
    "editedExistingFile": ("replace_in_file", "edit"), "appliedDiff": ("apply_diff", "edit"),
    "newFileCreated": ("write_to_file", "create"), "fileDeleted": ("delete_file", "delete"),
    "searchAndReplace": ("search_and_replace", "edit"), "insertContent": ("insert_content", "edit"),
    "readFile": ("read_file", "read"), "searchFiles": ("search_files", "search"),
    "listFilesTopLevel": ("list_files", "search"), "listFilesRecursive": ("list_files", "search"),
    "listCodeDefinitionNames": ("list_code_definition_names", "search"),
    "codebaseSearch": ("codebase_search", "search"), "webFetch": ("web_fetch", "web"),
    "webSearch": ("web_search", "web"), "newTask": ("new_task", "agent"),
    "updateTodoList": ("update_todo_list", "plan"), "generateImage": ("generate_image", "create"),
}  # fmt: skip


def tool_steps(at: float, id: str, name: str, arguments: dict[str, Any]) -> Iterator[Step]:
    """The steps of a tool that the model called."""
    if name == "attempt_completion":
        yield from completed(at, _string(arguments, "result"))
    elif name in ("plan_mode_respond", "act_mode_respond"):
        if text := _string(arguments, "response").strip():
            yield Say(at, text)
            if name == "plan_mode_respond":
                yield End(at)
    elif name in ("condense", "summarize_task"):
        yield Compact(at, _string(arguments, "context"), "manual" if name == "condense" else "auto")
    else:
        yield _call(at, id, name, arguments)
    if items := checklist(_string(arguments, "todos" if name == "update_todo_list" else "task_progress")):
        yield Plan(at, items)


def _call(at: float, id: str, name: str, arguments: dict[str, Any]) -> Call:
    act = ACTS.get(name, "other")
    paths: tuple[str, ...] = ()
    if act in _FILES or name in _LISTS:
        paths = paths_of(arguments)
    changes = changes_of(name, arguments, paths) if act in EDITS else ()
    if name == "apply_patch":
        act, paths = act_of(changes), tuple(dict.fromkeys(change.path for change in changes))
    shown = {key: value for key, value in arguments.items() if key not in _ASIDE}
    text = plain_text(shown) if name not in _LISTS else ""
    note = _string(arguments, "question")
    if name == "use_mcp_tool":
        name = note = _mcp(_string(arguments, "server_name"), _string(arguments, "tool_name"))
    elif name == "new_task":
        note = _titled(_string(arguments, "message") or _string(arguments, "context"))
    command = _string(arguments, "command") if act == "run" else ""
    return Call(at, id, name, act, text, command, paths, note, changes)


def _mcp(server: str, tool: str) -> str:
    return "/".join(filter(None, (server, tool))) or "use_mcp_tool"


def _titled(task: str) -> str:
    """The first line of a task, without Markdown."""
    return task.strip().partition("\n")[0].strip("#* ")


def _string(arguments: dict[str, Any], name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""


def completed(at: float, text: str) -> Iterator[Step]:
    """The steps of a completion: what the agent says, and the end of its turn."""
    if text := text.removesuffix(_CHANGES).strip():
        yield Say(at, text)
    yield End(at, "turn", text)


def shown_call(at: float, id: str, tool: wire.ToolShown) -> Call:
    """The call of a tool in a UI message."""
    if tool.server_name:
        name = _mcp(tool.server_name, tool.tool_name or "")
        return Call(at, id, name, "other", plain_text(tool.arguments), note=name)
    name, act = SHOWN.get(tool.tool, (tool.tool, "other"))
    paths = tuple(filter(None, (tool.path,))) if act in _FILES or name in _LISTS else ()
    if act in _FILES and isinstance(tool.batch_files, list):
        paths += paths_of({"files": tool.batch_files})
    parts = (tool.path, tool.regex, tool.diff, tool.content if act != "read" else None)
    changes = shown_changes(act, tool.path, tool.diff, tool.content) if act in EDITS else ()
    text = plain_text([part for part in parts if part]) if name not in _LISTS else ""
    return Call(at, id, name, act, text, paths=paths, changes=changes)


def todos_of(todos: list[wire.Todo] | None) -> tuple[PlanItem, ...]:
    """The items of a plan in a UI message; their ids change with their status, so they are not used."""
    return tuple(
        PlanItem(todo.content, _STATES.get(todo.status, "pending")) for todo in todos or () if todo.content
    )
