"""What Claude Code runs in the background: shells, monitors, workflows and sub-agents, known by a task id.

The result of the call that starts one names the id, calls that ask for its output or stop it have the id
among their arguments, and a notice in the user's place, or the result of such a call, says that it ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from ...core.base.lazy import regex
from ...core.runs.steps import Recap, Report, Result, Settled, Step
from ..base import decode_any

NOTICE = "<task-notification>"
_NOTICE_END = "</task-notification>"

ASKED: dict[str, tuple[str, ...]] = {
    "BashOutput": ("bash_id",),
    "TaskOutput": ("task_id",),
    "AgentOutputTool": ("agentId",),
    "KillShell": ("shell_id",),
    "KillBash": ("shell_id",),
    "TaskStop": ("task_id", "taskId", "shell_id"),
    "SendMessage": ("to",),
}
"""The tools that ask, stop or tell something to a task, and the argument that has its id."""
_OUTPUT_FILE = regex(r"[/\\]tasks[/\\]([\w-]+)\.output\b")
_LAUNCH_CHARS = (
    900  # a launch is announced at the beginning of a result, or in this many characters at its end
)
_LAUNCH = regex(
    r"^(?:Async agent launched successfully[^\n]*\nagentId: |Spawned successfully\.\s+agent_id: "
    r"|Monitor started \(task |Workflow launched in background\. Task ID: "
    r"|Command (?:running|was|exceeded|did)\b[^\n]*?\bID: )([\w@-]+)",
    re.M,
)
_LAUNCHES = ("Async agent launched", "Spawned successfully", "Monitor started (task", "Workflow launched in")

_TASK = regex(r"<task-id>\s*([^<\s]+)")
_CALL = regex(r"<tool-use-id>\s*([^<\s]+)")
_STATUS = regex(r"<status>\s*([^<\s]+)")
_SUMMARY = regex(r"<summary>(.*?)</summary>", re.S)
_RESULT = regex(r"<result>(.*?)(?:</result>|\Z)", re.S)
_TIMED_OUT = regex(r"<event>\s*\[Monitor timed out")
_ENDED: dict[str, bool | None] = {"completed": True, "failed": False, "killed": None, "stopped": None}

_POLLED = ("<status>", "<retrieval_status>")
_FIELDS = regex(
    r"^<(retrieval_status|task_id|task_type|status|exit_code|timestamp)>[^<]*</\1>\s*"
    r"|^</?(?:stdout|stderr|output|error)>\n?",
    re.M,
)
_EXIT = regex(r"<exit_code>\s*(-?\d{1,10})")
_STOPPED = ("Successfully killed", "Successfully stopped", "Task stopped")
_GONE = regex(r"(?:<tool_use_error>|Error: )?(?:(?:Shell|Task) \S+ is not running|No (?:task|shell) found)")
_RESUMED = regex(r"\bresumed\b[^\n]{0,60}\bin the background\b")
_RESUMED_CHARS = 300
TEAM = "<teammate-message "
_TEAM_NOTICE = regex(r"<teammate-message [^>]*>\s*(\{.*?\})\s*</teammate-message>", re.S)
_LEFT = regex(r"(\S+) has shut down\b")


def members_left(text: str, at: float, team: str) -> Iterator[Step]:
    """The ends of members of a team, from messages of the team: a notice of the harness, and a member's
    answer to the request to leave. Members were started under their name and that of the team."""
    names: dict[str, None] = {}
    for body in _TEAM_NOTICE.findall(text):
        notice = decode_any(body.encode("utf-8", "replace"))
        if not isinstance(notice, dict):
            continue
        left = _LEFT.match(str(notice.get("message")))
        if notice.get("type") == "teammate_terminated" and left:
            names[left[1]] = None
        elif notice.get("type") == "shutdown_approved" and isinstance(notice.get("from"), str):
            names[notice["from"]] = None
    for name in names:
        yield Settled(at, f"{name}@{team}", None, f"{name} has shut down.")


def process_asked(tool: str, arguments: dict[str, Any], paths: tuple[str, ...]) -> str:
    """The id of the process whose output a call reads, to which it writes, or that it stops; else empty."""
    if tool in ASKED:
        return next((arguments[key] for key in ASKED[tool] if isinstance(arguments.get(key), str)), "")
    where = arguments.get("command") if tool == "Bash" else paths[0] if tool == "Read" and paths else ""
    if isinstance(where, str) and ".output" in where and (file := _OUTPUT_FILE.search(where)):
        return file[1]
    return ""


def launch_in(text: str, raw: msgspec.Raw) -> tuple[str, str] | None:
    """The id of what a call started and left running, as its result says, and the output before that; else
    None.

    Other results may quote such an announcement: if ``toolUseResult`` is there, it must have the id too.
    """
    near_end = max(len(text) - _LAUNCH_CHARS, 0)
    if text.find(" background", near_end) < 0 and not text.startswith(_LAUNCHES):
        return None
    launch = _LAUNCH.match(text) or _LAUNCH.search(text, near_end)
    if launch is None:
        return None
    start = launch.start()
    about = decode_any(bytes(raw)) if memoryview(raw).nbytes else None
    is_launch = launch[1] in about.values() if isinstance(about, dict) else not start
    return (launch[1], text[:start].rstrip()) if is_launch else None


def poll_steps(at: float, id: str, ok: bool, process: str, text: str) -> list[Step]:
    """The result of a call about a process, and what it says about its end."""
    if text.startswith('{"message"'):
        about = decode_any(text)
        text = about["message"] if isinstance(about, dict) and isinstance(about["message"], str) else text
    if text.startswith(_STOPPED) or _GONE.match(text):
        return [Result(at, id, ok, None, text), Settled(at, process, None, text)]
    if not text.startswith(_POLLED):
        goes_on = process if _RESUMED.search(text[:_RESUMED_CHARS]) else ""
        return [Result(at, id, ok, None, text, process=goes_on)]
    output = _FIELDS.sub("", text).strip()
    status, code = _STATUS.search(text), _EXIT.search(text)
    steps: list[Step] = [Result(at, id, ok, None, output)]
    state = status[1] if status else ""
    if state in _ENDED:
        if "<task_type>local_agent</task_type>" in text and output:
            steps.append(Report(at, output))
        has_failed = code is not None and state == "completed" and int(code[1]) != 0
        steps.append(Settled(at, process, False if has_failed else _ENDED[state], output))
    return steps


def notice_in(text: str) -> str:
    """The notice at the beginning of a text, without what follows it; empty if there is none."""
    return text.partition(_NOTICE_END)[0] if text.startswith(NOTICE) else ""


def notice_steps(text: str, at: float) -> Iterator[Step]:
    """The steps of a notice: a process or a sub-agent has ended, or a monitor has seen something."""
    summary, found, call, task = (pattern.search(text) for pattern in (_SUMMARY, _RESULT, _CALL, _TASK))
    head = text[: found.start()] if found else text
    status = _STATUS.search(head)
    words = summary[1].strip() if summary else ""
    is_report = found or (call and words.startswith(("Agent ", "Background agent ")))
    if is_report:
        yield Report(at, found[1].strip() if found else words, call=call[1] if call else "")
    state = status[1] if status else ""
    if task and (is_report or state in _ENDED or _TIMED_OUT.search(head)):
        yield Settled(at, task[1], _ENDED.get(state), words)
    elif words and not is_report:
        yield Recap(at, words)
