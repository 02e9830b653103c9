"""Rollouts as Codex 0.166 writes them: most things in two channels, in Codex's order and with its headers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ...core.runs import steps as s
from .records import json_lines, sent_tokens, stamp

_BEGAN = 1_794_703_419.779
_VERSION, _MODEL, _WINDOW = "0.166.0", "gpt-5.5", 258_400
_STATES = {"active": "in_progress", "done": "completed", "pending": "pending", "": "pending"}
_COMPACTED = (
    "Another language model started to solve this problem and produced a summary of its thinking process. "
    "Here is the summary produced by the other language model, "
    "use the information in this summary to assist with your own analysis:\n"
)
_ABORTED = "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>"


def written(steps: Iterable[s.Step], *, native: str, cwd: str) -> bytes:
    rollout = _Rollout(native, cwd)
    for step in _with_start(steps):
        rollout.write(step)
    rollout.flush()
    return json_lines(rollout.lines, (", ", ": "))


def placed(steps: Iterable[s.Step], *, native: str, cwd: str, home: Path) -> Path:
    folder = home / ".codex" / "sessions" / "2026" / "11" / "15"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rollout-2026-11-15T00-43-39-{native}.jsonl"
    path.write_bytes(written(steps, native=native, cwd=cwd))
    return path


def _with_start(steps: Iterable[s.Step]) -> Iterator[s.Step]:
    """The steps with a ``Start`` before them if they have none, because a rollout begins with one."""
    rest = iter(steps)
    first = next(rest, s.Start())
    if not isinstance(first, s.Start):
        yield s.Start(first.at)
    yield from (first, *rest)


class _Rollout:
    """The rollout written so far."""

    def __init__(self, native: str, cwd: str) -> None:
        self.native, self.cwd, self.model = native, cwd, _MODEL
        self.lines: list[dict[str, Any]] = []
        self.now = _BEGAN
        self.turn = ""
        self.turns = self.spent = 0
        self.calls: dict[str, s.Call] = {}
        self.processes: dict[str, s.Call] = {}  # in the background, by the call that started it
        self.refused = ""  # the call that the user rejected; its result has been written
        self.plan: s.Call | None = None  # a call that waits for the plan that it sets
        self.fault: s.Fault | None = None  # a fault that waits for the end of the turn, which contains it

    def write(self, step: s.Step) -> None:
        self.now = step.at or round(self.now + 0.05, 3)
        self.flush(step)
        if not isinstance(step, s.Start | s.End | s.Model):
            self._begin_turn()
        writer = getattr(self, f"_{type(step).__name__.lower()}", None)
        if writer is not None:
            writer(step)

    def flush(self, following: s.Step | None = None) -> None:
        """Write what waits for a certain step, unless that is the following one."""
        if self.plan is not None and not isinstance(following, s.Plan):
            self._plan_call(self.plan.id, ())
        if self.fault is not None and not isinstance(following, s.End):
            self._event("error", message=self.fault.text, codex_error_info=_status(self.fault))
            self.fault = None

    # Records

    def _line(self, kind: str, payload: dict[str, Any]) -> None:
        about = {"timestamp": stamp(self.now), "ordinal": len(self.lines)}
        self.lines.append({**about, "type": kind, "payload": payload})

    def _event(self, kind: str, **fields: Any) -> None:
        self._line("event_msg", {"type": kind, **fields})

    def _response(self, kind: str, **fields: Any) -> None:
        about = {"turn_id": self.turn}
        payload = {"type": kind, **fields}
        payload.setdefault("internal_chat_message_metadata_passthrough", about)
        self._line("response_item", payload)

    def _message(self, role: str, text: str, kind: str) -> None:
        block = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        about = {"turn_id": self.turn, "content_item_kinds": [kind]}
        self._response(
            "message",
            id=f"msg_{len(self.lines)}",
            role=role,
            content=[block],
            internal_chat_message_metadata_passthrough=about,
        )

    def _item(self, kind: str, **fields: Any) -> None:
        ms = int(self.now * 1000)
        self._event(
            "item_completed",
            thread_id=self.native,
            turn_id=self.turn,
            item={"type": kind, **fields},
            started_at_ms=ms,
            completed_at_ms=ms,
        )

    # Starts, turns and ends

    def _start(self, step: s.Start) -> None:
        self.cwd = step.cwd or self.cwd
        if self.lines:
            self._context()
            return
        meta: dict[str, Any] = {"session_id": self.native, "id": self.native}
        if step.how == "fork":  # a paginated fork refers to its history instead of copying it
            meta |= {"forked_from_id": step.parent, "history_base": {"thread_id": step.parent}}
        elif step.parent:
            meta |= {"parent_thread_id": step.parent, "thread_source": "subagent"}
        self._line(
            "session_meta",
            {
                "thread_source": "user",
                **meta,
                "cwd": self.cwd,
                "originator": "codex_exec",
                "cli_version": step.version or _VERSION,
                "source": "exec",
                "history_mode": "paginated",
                "base_instructions": {"text": "You are a coding agent in a made-up transcript."},
                "git": {"commit_hash": step.head, "branch": step.branch},
            },
        )

    def _begin_turn(self) -> None:
        if self.turn:
            return
        self.turns += 1
        self.turn = f"turn-{self.turns}"
        started = {"turn_id": self.turn, "started_at": int(self.now), "model_context_window": _WINDOW}
        self._event("task_started", **started)
        self._context()

    def _context(self) -> None:
        self._line("turn_context", {"turn_id": self.turn, "cwd": self.cwd, "model": self.model})

    def _model(self, step: s.Model) -> None:
        self.model = step.name
        if self.turn:
            self._context()

    def _end(self, step: s.End) -> None:
        fields: dict[str, Any] = {"turn_id": self.turn, "last_agent_message": step.text or None}
        if step.how == "error":
            fault = self.fault or s.Fault(step.at, step.text)
            fields |= {
                "last_agent_message": None,
                "error": {"message": fault.text, "codex_error_info": _status(fault)},
            }
        self.fault = None
        self._event("task_complete", **fields)
        self.turn = ""

    def _interrupt(self, step: s.Interrupt) -> None:
        if step.call:
            self.refused = step.call
            self._response("function_call_output", call_id=step.call, output="exec command rejected by user")
            return
        self._message("user", _ABORTED, "turn.aborted")
        self._event("turn_aborted", turn_id=self.turn, reason=step.reason or "interrupted")
        self.turn = ""

    def _fault(self, step: s.Fault) -> None:
        self.fault = step

    def _compact(self, step: s.Compact) -> None:
        message = f"{_COMPACTED}{step.summary}" if step.summary else ""
        self._line("compacted", {"message": message, "replacement_history": []})
        self._item("ContextCompaction", id=f"compaction-{len(self.lines)}")

    def _usage(self, step: s.Usage) -> None:
        fresh, read, written = sent_tokens(step)
        self.spent += step.context
        sent = {"input_tokens": fresh + read + written, "cached_input_tokens": read}
        last = {**sent, "output_tokens": step.output, "total_tokens": step.context}
        total = {"total_tokens": self.spent}
        self._line("token_usage_record", {"turn_id": self.turn, "usage": last, "thread_token_usage": total})
        info = {"total_token_usage": total, "last_token_usage": last}
        self._event(
            "token_count", info=info | {"model_context_window": step.window or _WINDOW}, rate_limits=None
        )

    # Messages

    def _prompt(self, step: s.Prompt) -> None:
        self._message("user", step.text, "user.text")
        self._item("UserMessage", id=f"item-{len(self.lines)}", content=[{"type": "text", "text": step.text}])

    def _given(self, step: s.Given) -> None:
        self._message("developer", step.text, "hooks.additional_context")

    def _say(self, step: s.Say) -> None:
        self._item("AgentMessage", id=f"msg_{len(self.lines)}", content=[{"type": "Text", "text": step.text}])
        self._message("assistant", step.text, "unknown")

    def _thought(self, step: s.Thought) -> None:
        self._item("Reasoning", id=f"rs_{len(self.lines)}", summary_text=[step.text], raw_content=[])
        summary = [{"type": "summary_text", "text": step.text}]
        self._response("reasoning", id=f"rs_{len(self.lines)}", summary=summary, encrypted_content="invented")

    def _report(self, step: s.Report) -> None:
        self._agent_ended(step.name, {"completed": step.text})

    def _settled(self, step: s.Settled) -> None:
        call = self.processes.pop(step.process, None)
        if call is None or call.act == "agent":
            self._agent_ended(step.process, {"errored" if step.ok is False else "completed": step.text})
        else:
            self._command_item(call, step.process, {True: 0, False: 1, None: -1}[step.ok], step.text)

    def _agent_ended(self, agent: str, status: dict[str, str]) -> None:
        notification = json.dumps({"agent_path": agent, "status": status})
        notice = f"<subagent_notification>\n{notification}\n</subagent_notification>"
        self._message("user", notice, "multi_agent.subagent_notification")

    # Calls and results

    def _call(self, step: s.Call) -> None:
        self.calls[step.id] = step
        if step.act == "plan":
            self.plan = step
        elif step.act == "web":
            action = {"type": "search", "query": step.text}
            self._response("web_search_call", id=step.id, status="completed", action=action)
        elif step.act in s.EDITS:
            self._response(
                "custom_tool_call",
                call_id=step.id,
                status="completed",
                name="apply_patch",
                input=_patch(step),
            )
        else:
            name, arguments = _function(step)
            self._function(step.id, name, arguments)

    def _function(self, id: str, name: str, arguments: dict[str, Any]) -> None:
        self._response(
            "function_call", name=name, arguments=json.dumps(arguments), call_id=id, status="completed"
        )

    def _plan(self, step: s.Plan) -> None:
        id = self.plan.id if self.plan is not None else f"call_plan{len(self.lines)}"
        self._plan_call(id, tuple((item.text, _STATES.get(item.state, "pending")) for item in step.items))

    def _plan_call(self, id: str, items: tuple[tuple[str, str], ...]) -> None:
        plan = [{"step": text, "status": state} for text, state in items]
        has_result_of_its_own = self.plan is not None
        self.plan = None
        self._function(id, "update_plan", {"plan": plan})
        if not has_result_of_its_own:
            self._response("function_call_output", call_id=id, output="Plan updated")

    def _result(self, step: s.Result) -> None:
        if step.id == self.refused:
            return
        call = self.calls.get(step.id)
        if call is not None and step.process:
            self.processes[step.process] = call
        code = step.exit if step.exit is not None else {True: 0, False: 1, None: None}[step.ok]
        if call is not None and call.act in s.EDITS:
            self._patch_result(step, call, code or 0)
        elif call is not None and _function(call)[0] == "exec_command":
            self._command_result(step, call, code)
        elif call is not None and call.act == "agent" and step.process:
            output = json.dumps({"agent_id": step.process})
            self._response("function_call_output", call_id=step.id, output=output)
        elif call is None or call.act != "web":
            output = f"error: {step.text}" if step.ok is False else step.text
            output = "Plan updated" if call is not None and call.act == "plan" else output
            self._response("function_call_output", call_id=step.id, output=output)

    def _command_result(self, step: s.Result, call: s.Call, code: int | None) -> None:
        process = step.process or "4079"
        if code is not None:
            self._command_item(call, process, code, step.text)
        running = f"Process running with session ID {process}"
        state = running if code is None else f"Process exited with code {code}"
        header = f"Chunk ID: 5adcf3\nWall time: 0.0000 seconds\n{state}\nOriginal token count: 3\nOutput:\n"
        self._response("function_call_output", call_id=step.id, output=header + step.text)

    def _command_item(self, call: s.Call, process: str, code: int, output: str) -> None:
        self._item(
            "CommandExecution",
            id=call.id,
            process_id=process,
            command=["/bin/bash", "-lc", _function(call)[1]["cmd"]],
            cwd=f"file://{self.cwd}",
            status="failed" if code else "completed",
            aggregated_output=output,
            exit_code=code,
        )

    def _patch_result(self, step: s.Result, call: s.Call, code: int) -> None:
        kind = {"create": "add", "delete": "delete"}.get(call.act, "update")
        self._item(
            "FileChange",
            id=step.id,
            changes={str(Path(self.cwd) / path): {"type": kind, "unified_diff": ""} for path in call.paths},
            status="failed" if code else "completed",
            stdout=step.text,
            stderr="",
        )
        output = f"Exit code: {code}\nWall time: 0 seconds\nOutput:\n{step.text}"
        self._response("custom_tool_call_output", call_id=step.id, output=output)


def _function(call: s.Call) -> tuple[str, dict[str, Any]]:
    """The tool that Codex would have used for a call, and its arguments."""
    if call.act == "run":
        return "exec_command", {"cmd": call.command or call.text}
    if call.act in ("read", "search"):
        return "exec_command", {"cmd": call.command or f"cat {' '.join(call.paths) or call.text}"}
    if call.tool == "write_stdin":
        return "write_stdin", {"session_id": call.process, "chars": call.text}
    if call.act == "agent":
        return "spawn_agent", {"message": call.text}
    if call.act == "ask":
        return "request_user_input", {"questions": [{"id": "q", "question": call.note or call.text}]}
    return call.tool, {"input": call.text}


def _patch(call: s.Call) -> str:
    if "*** Begin Patch" in call.text:
        return call.text
    if call.changes:
        return f"*** Begin Patch\n{''.join(_section(change) for change in call.changes)}*** End Patch\n"
    verb = {"create": "Add", "delete": "Delete"}.get(call.act, "Update")
    body = "".join(f"*** {verb} File: {path}\n" for path in call.paths)
    added = "" if verb == "Delete" else "".join(f"+{line}\n" for line in call.text.splitlines())
    return f"*** Begin Patch\n{body}{added}*** End Patch\n"


def _section(change: s.Change) -> str:
    """The part of a patch about one file."""
    if change.how == "delete":
        return f"*** Delete File: {change.path}\n"
    added = "".join(f"+{line}\n" for line in change.new.splitlines())
    if change.how == "create":
        return f"*** Add File: {change.path}\n{added}"
    removed = "".join(f"-{line}\n" for line in change.old.splitlines())
    heading = f"@@ {change.place}".rstrip()
    return f"*** Update File: {change.path}\n{heading}\n{removed}{added}"


def _status(fault: s.Fault) -> dict[str, Any]:
    return {"http_connection_failed": {"http_status_code": fault.status}} if fault.status else {}
