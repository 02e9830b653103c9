"""The tool calls of Gemini CLI as steps, their plans and their outputs."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ...core.base.lazy import regex
from ...core.runs.steps import EDITS, Act, Call, Change, Plan, Planning
from ..base import decode_any
from ..common import plain_text, question_texts, replacement, rewritten, todo_items
from .wire import Display

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
_GOES_ON = regex(
    r"\ACommand (?:is running in background\. PID: (\d+)\. Initial output:\n?"
    r"|moved to background \(PID: (\d+)\)\. Output hidden\.[^\n]*\n?)"
)
_LEFT_RUNNING = regex(r"^Background PIDs: (\d+)", re.M)
_STOPPED = regex(
    r"\ACommand was (?:automatically (cancelled because it exceeded the timeout)|cancelled by user before)"
)
_LISTED = regex(r"^- \[PID (\d+)\] (\w+): `.*`(?: \(Exit Code: (-?\d+)\))?", re.M)
_KILL = regex(r"\bkill\b((?:\s+-?\w+)+)")
_PLAN_REJECTED = regex(
    r"\APlan rejected\. (?:User feedback: (.*?)|No feedback provided\.)\s*\n\nThe plan is stored at: ", re.S
)
REFUSED = regex(
    r"\[Operation Cancelled\] Reason: User (?:cancelled the operation|denied|did not allow)", re.I
)


def untagged(text: str) -> str:
    """A text without what hooks and the harness added."""
    return _TAGGED.sub("", text).strip() if "<" in text else text.strip()


def call(at: float, id: str, name: str, args: Any, about: Display, running: set[str]) -> Call:
    """The call of a tool, whatever its status; ``running`` are the processes in the background."""
    arguments = args if isinstance(args, dict) else {}
    act = ACTS.get(name, "other")
    if act == "create" and about.is_new_file is False:
        act = "edit"
    note = arguments.get("description") or arguments.get("instruction")
    if act == "ask":
        note = question_texts(arguments)
    command = arguments.get("command") if act == "run" else ""
    command = command if isinstance(command, str) else ""
    paths = _paths(arguments)
    process = ""
    if name == "read_background_output":
        process = str(arguments.get("pid") or "")
    elif running and command:
        process = next(iter(killed(command, running)), "")
    return Call(
        at, id, name, act, plain_text(arguments), command, paths, note if isinstance(note, str) else "",
        _changes(paths[0], arguments, about) if paths and act in EDITS else (), process,
    )  # fmt: skip


def _changes(path: str, arguments: dict[str, Any], about: Display) -> tuple[Change, ...]:
    """What a call of ``write_file`` or ``replace`` changes in its file."""
    if "content" not in arguments:
        return replacement(path, [arguments], "old_string", "new_string")
    content = arguments["content"]
    if not isinstance(content, str):
        return ()
    if about.is_new_file is False and about.original_content is not None:
        return (rewritten(path, about.original_content, content),)
    return (Change(path, "create", "", content),)


def killed(command: str, running: set[str]) -> list[str]:
    """The processes in the background that a command line stops; signal 0 only asks whether they run."""
    signals = [words.split() for words in _KILL.findall(command)]
    return [word for words in signals if "-0" not in words for word in words if word in running]


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


def plan_refusal(name: str, text: str) -> str | None:
    """The words with which the user rejected a plan; None if the text is no rejection."""
    match = _PLAN_REJECTED.match(text) if name == "exit_plan_mode" else None
    return (match[1] or "").strip() if match else None


def listed(name: str, text: str) -> list[tuple[str, bool | None]]:
    """The processes that a list of those in the background says to have ended, and whether they succeeded."""
    if name != "list_background_processes":
        return []
    return [
        (pid, code == "0" if code else None)
        for pid, state, code in _LISTED.findall(text)
        if state != "RUNNING"
    ]


class Output(NamedTuple):
    """What the response of a tool says."""

    text: str
    exit: int | None = None
    succeeded: bool | None = True  # as the text itself says; None if the command was stopped, or goes on
    process: str = ""  # that goes on in the background


def output(name: str, response: Any) -> Output:
    """What the response of a tool says."""
    succeeded = not (isinstance(response, dict) and isinstance(response.get("error"), str))
    text = untagged(_WRAPPED.sub("", plain_text(response)))
    if name == "ask_user":
        return Output(_answers(text), None, succeeded)
    if ACTS.get(name) != "run":
        return Output(text.partition(_CUT)[2].strip() or text, None, succeeded)
    if text.startswith("Command "):
        if started := _GOES_ON.match(text):
            return Output(text[started.end() :].strip(), None, None, started[1] or started[2])
        if stopped := _STOPPED.match(text):
            return Output(text, None, False if stopped[1] else None)
    foot = _FOOT.search(text)  # only at the end: the output of the command itself may look like it
    codes = _EXIT.findall(foot[0]) if foot else []
    left = _LEFT_RUNNING.search(foot[0]) if foot else None
    code = int(codes[-1]) if codes else None
    if code is None and foot:
        succeeded = succeeded and not _SIGNAL.search(foot[0])
    text = _LABEL.sub("", _HARNESS.sub("", text)).strip()
    return Output(text, code, succeeded and not code, left[1] if left else "")


def _answers(text: str) -> str:
    """The user's answers without the JSON around them."""
    value = decode_any(text) if text.startswith("{") else None
    answers = value.get("answers") if isinstance(value, dict) else None
    return plain_text(answers) or text
