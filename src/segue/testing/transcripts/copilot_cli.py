"""The ``events.jsonl`` of Copilot CLI, written from steps; all ids and texts are invented."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ...core.runs import steps as s
from .records import content_of, first_path, json_lines, sent_tokens, stamp

_TOOLS: dict[s.Act, str] = {
    "run": "bash", "read": "view", "create": "create", "edit": "edit", "search": "grep",
    "web": "web_fetch", "agent": "task", "ask": "ask_user",
}  # fmt: skip
_PROCESS_TOOLS = ("read_bash", "write_bash", "stop_bash", "read_agent")
_BOXES = {"done": "x", "active": "-"}
_STATUS = {"active": "in_progress", "done": "done", "pending": "pending"}


def written(steps: Iterable[s.Step], *, native: str, cwd: str) -> bytes:
    log = _Log(native, cwd)
    for step in steps:
        log.add(step)
    return json_lines(log.lines)


def placed(steps: Iterable[s.Step], *, native: str, cwd: str, home: Path) -> Path:
    folder = home / ".copilot" / "session-state" / native
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "workspace.yaml").write_text(f"id: {native}\ncwd: {cwd}\nsummary_count: 0\n")
    path = folder / "events.jsonl"
    path.write_bytes(written(steps, native=native, cwd=cwd))
    return path


class _Log:
    """The lines written so far, each linked to the one before."""

    def __init__(self, native: str, cwd: str) -> None:
        self.lines: list[dict[str, Any]] = []
        self._native, self._cwd = native, cwd
        self._before: str | None = None
        self._refused: set[str] = set()

    def add(self, step: s.Step) -> None:
        for type, data in self._events(step):
            self._line(step.at, type, data)

    def _line(self, at: float, type: str, data: dict[str, Any]) -> None:
        id = f"00000000-0000-4000-8000-{len(self.lines):012d}"
        event = {"type": type, "data": data, "id": id, "timestamp": stamp(at), "parentId": self._before}
        self.lines.append(event)
        self._before = id

    def _events(self, step: s.Step) -> Iterator[tuple[str, dict[str, Any]]]:
        match step:
            case s.Start():
                yield self._start(step)
            case s.Prompt(_, text, how):
                stamped = f"<current_datetime>2026-01-01T00:00:00Z</current_datetime>\n\n{text}"
                data = {"content": text, "transformedContent": stamped, "attachments": []}
                if how != "refusal":  # the rejected call has the words
                    yield "user.message", data | ({"delivery": "queued"} if how == "queued" else {})
            case s.Given(_, text):
                yield "user.message", {"content": f"<hook_context>\n{text}\n</hook_context>"}
            case s.Say(_, text):
                yield "assistant.message", {"messageId": f"m{len(self.lines)}", "content": text}
            case s.Thought(_, text):
                thinking = {"content": "", "reasoningText": text, "reasoningOpaque": "b3BhcXVl"}
                yield "assistant.message", {"messageId": f"m{len(self.lines)}", **thinking}
            case s.Call():
                yield from _call_events(step, _arguments(step))
            case s.Result():
                if step.id not in self._refused:
                    yield _completion(step)
            case s.Settled():
                yield _notification(step)
            case s.Plan():
                yield from self._plan_events(step)
            case s.Usage():
                fresh, read, written = sent_tokens(step)
                used = {"apiCallId": step.key, "inputTokens": fresh + read + written}
                cached = {"cacheReadTokens": read, "cacheWriteTokens": written}
                yield "assistant.usage", {**used, **cached, "outputTokens": step.output}
            case s.Compact(_, summary, trigger, tokens):
                yield "hook.start", {"hookInvocationId": "h1", "hookType": "preCompact", "input": {}}
                why = "manual" if trigger == "manual" else "threshold"
                yield "session.compaction_start", {"trigger": why}
                done = {"success": True, "preCompactionTokens": tokens, "summaryContent": summary}
                yield "session.compaction_complete", {**done, "trigger": why}
            case s.Recap(_, text):
                yield "session.task_complete", {"summary": text, "success": True}
            case s.Interrupt(_, reason, call) if call:
                self._refused.add(call)
                feedback = f" User feedback: {reason}" if reason else ""
                error = {"message": f"The user rejected this tool call.{feedback}", "code": "rejected"}
                yield "tool.execution_complete", {"toolCallId": call, "success": False, "error": error}
            case s.Interrupt(_, reason):
                yield "abort", {"reason": reason or "user_initiated"}
            case s.Fault(_, text, status, retrying):
                told = {"errorMessage": text} if retrying else {"errorType": "query", "message": text}
                yield "model.call_failure" if retrying else "session.error", {**told, "statusCode": status}
            case s.Model(_, name):
                yield "session.model_change", {"newModel": name}
            case s.Title(_, text):
                yield "session.title_changed", {"title": text}
            case s.End(_, how, text):
                if how in ("exit", "error"):
                    kind = "error" if how == "error" else "routine"
                    yield "session.shutdown", {"shutdownType": kind, "errorReason": text, "modelMetrics": {}}
                else:
                    yield "assistant.turn_end", {"turnId": "0"}
                    yield "session.idle", {"aborted": True} if how == "aborted" else {}

    def _start(self, step: s.Start) -> tuple[str, dict[str, Any]]:
        place = {"cwd": step.cwd or self._cwd, "branch": step.branch, "headCommit": step.head}
        if step.how == "clear":
            return "session.context_cleared", {"messagesCleared": 1}
        if step.how == "":
            return "session.context_changed", place
        data: dict[str, Any] = {"sessionId": step.native or self._native, "context": place}
        if step.how == "resume":
            return "session.resume", {**data, "eventCount": len(self.lines)}
        data |= {"version": 1, "producer": "copilot-agent", "copilotVersion": step.version or "1.0.34"}
        if step.parent:
            data["detachedFromSpawningParentSessionId"] = step.parent
        return "session.start", data

    def _plan_events(self, plan: s.Plan) -> Iterator[tuple[str, dict[str, Any]]]:
        id = f"plan-{len(self.lines)}"
        if plan.whole:
            rows = [f"- [{_BOXES.get(item.state, ' ')}] {item.text}" for item in plan.items]
            yield from _call_events(s.Call(plan.at, id, "update_todo", "plan"), {"todos": "\n".join(rows)})
        else:
            query = " ".join(_statement(item.key, item.text, item.state) for item in plan.items)
            yield from _call_events(s.Call(plan.at, id, "sql", "plan"), {"query": query, "description": ""})
        yield _completion(s.Result(plan.at, id, True, text="ok"))


def _statement(key: str, text: str, state: str) -> str:
    quoted = text.replace("'", "''")
    if state == "dropped":
        return f"DELETE FROM todos WHERE id = '{key}';"
    if not text:
        return f"UPDATE todos SET status = '{_STATUS.get(state, 'pending')}' WHERE id = '{key}';"
    return (
        "INSERT INTO todos (id, title, description, status) "
        f"VALUES ('{key}', '{quoted}', '', '{_STATUS.get(state, 'pending')}');"
    )


def _call_events(call: s.Call, arguments: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    tool = call.tool if call.tool in _PROCESS_TOOLS else _TOOLS.get(call.act, call.tool)
    request = {"toolCallId": call.id, "name": tool, "arguments": arguments, "type": "function"}
    yield "assistant.message", {"messageId": f"m-{call.id}", "content": "", "toolRequests": [request]}
    yield "hook.start", {"hookInvocationId": call.id, "hookType": "preToolUse", "input": {"toolName": tool}}
    yield "hook.end", {"hookInvocationId": call.id, "hookType": "preToolUse", "success": True}
    yield "tool.execution_start", {"toolCallId": call.id, "toolName": tool, "arguments": arguments}


def _arguments(call: s.Call) -> dict[str, Any]:
    path = first_path(call)
    content = content_of(call)
    change = call.changes[0] if call.changes else s.Change(path, new=content)
    if call.tool in _PROCESS_TOOLS:
        return {"agent_id" if call.tool == "read_agent" else "shellId": call.process}
    match call.act:
        case "run":
            return {"command": call.command, "description": call.note}
        case "read":
            return {"path": path}
        case "create":
            return {"path": path, "file_text": change.new}
        case "edit":
            return {"path": path, "old_str": change.old, "new_str": change.new}
        case "ask":
            return {"question": call.note}
        case "agent":
            return {"description": call.note, "prompt": call.text, "agent_type": "general-purpose"}
        case "web":
            return {"url": call.text}
        case _:
            return {"pattern": call.text}


def _notification(step: s.Settled) -> tuple[str, dict[str, Any]]:
    kind: dict[str, Any] = {"type": "shell_completed", "shellId": step.process}
    if step.ok is not None:
        kind["exitCode"] = 0 if step.ok else 1
    content = f"<system_notification>\n{step.text}\n</system_notification>"
    return "system.notification", {"content": content, "kind": kind}


def _completion(result: s.Result) -> tuple[str, dict[str, Any]]:
    data: dict[str, Any] = {
        "toolCallId": result.id,
        "success": result.ok is not False or result.exit is not None,
    }
    if data["success"]:
        tail = f"\n<exited with exit code {result.exit}>" if result.exit is not None else ""
        if result.process:
            tail = f"\n<command started in background with shellId: {result.process}>"
        data["result"] = {"content": result.text + tail, "detailedContent": result.text}
    else:
        data["error"] = {"message": result.text, "code": "failure"}
    return "tool.execution_complete", data | {"toolTelemetry": {}}
