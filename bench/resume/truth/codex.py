"""Codex's rollouts, read plainly."""

from __future__ import annotations

import json
import re
from typing import Any

from bench.resume.truth.events import (
    Call,
    Edit,
    Message,
    Result,
    Transcript,
    decoded,
    patch_edits,
    text_of,
)  # fmt: skip

_EXIT = re.compile(r"(?:^|\n)(?:Exit code: |Process exited with code |exit_code['\"]?[:=] ?)(-?\d+)")
_FAILED = re.compile(
    r"(?:apply_patch verification |exec_command )?failed|error|aborted|unsupported|.{0,40}rejected", re.I
)
_OUTPUT = re.compile(r"(?:^|\n)Output:\n", re.S)
_SESSION = re.compile(r"Process running with session ID (\d+)")
_STATES = {"completed": "done", "in_progress": "now", "pending": "open"}
_REQUEST = re.compile(r"## My request for Codex:\s*", re.S)
_INSTRUCTIONS = ("<", "# AGENTS.md instructions", "Warning: ")


def read(lines: list[str]) -> Transcript:
    """The transcript that these lines are."""
    records = [(number, record) for number, line in enumerate(lines) for record in decoded(line)]
    reader = _Reader(any(_is_prompt(record) for _, record in records))
    for number, record in records:
        reader.take(number, record)
    reader.transcript.records = len(lines)
    return reader.transcript.finish()


def _payload(record: dict[str, Any]) -> dict[str, Any]:
    payload = record.get("payload")
    return payload if isinstance(payload, dict) else record


def _is_prompt(record: dict[str, Any]) -> bool:
    return record.get("type") == "event_msg" and _payload(record).get("type") == "user_message"


def _object(text: Any) -> dict[str, Any]:
    if isinstance(text, dict):
        return text
    try:
        value = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


class _Reader:
    def __init__(self, has_prompts: bool) -> None:
        self.transcript = Transcript("codex")
        self.has_prompts = has_prompts
        self.calls: dict[str, Call] = {}
        self.early: set[str] = set()  # calls whose end was told before their output

    def take(self, number: int, record: dict[str, Any]) -> None:
        told, payload = self.transcript, _payload(record)
        kind, inner = record.get("type"), payload.get("type")
        if isinstance(record.get("timestamp"), str):
            told.times.append((number, record["timestamp"]))
        if kind in ("session_meta", "turn_context"):
            if payload.get("cwd"):
                told.folders.append((number, str(payload["cwd"])))
            git = payload.get("git")
            if isinstance(git, dict) and git.get("branch"):
                told.branches.append((number, str(git["branch"])))
        elif kind == "compacted":
            told.compactions.append(number)
        elif kind == "event_msg":
            self._event(number, payload)
        elif inner == "message":
            self._message(number, payload)
        elif inner == "reasoning":
            text = text_of(payload.get("summary")) or text_of(payload.get("content"))
            if text.strip():
                told.thoughts.append(Message(number, text))
        elif inner in ("function_call", "custom_tool_call", "local_shell_call"):
            self._called(number, payload)
        elif inner in ("function_call_output", "custom_tool_call_output"):
            self._result(number, payload)
        elif inner == "web_search_call":
            call = Call(number, f"web{number}", "web_search", _object(payload.get("action")))
            call.result = Result(number, "", failed=False)
            told.calls.append(call)

    def _event(self, number: int, payload: dict[str, Any]) -> None:
        told, kind = self.transcript, payload.get("type")
        if kind == "user_message":
            text = _REQUEST.split(str(payload.get("message") or ""))[-1].strip()
            if text and not text.startswith(
                ("<turn_aborted", "<subagent_notification", "<environment_context")
            ):
                told.users.append(Message(number, text))
        elif kind == "agent_message":
            self._said(number, str(payload.get("message") or ""))
        elif kind == "exec_command_end":
            self._ended(number, payload)
        elif kind == "item_completed":
            self._completed(number, payload.get("item"))
        elif kind == "task_complete":
            told.turn_ends.append(number)
        elif kind == "turn_aborted":
            told.interrupts.append(number)
        elif kind in ("error", "stream_error"):
            told.faults.append(Message(number, str(payload.get("message"))))
        elif kind == "agent_reasoning":
            told.thoughts.append(Message(number, str(payload.get("text") or "")))
        elif kind == "patch_apply_end":
            call = self.calls.get(str(payload.get("call_id")))
            changes = payload.get("changes")
            if call is not None and call.edits:
                if call.result is None:
                    good = payload.get("success") is not False
                    call.result = Result(number, str(payload.get("stdout") or ""), failed=not good)
                    self.early.add(call.id)
            elif isinstance(changes, dict):
                hows = {"add": "create", "delete": "delete"}
                edits = [
                    Edit(path, hows.get(str(_object(one).get("type")), "edit"), str(one))  # type: ignore[arg-type]
                    for path, one in changes.items()
                ]
                owner = call or Call(number, str(payload.get("call_id")), "apply_patch")
                owner.edits = edits
                if call is None:
                    text = f"{payload.get('stdout') or ''}{payload.get('stderr') or ''}"
                    owner.result = Result(number, text, failed=payload.get("success") is False)
                    self.calls[owner.id] = owner
                    told.calls.append(owner)

    def _message(self, number: int, payload: dict[str, Any]) -> None:
        told, text = self.transcript, text_of(payload.get("content"))
        if payload.get("role") == "assistant":
            self._said(number, text)
        elif payload.get("role") == "developer":
            told.give(number, text)
        elif payload.get("role") == "user":
            if "<turn_aborted>" in text[:40]:
                told.interrupts.append(number)
            elif text.strip() and not text.lstrip().startswith(_INSTRUCTIONS):
                text = _REQUEST.split(text)[-1].strip()
                told.users.append(Message(number, text, sure=not self.has_prompts, how="copy"))

    def _said(self, number: int, text: str) -> None:
        """A message stands in two records; the first one counts."""
        said = self.transcript.said
        if text.strip() and not (
            said and said[-1].text.strip() == text.strip() and number - said[-1].record < 4
        ):
            said.append(Message(number, text))

    def _completed(self, number: int, item: Any) -> None:
        """What newer versions write instead of an event for each kind of thing."""
        item = item if isinstance(item, dict) else {}
        if item.get("type") == "AgentMessage":
            self._said(number, text_of(item.get("content")))
        elif item.get("type") == "CommandExecution":
            self._ended(number, {**item, "call_id": item.get("id")})
        elif item.get("type") == "FileChange":
            good = item.get("status") == "completed"
            self._event(
                number, {**item, "type": "patch_apply_end", "call_id": item.get("id"), "success": good}
            )

    def _ended(self, number: int, payload: dict[str, Any]) -> None:
        """The end of a command, which is told before its output is given to the model."""
        call = self.calls.get(str(payload.get("call_id")))
        if call is not None and call.result is None and isinstance(payload.get("exit_code"), int):
            code = payload["exit_code"]
            text = str(payload.get("aggregated_output") or payload.get("stdout") or "")
            call.result = Result(number, text, failed=code != 0, exit=code)
            self.early.add(call.id)

    def _called(self, number: int, payload: dict[str, Any]) -> None:
        name, id = str(payload.get("name") or "shell"), str(payload.get("call_id") or payload.get("id"))
        arguments = _object(payload.get("arguments")) or _object(payload.get("action"))
        call = Call(number, id, name, arguments)
        given = arguments.get("command") or arguments.get("cmd")
        if name in ("shell", "shell_command", "exec_command", "container.exec", "local_shell"):
            if isinstance(given, list):
                given = (
                    given[-1] if len(given) >= 3 and given[1] in ("-lc", "-c") else " ".join(map(str, given))
                )
            call.command = str(given or "")
            call.folder = str(arguments.get("workdir") or "")
            if re.search(r"\bapply_patch\b", call.command) and "*** Begin Patch" in call.command:
                call.edits = patch_edits(call.command)
        if name == "apply_patch":
            call.edits = patch_edits(str(payload.get("input") or arguments.get("input") or ""))
        if "input" in payload:
            call.arguments = {**arguments, "input": payload["input"]}
        self.calls[id] = call
        self.transcript.calls.append(call)
        if call.tool == "update_plan":
            steps = [one for one in call.arguments.get("plan") or [] if isinstance(one, dict)]
            plan = [(str(one.get("step")), _STATES.get(str(one.get("status")), "open")) for one in steps]
            self.transcript.plans.append((number, plan))

    def _result(self, number: int, payload: dict[str, Any]) -> None:
        call = self.calls.get(str(payload.get("call_id")))
        if call is None or (call.result is not None and call.id not in self.early):
            return
        first = call.result.record if call.result is not None else number
        self.early.discard(call.id)
        raw = payload.get("output")
        inner = _object(raw)
        text = str(inner["output"]) if "output" in inner else text_of(raw)
        result = Result(first, text)
        metadata = inner.get("metadata")
        if isinstance(metadata, dict) and isinstance(metadata.get("exit_code"), int):
            result.exit = metadata["exit_code"]
        elif match := _EXIT.search(text[:600]):
            result.exit = int(match[1])
        parts = _OUTPUT.split(text, maxsplit=1)
        head, body = (parts[0], parts[1]) if len(parts) == 2 else ("", text)
        result.text = body
        if result.exit is not None:
            result.failed = result.exit != 0
        elif _FAILED.match(body.strip()):
            result.failed = True
        result.refused = bool(
            re.search(r"rejected by user|denied by (?:the )?user|exec command rejected", text[:300])
        )
        result.stopped = (
            bool(re.match(r"aborted by user|command timed out", body.strip())) or result.exit == 124
        )
        call.result = result
        if match := _SESSION.search(head or text[:300]):
            self.transcript.started.setdefault(match[1], number)
            result.failed = None
        elif call.tool == "write_stdin" and result.exit is not None:
            self.transcript.ended.setdefault(str(call.arguments.get("session_id")), number)
        self._agents(number, call, text)

    def _agents(self, number: int, call: Call, text: str) -> None:
        told, given = self.transcript, _object(text)
        if call.tool == "spawn_agent":
            name = str(given.get("agent_id") or given.get("task_name") or "")
            if name:
                told.started.setdefault(name, number)
        elif call.tool in ("wait_agent", "wait", "close_agent"):
            status = given.get("status")
            for name, state in status.items() if isinstance(status, dict) else ():
                if state not in ("running", "pending_init"):
                    told.ended.setdefault(str(name), number)
            if call.tool == "close_agent":
                told.ended.setdefault(str(call.arguments.get("id") or call.arguments.get("target")), number)
