"""The tool calls of Gemini CLI as steps, their plans and their outputs."""

from __future__ import annotations

import re
from typing import Any

from ...core.base.lazy import regex
from ...core.runs.steps import Act, Call, Plan, Planning
from ..common import plain_text, question_texts, todo_items

ACTS: dict[str, Act] = {
    "run_shell_command": "run", "read_file": "read", "read_many_files": "read", "replace": "edit",
    "edit": "edit", "write_file": "create", "glob": "search", "search_file_content": "search",
    "grep_search": "search", "list_directory": "search", "web_fetch": "web", "google_web_search": "web",
    "write_todos": "plan", "exit_plan_mode": "plan", "ask_user": "ask", "codebase_investigator": "agent",
    "delegate_to_agent": "agent", "delegate": "agent", "invoke_agent": "agent", "generalist": "agent",
    "cli_help": "agent", "browser_agent": "agent",
}  # fmt: skip
STATES: dict[str, Planning] = {"in_progress": "active", "completed": "done", "cancelled": "dropped"}
RAN = frozenset({"success", "error", "cancelled"})  # any other status means that the call is pending

_TAGGED = regex(r"<(hook_context|session_context|state_snapshot)\b[^>]*>.*?(?:</\1>|\Z)", re.S)
_WRAPPED = regex(r"</?untrusted_context>\n?")
_EXIT = regex(r"^Exit Code: (-?\d+)\s*$", re.M)
_HARNESS = regex(
    r"^(?:Command: .*|Directory: .*|(?:Stdout|Stderr|Output|Error|Signal): \((?:none|empty)\)|Signal: 0"
    r"|Exit Code: .*|Background PIDs: .*|Process Group PGID: .*)\n?",
    re.M,
)
_CUT = "--- FILE CONTENT (truncated) ---"
_LABEL = regex(r"^(?:Output|Stdout|Stderr): ", re.M)
_SIGNAL = regex(r"^(?:Signal: (?!\(none\)|0$)|Error: (?!\(none\)))", re.M)
_FOOT = regex(r"(?:^(?:Error|Exit Code|Signal|Background PIDs|Process Group PGID): .*\n?)+\Z", re.M)
REFUSED = regex(
    r"\[Operation Cancelled\] Reason: User (?:cancelled the operation|denied|did not allow)", re.I
)


def untagged(text: str) -> str:
    """A text without what hooks and the harness added."""
    return _TAGGED.sub("", text).strip() if "<" in text else text.strip()


def call(at: float, id: str, name: str, args: Any, is_new: bool | None) -> Call:
    """The call of a tool, whatever its status."""
    arguments = args if isinstance(args, dict) else {}
    act = ACTS.get(name, "other")
    if act == "create" and is_new is False:
        act = "edit"
    note = arguments.get("description") or arguments.get("instruction")
    if act == "ask":
        note = question_texts(arguments)
    command = arguments.get("command") if act == "run" else ""
    return Call(
        at, id, name, act, plain_text(arguments), command if isinstance(command, str) else "",
        _paths(arguments), note if isinstance(note, str) else "",
    )  # fmt: skip


def _paths(arguments: dict[str, Any]) -> tuple[str, ...]:
    named = [arguments.get(key) for key in ("file_path", "absolute_path", "path", "dir_path")]
    for key in ("paths", "include"):
        many = arguments.get(key)
        named += many if isinstance(many, list) else [] if key == "include" else [many]
    return tuple(path for path in named if isinstance(path, str) and path)


def plan(at: float, args: Any) -> Plan | None:
    """The whole plan that ``write_todos`` sets; None if its arguments have no list."""
    todos = args.get("todos") if isinstance(args, dict) else None
    return Plan(at, todo_items(todos, "description", STATES)) if isinstance(todos, list) else None


def output(name: str, response: Any) -> tuple[str, int | None, bool]:
    """The text of a response, the exit status in it, and whether the text itself reports a failure."""
    failed = isinstance(response, dict) and isinstance(response.get("error"), str)
    text = untagged(_WRAPPED.sub("", plain_text(response)))
    if ACTS.get(name) != "run":
        return text.partition(_CUT)[2].strip() or text, None, failed
    foot = _FOOT.search(text)  # only at the end: the output of the command itself may look like it
    codes = _EXIT.findall(foot[0]) if foot else []
    code = int(codes[-1]) if codes else None
    if code is None and foot:
        failed = failed or bool(_SIGNAL.search(foot[0]))
    return _LABEL.sub("", _HARNESS.sub("", text)).strip(), code, failed or bool(code)
