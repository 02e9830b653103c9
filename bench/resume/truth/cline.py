"""Tasks of Cline and Roo, read plainly: the screen has the user's words and the lists, the conversation with
the model the calls and their results. A condensation cuts the conversation, so calls cannot be counted."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from bench.resume.truth.events import STEP, Call, Edit, Message, Result, Transcript, text_of

_CALL = re.compile(
    r"<(execute_command|read_file|write_to_file|apply_diff|replace_in_file|insert_content|search_and_replace|search_files"
    r"|list_files|list_code_definition_names|codebase_search|use_mcp_tool|access_mcp_resource|ask_followup_question|new_task"
    r"|switch_mode|update_todo_list|attempt_completion|browser_action|plan_mode_respond)>(.*?)(?:</\1>|$)",
    re.S,
)
_RESULT = re.compile(r"^\[(\w+)\b.*?\]\s*Result:", re.S)
_VALUE = re.compile(r"<(\w+)>\s*(.*?)\s*</\1>", re.S)
_UNCLOSED = re.compile(r"<(\w+)>\s*([^<\n]*)")
_WORDS = re.compile(r"<(task|feedback|user_message|answer)>\s*(.*?)\s*</\1>", re.S)
_FOLDER = re.compile(r"Current (?:Workspace|Working) Directory \(([^)\n]+)\)")
_EXIT = re.compile(r"Exit code: (\d+)|exit code (\d+)")
_STATES = {"completed": "done", "in_progress": "now", "pending": "open"}


def read(screen: list[dict[str, Any]], conversation: list[dict[str, Any]], agent: str) -> Transcript:
    """The transcript of a task; both parts in the order of time."""
    told = Transcript(agent, len(screen), counts_calls=False)
    rows = [(float(one.get("ts") or 0), 0, at, one) for at, one in enumerate(screen)]
    rows += [(float(one.get("ts") or 0), 1, at, one) for at, one in enumerate(conversation)]
    pending: list[Call] = []
    first = True
    for record, (time, source, _, row) in enumerate(sorted(rows, key=lambda one: one[:3])):
        if time:
            told.times.append((record * STEP, datetime.fromtimestamp(time / 1000, UTC).isoformat()))
        if source == 0:
            first = _shown(told, record * STEP, row, first)
        else:
            _sent(told, record * STEP, row, pending)
    return told.finish()


def _shown(told: Transcript, record: int, row: dict[str, Any], first: bool) -> bool:
    kind, text = row.get("say") or row.get("ask"), str(row.get("text") or "")
    if (row.get("partial") and kind != "reasoning") or not (text.strip() or kind == "resume_task"):
        return first
    if kind in ("text", "task") and row.get("type") == "say":
        if first:
            told.users.append(Message(record, text))
            return False
        told.said.append(Message(record, text))
    elif kind in ("user_feedback", "user_feedback_diff"):
        told.users.append(Message(record, text))
        if told.calls and told.calls[-1].tool == "ask_followup_question" and told.calls[-1].result is None:
            told.calls[-1].result = Result(record, text, failed=False)
    elif kind == "resume_task":
        told.interrupts.append(record)
    elif kind == "reasoning":
        told.thoughts.append(Message(record, text))
    elif kind == "followup":
        told.said.append(Message(record, text))
        told.turn_ends.append(record)
        told.calls.append(Call(record, f"ask{record}", "ask_followup_question", {"question": text}))
    elif kind in ("completion_result", "plan_mode_respond"):
        told.said.append(Message(record, text))
        told.turn_ends.append(record)
    elif kind in ("subtask_result", "mcp_server_response", "command_output"):
        told.notices.append(Message(record, text))
        asked = [call for call in told.calls if call.tool == "new_task" and call.id.startswith("ui")]
        if kind == "subtask_result" and asked and asked[-1].result is None:
            asked[-1].result = Result(record, text, failed=False)
    elif kind == "tool" and '"newTask"' in text:
        told.calls.append(Call(record, f"ui{record}", "new_task", {"message": text}))
    elif kind == "tool" and '"updateTodoList"' in text:
        try:
            todos = json.loads(text).get("todos") or []
        except ValueError:
            return first
        plan = [(str(one.get("content")), _STATES.get(str(one.get("status")), "open")) for one in todos]
        told.plans.append((record, plan))
    elif kind == "task_progress":
        states = {" ": "open", "-": "now"}
        boxes = re.findall(r"^\s*[-*] \[([ xX-])\] (.+?)\s*$", text, re.M)
        told.plans.append((record, [(item, states.get(mark, "done")) for mark, item in boxes]))
    return first


def _sent(told: Transcript, record: int, row: dict[str, Any], pending: list[Call]) -> None:
    content = row.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": text_of(content)}]
    texts = [text_of(block) for block in blocks if isinstance(block, dict)]
    if row.get("role") == "assistant":
        if not row.get("isSummary"):
            for at, block in enumerate(blocks):
                _answer(told, record + at, block, pending)
        return
    for at, block in enumerate(blocks):
        text = text_of(block)
        if match := _FOLDER.search(text):
            told.folders.append((record, match[1]))
        for _, words in _WORDS.findall(text):
            told.users.append(Message(record, words, sure=False))
        identity = block.get("tool_use_id") if isinstance(block, dict) else None
        found = _RESULT.match(text)
        if (found or identity) and pending:
            call = next(
                (one for one in pending if one.id == identity or (found and one.id.startswith(found[1]))),
                None,
            )
            if call is not None:
                pending.remove(call)
                _end(call, record, "\n".join([text[found.end() :] if found else text, *texts[at + 1 :]]))


def _answer(told: Transcript, record: int, block: Any, pending: list[Call]) -> None:
    if not isinstance(block, dict):
        return
    if block.get("type") == "tool_use":
        arguments = block.get("input")
        call = Call(
            record,
            str(block.get("id")),
            str(block.get("name")),
            arguments if isinstance(arguments, dict) else {},
        )
        _add(told, call, pending)
        return
    text = text_of(block)
    spoken = _CALL.sub("", text).strip()
    if spoken:
        told.said.append(Message(record, spoken))
    for name, body in _CALL.findall(text):
        values = dict(_VALUE.findall(body)) or {"": body}
        for key, value in _UNCLOSED.findall(body):
            values.setdefault(key, value)
        _add(told, Call(record, f"{name}{record}", name, {**values, "body": body}), pending)
    if "[Response interrupted by" in text:
        told.interrupts.append(record)


def _add(told: Transcript, call: Call, pending: list[Call]) -> None:
    path = str(call.arguments.get("path") or "")
    if call.tool == "execute_command":
        call.command = str(call.arguments.get("command") or "")
    elif call.tool == "use_mcp_tool":
        call.tool = f"{call.arguments.get('server_name')}/{call.arguments.get('tool_name')}"
    elif call.tool == "write_to_file":
        call.edits = [Edit(path, "create", str(call.arguments.get("content") or ""))]
    elif call.tool in ("apply_diff", "replace_in_file", "insert_content", "search_and_replace"):
        call.edits = [Edit(path, "edit", str(call.arguments.get("diff") or call.arguments.get("body") or ""))]
    pending.append(call)
    told.calls.append(call)


def _end(call: Call, record: int, text: str) -> None:
    text = re.sub(r"<environment_details>.*", "", text, flags=re.S)
    result = Result(
        record, text, failed=bool(re.search(r"<error>|^Error|The tool execution failed", text[:400], re.M))
    )
    if match := _EXIT.search(text):
        result.exit = int(match[1] or match[2])
    result.refused = "The user denied this operation" in text
    call.result = result
