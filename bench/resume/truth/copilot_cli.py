"""Copilot CLI's events, read plainly."""

from __future__ import annotations

import re
from typing import Any

from bench.resume.truth.events import Call, Edit, Message, Result, Transcript, decoded, patch_edits, text_of

_EXIT = re.compile(
    r"<(?:command with \S+ )?(?:shellId: \S+ )?exited with (?:exit code|code) (\d+)>|exit code (\d+)>"
)
_RUNNING = re.compile(
    r"<command (?:with shellId: (\S+) )?is still running"
    r"|started in (?:detached )?background with shellId: (\S+?)>"
)
_BOX = re.compile(r"^\s*[-*] \[([ xX>-])\] (.+?)\s*$", re.M)


def read(lines: list[str]) -> Transcript:
    """The transcript that these lines are."""
    told = Transcript("copilot-cli", len(lines))
    calls: dict[str, Call] = {}
    for number, line in enumerate(lines):
        for record in decoded(line):
            _take(told, calls, number, record)
    return told.finish()


def _take(told: Transcript, calls: dict[str, Call], number: int, record: dict[str, Any]) -> None:
    kind, data = str(record.get("type")), record.get("data")
    data = data if isinstance(data, dict) else {}
    if isinstance(record.get("timestamp"), str):
        told.times.append((number, record["timestamp"]))
    context = data.get("context")
    if isinstance(context, dict):
        if context.get("cwd"):
            told.folders.append((number, str(context["cwd"])))
        if context.get("branch"):
            told.branches.append((number, str(context["branch"])))
    if kind == "user.message":
        text = str(data.get("content") or "")
        if text.strip() and data.get("source") in (None, "user"):
            told.users.append(Message(number, text))
    elif kind == "assistant.message":
        if str(data.get("content") or "").strip():
            told.said.append(Message(number, str(data["content"])))
            if not data.get("toolRequests"):
                told.turn_ends.append(number)
        for request in data.get("toolRequests") or []:
            if isinstance(request, dict):
                _called(told, calls, number, {**request, "toolName": request.get("name")})
        if data.get("reasoningText"):
            told.thoughts.append(Message(number, str(data["reasoningText"])))
    elif kind == "tool.execution_start":
        _called(told, calls, number, data)
    elif kind == "tool.execution_complete":
        _result(told, calls, number, data)
    elif kind == "abort":
        told.interrupts.append(number)
    elif kind in ("session.task_complete", "session.idle"):
        told.turn_ends.append(number)
    elif kind == "session.error":
        told.faults.append(Message(number, str(data.get("message"))))
    elif kind == "session.compaction_start":
        told.compactions.append(number)


def _called(told: Transcript, calls: dict[str, Call], number: int, data: dict[str, Any]) -> None:
    if str(data.get("toolCallId")) in calls:
        return
    arguments = data.get("arguments")
    if isinstance(arguments, str):
        arguments = {"input": arguments}
    arguments = arguments if isinstance(arguments, dict) else {}
    call = Call(number, str(data.get("toolCallId")), str(data.get("toolName")), arguments)
    path = str(arguments.get("path") or "")
    if call.tool in ("bash", "powershell", "local_shell"):
        call.command = str(arguments.get("command") or "")
    elif call.tool in ("edit", "str_replace_editor") and path:
        call.edits = [
            Edit(path, "edit", str(arguments.get("new_str") or ""), str(arguments.get("old_str") or ""))
        ]
    elif call.tool == "create" and path:
        call.edits = [Edit(path, "create", str(arguments.get("file_text") or ""))]
    elif call.tool == "apply_patch":
        call.edits = patch_edits(str(arguments.get("input") or arguments.get("patch") or ""))
    elif call.tool == "update_todo":
        states = {" ": "open", "x": "done", "X": "done", ">": "now", "-": "now"}
        boxes = _BOX.findall(str(arguments.get("todos") or ""))
        told.plans.append((number, [(text, states[mark]) for mark, text in boxes]))
    calls[call.id] = call
    told.calls.append(call)


def _result(told: Transcript, calls: dict[str, Call], number: int, data: dict[str, Any]) -> None:
    call = calls.get(str(data.get("toolCallId")))
    if call is None:
        return
    given = data.get("result")
    given = given if isinstance(given, dict) else {}
    text = text_of(given.get("content")) or text_of(data.get("error")) or str(data.get("error") or "")
    result = Result(number, text, failed=data.get("success") is False)
    result.answered = text_of(given.get("detailedContent"))
    if match := _EXIT.search(text):
        result.exit = int(match[1] or match[2])
    error = data.get("error")
    code = str(error.get("code")) if isinstance(error, dict) else ""
    result.refused = code in ("rejected", "denied") or "rejected by the user" in text
    call.result = result
    shell = str(call.arguments.get("shellId") or "")
    if match := _RUNNING.search(text):
        told.started.setdefault(match[1] or match[2] or shell, number)
    elif call.tool in ("stop_bash",) or (
        call.tool in ("read_bash", "write_bash") and result.exit is not None
    ):
        told.ended.setdefault(shell, number)
