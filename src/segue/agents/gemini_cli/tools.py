"""What Gemini CLI's tools do, and what their arguments and results say."""

from __future__ import annotations

import re
from typing import Any

from ...core.base.lazy import regex
from ...core.runs.steps import Act, Call, Plan, PlanItem, Planning
from ..common import plain

ACTS: dict[str, Act] = {
    "run_shell_command": "run", "read_file": "read", "read_many_files": "read", "replace": "edit",
    "edit": "edit", "write_file": "create", "glob": "search", "search_file_content": "search",
    "grep_search": "search", "list_directory": "search", "web_fetch": "web", "google_web_search": "web",
    "write_todos": "plan", "exit_plan_mode": "plan", "ask_user": "ask", "codebase_investigator": "agent",
    "delegate_to_agent": "agent", "delegate": "agent", "invoke_agent": "agent", "generalist": "agent",
    "cli_help": "agent", "browser_agent": "agent",
}  # fmt: skip
STATES: dict[str, Planning] = {"in_progress": "active", "completed": "done", "cancelled": "dropped"}
RAN = frozenset({"success", "error", "cancelled"})  # any other status: it is pending

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
    """A text without what hooks and the harness put into it."""
    return _TAGGED.sub("", text).strip() if "<" in text else text.strip()


def call(at: float, id: str, name: str, args: Any, is_new: bool | None) -> Call:
    """The call, of whatever status."""
    given = args if isinstance(args, dict) else {}
    act = ACTS.get(name, "other")
    if act == "create" and is_new is False:
        act = "edit"
    note = given.get("description") or given.get("instruction")
    if act == "ask":
        note = _asked(given)
    command = given.get("command") if act == "run" else ""
    return Call(
        at, id, name, act, plain(given), command if isinstance(command, str) else "",
        _paths(given), note if isinstance(note, str) else "",
    )  # fmt: skip


def _paths(given: dict[str, Any]) -> tuple[str, ...]:
    named = [given.get(key) for key in ("file_path", "absolute_path", "path", "dir_path")]
    for key in ("paths", "include"):
        many = given.get(key)
        named += many if isinstance(many, list) else [] if key == "include" else [many]
    return tuple(path for path in named if isinstance(path, str) and path)


def _asked(given: dict[str, Any]) -> str:
    asked = given.get("questions")
    return "\n".join(
        one["question"]
        for one in (asked if isinstance(asked, list) else ())
        if isinstance(one, dict) and isinstance(one.get("question"), str)
    )


def plan(at: float, args: Any) -> Plan | None:
    todos = args.get("todos") if isinstance(args, dict) else None
    if not isinstance(todos, list):
        return None
    return Plan(
        at,
        tuple(
            PlanItem(todo["description"], STATES.get(str(todo.get("status")), "pending"))
            for todo in todos
            if isinstance(todo, dict) and isinstance(todo.get("description"), str)
        ),
    )


def output(name: str, response: Any) -> tuple[str, int | None, bool]:
    """(text, exit status, whether the text itself tells of a failure) of a function's response."""
    failed = isinstance(response, dict) and isinstance(response.get("error"), str)
    text = untagged(_WRAPPED.sub("", plain(response)))
    if ACTS.get(name) != "run":
        return text.partition(_CUT)[2].strip() or text, None, failed
    foot = _FOOT.search(text)  # above it stands what the command printed, which may look like it
    found = _EXIT.findall(foot[0]) if foot else []
    code = int(found[-1]) if found else None
    if code is None and foot:
        failed = failed or bool(_SIGNAL.search(foot[0]))
    return _LABEL.sub("", _HARNESS.sub("", text)).strip(), code, failed or bool(code)
