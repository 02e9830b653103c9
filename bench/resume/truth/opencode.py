"""OpenCode's exported sessions, read plainly: messages with parts; a tool's part has its result in it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bench.resume.truth.events import STEP, Call, Edit, Message, Result, Transcript, patch_edits, text_of

_STATES = {"completed": "done", "in_progress": "now", "pending": "open", "cancelled": "dropped"}


def read(parts: list[tuple[dict[str, Any], dict[str, Any] | None]], folder: str) -> Transcript:
    """The transcript of a session: the info of a message with each of its parts, and once more at its end."""
    told = Transcript("opencode", len(parts))
    if folder:
        told.folders.append((0, folder))
    for number, (info, part) in enumerate(parts):
        record = number * STEP
        _timed(told, record, info, part)
        if part is None:
            _ended(told, record, info)
        elif info.get("role") == "user":
            if part.get("type") == "text" and not part.get("synthetic") and text_of(part).strip():
                told.users.append(Message(record, text_of(part)))
            elif part.get("type") == "compaction":
                told.compactions.append(number)
        else:
            _answered(told, record, info, part)
    return told.finish()


def _timed(told: Transcript, record: int, info: dict[str, Any], part: dict[str, Any] | None) -> None:
    times = [info.get("time")]
    if part is not None:
        state = part.get("state")
        times += [part.get("time"), state.get("time") if isinstance(state, dict) else None]
    for time in times:
        for value in time.values() if isinstance(time, dict) else ():
            if isinstance(value, int | float):
                told.times.append((record, datetime.fromtimestamp(value / 1000, UTC).isoformat()))


def _ended(told: Transcript, record: int, info: dict[str, Any]) -> None:
    error = info.get("error")
    if isinstance(error, dict):
        if error.get("name") == "MessageAbortedError":
            told.interrupts.append(record)
        else:
            told.faults.append(Message(record, f"{error.get('name')} {error.get('data')}"))
    elif info.get("role") == "assistant" and info.get("finish") == "stop":
        told.turn_ends.append(record)


def _answered(told: Transcript, record: int, info: dict[str, Any], part: dict[str, Any]) -> None:
    path = info.get("path")
    if isinstance(path, dict) and path.get("cwd"):
        told.folders.append((record, str(path["cwd"])))
    kind = part.get("type")
    if kind == "text" and text_of(part).strip():
        if info.get("summary") is not True:
            told.said.append(Message(record, text_of(part)))
    elif kind == "reasoning" and text_of(part).strip():
        told.thoughts.append(Message(record, text_of(part)))
    elif kind == "tool":
        _called(told, record, part)


def _called(told: Transcript, record: int, part: dict[str, Any]) -> None:
    state = part.get("state")
    state = state if isinstance(state, dict) else {}
    arguments = state.get("input")
    arguments = arguments if isinstance(arguments, dict) else {}
    call = Call(record, str(part.get("callID")), str(part.get("tool")), arguments)
    path = str(arguments.get("filePath") or "")
    if call.tool == "bash":
        call.command, call.folder = str(arguments.get("command") or ""), str(arguments.get("workdir") or "")
    elif call.tool == "edit" and path:
        call.edits = [
            Edit(path, "edit", str(arguments.get("newString") or ""), str(arguments.get("oldString") or ""))
        ]
    elif call.tool == "write" and path:
        metadata = state.get("metadata")
        existed = isinstance(metadata, dict) and metadata.get("exists") is True
        call.edits = [Edit(path, "edit" if existed else "create", str(arguments.get("content") or ""))]
    elif call.tool == "apply_patch":
        call.edits = patch_edits(str(arguments.get("patchText") or ""))
    if state.get("status") in ("completed", "error"):
        metadata = state.get("metadata")
        result = Result(
            record, text_of(state.get("output") or state.get("error")), failed=state["status"] == "error"
        )
        if isinstance(metadata, dict):
            if isinstance(metadata.get("exit"), int):
                result.exit = metadata["exit"]
            result.answered = text_of(metadata.get("output"))
        result.refused = bool(result.failed) and "rejected permission" in result.text
        result.stopped = "aborted" in result.text[-300:].lower()
        call.result = result
    if call.tool == "todowrite":
        todos = [one for one in arguments.get("todos") or [] if isinstance(one, dict)]
        told.plans.append(
            (
                record,
                [(str(one.get("content")), _STATES.get(str(one.get("status")), "open")) for one in todos],
            )
        )
    told.calls.append(call)
