"""Conversations of Gemini CLI 0.61, written from steps: a log of lines, in which a later line wins.

A call is written only together with its result, as the agent does. What the format lacks is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...agents.gemini_cli.tools import ACTS
from ...core.runs import steps as s
from .records import first_path, json_lines, other_arguments, sent_tokens, stamp

TOOLS: dict[s.Act, str] = {
    "run": "run_shell_command", "read": "read_file", "edit": "replace", "create": "write_file",
    "search": "grep_search", "plan": "write_todos", "agent": "delegate_to_agent", "ask": "ask_user",
    "web": "web_fetch",
}  # fmt: skip
STATUS = {"pending": "pending", "active": "in_progress", "done": "completed", "dropped": "cancelled"}


def written(steps: Iterable[s.Step], *, native: str, cwd: str) -> bytes:
    """The transcript that this agent would have written; what its format lacks is left out."""
    conversation = _Conversation(native, cwd)
    for step in steps:
        conversation.add(step)
    return json_lines(conversation.lines, (", ", ": "))


def placed(steps: Iterable[s.Step], *, native: str, cwd: str, home: Path) -> Path:
    """Write the transcript where the agent would under this home folder, and return its path."""
    slug = re.sub(r"[^a-z0-9]+", "-", Path(cwd).name.lower()).strip("-") or "project"
    registry = home / ".gemini" / "projects.json"
    chats = home / ".gemini" / "tmp" / slug / "chats"
    chats.mkdir(parents=True, exist_ok=True)
    known = json.loads(registry.read_text())["projects"] if registry.exists() else {}
    registry.write_text(json.dumps({"projects": {**known, cwd: slug}}, indent=2))
    (chats.parent / ".project_root").write_text(cwd)
    path = chats / f"session-2026-01-01T00-00-{native[:8]}.jsonl"
    path.write_bytes(written(steps, native=native, cwd=cwd))
    return path


class _Conversation:
    """The lines written so far."""

    def __init__(self, native: str, cwd: str) -> None:
        self.lines: list[dict[str, Any]] = []
        self._native, self._cwd = native, cwd
        self._count = 0
        self._model = "gemini-2.5-pro"
        self._open: dict[str, Any] | None = None  # the unfinished response
        self._calls: dict[str, s.Call] = {}  # calls without a result
        self._todos: list[dict[str, str]] = []
        self._planning = ""
        self._reports: dict[str, s.Report] = {}
        self._thoughts: list[dict[str, str]] = []  # of the response that comes next

    def add(self, step: s.Step) -> None:
        if not self.lines:
            self._header(step.at)
        match step:
            case s.Start(how=how) if how in ("resume", "clear", "fork"):
                self._header(step.at)
            case s.Model(name=name):
                self._model, self._open = name, None
            case s.Title(text=text):
                self.lines.append({"$set": {"summary": text}})
            case s.Prompt():
                self._prompt(step)
            case s.Given(text=text):
                self._open = None
                content = [{"text": f"<hook_context>{text}</hook_context>"}]
                self.lines.append(self._message("user", step.at, content))
            case s.Compact(summary=text):
                content = [{"text": f"<state_snapshot>{text}</state_snapshot>"}]
                self.lines.append({"$set": {"messages": [self._message("user", step.at, content)]}})
            case s.Settled():
                self._settled(step)
            case s.Interrupt(call=call) if call in self._calls:
                self._result(s.Result(step.at, call, text=step.reason), "cancelled")
            case s.Interrupt():
                self._notice("info", step.at, "Request cancelled.")
            case s.Fault(text=text, status=status):
                self._notice("error", step.at, f"[API Error: {text} (status: {status})]")
            case _:
                self._work(step)

    def _prompt(self, step: s.Prompt) -> None:
        if step.how == "refusal":
            return  # the rejected call has the words, if the format can say them
        self._open = None
        content = [{"text": _steering(step.text) if step.how == "queued" else step.text}]
        if step.how == "command":
            body = self._message("user", step.at, [{"text": "Do what this command is for."}])
            self.lines.append({**body, "displayContent": content})
        else:
            self.lines.append(self._message("user", step.at, content))

    def _settled(self, step: s.Settled) -> None:
        how = "with error: it failed" if step.ok is False else "successfully"
        log = f"/tmp/background-processes/background-{step.process}.log"
        notice = f"[Background command completed {how}. Output saved to {log}] {step.text}"
        self._open = None
        self.lines.append(self._message("user", step.at, [{"text": _steering(notice)}]))

    def _work(self, step: s.Step) -> None:
        match step:
            case s.Thought(text=text):
                subject, _, description = text.partition("\n")
                thought = {"subject": subject, "description": description, "timestamp": stamp(step.at)}
                self._thoughts.append(thought)
                self._open = None
            case s.Say(text=text):
                self._open = self._message("gemini", step.at, text)
                self._emit()
            case s.Usage():
                read = sent_tokens(step)[1]
                sent = {"input": step.context, "cached": read}
                tokens = {**sent, "output": step.output, "thoughts": 0, "tool": 0}
                self._response(step.at)["tokens"] = tokens | {"total": step.context + step.output}
                self._emit()
            case s.Call():
                if self._open is not None and "tokens" in self._open and not self._calls:
                    self._open = None  # a response has its tokens once
                self._calls[step.id] = step
                self._planning = step.id if step.act == "plan" else ""
            case s.Plan():
                self._plan(step)
            case s.Report(call=call):
                self._reports[call] = step
            case s.Result():
                self._result(step)

    def _plan(self, step: s.Plan) -> None:
        self._todos = [
            {"description": item.text, "status": STATUS.get(item.state, "pending")} for item in step.items
        ]
        if not self._planning:
            self._count += 1
            call = s.Call(step.at, f"plan-{self._count}", "write_todos", "plan")
            self._calls[call.id] = call
            self._result(s.Result(step.at, call.id, True))
        self._planning = ""

    def _result(self, step: s.Result, status: str = "") -> None:
        call = self._calls.pop(step.id, None)
        if call is None:
            return
        name = call.tool if call.tool in ACTS else TOOLS.get(call.act, call.tool or "other")
        message = self._response(call.at)
        record = self._tool_call(call, name, step)
        if status == "cancelled":
            record |= _refusal(call, name, step)
        message.setdefault("toolCalls", []).append(record)
        self._emit()

    def _tool_call(self, call: s.Call, name: str, step: s.Result) -> dict[str, Any]:
        failed = step.ok is False and step.exit is None
        text = step.text
        args = _arguments(name, call)
        if step.process:
            text = f"Command is running in background. PID: {step.process}. Initial output:\n{text}"
        elif name == "run_shell_command" and not failed:
            code = f"\nExit Code: {step.exit}" if step.exit is not None else ""
            text = f"Output: {text or '(empty)'}{code}\nProcess Group PGID: 4242"
        if name == "write_todos":
            args = {"todos": self._todos}
        if call.id in self._reports and self._reports[call.id].name:
            args["agent_name"] = self._reports[call.id].name
        answer = {"id": call.id, "name": name, "response": {"error" if failed else "output": text}}
        call_record = {
            "id": call.id, "name": name, "args": args, "result": [{"functionResponse": answer}],
            "status": "error" if failed else "success", "timestamp": stamp(step.at),
        }  # fmt: skip
        if name == "write_file":
            call_record["resultDisplay"] = {"isNewFile": call.act == "create"}
        return call_record

    def _response(self, at: float) -> dict[str, Any]:
        if self._open is None:
            self._open = self._message("gemini", at, "")
        return self._open

    def _emit(self) -> None:
        assert self._open is not None
        self._open["model"] = self._model
        self.lines.append(json.loads(json.dumps(self._open)))

    def _notice(self, type: str, at: float, text: str) -> None:
        self._open = None
        self.lines.append(self._message(type, at, text))

    def _message(self, type: str, at: float, content: Any) -> dict[str, Any]:
        self._count += 1
        record = {"id": f"{self._count:08x}", "timestamp": stamp(at), "type": type, "content": content}
        if type == "gemini":
            record["thoughts"], self._thoughts = self._thoughts, []
        return record

    def _header(self, at: float) -> None:
        now = stamp(at)
        project = sha256(self._cwd.encode()).hexdigest()
        self.lines.append(
            {"sessionId": self._native, "projectHash": project, "startTime": now, "lastUpdated": now,
             "kind": "main"}
        )  # fmt: skip
        place = f"<session_context>\n- **Workspace Directories:**\n  - {self._cwd}\n</session_context>"
        context = self._message("user", at, [{"text": place}])
        self.lines.append({"$set": {"messages": [context], "lastUpdated": now}})
        self._open = None


def _steering(text: str) -> str:
    """What reaches the model while it is at work, as the agent frames it."""
    return f"User steering update:\n<user_input>\n{text}\n</user_input>\nInternal instruction: Re-evaluate."


def _refusal(call: s.Call, name: str, result: s.Result) -> dict[str, Any]:
    """How a rejected call ends; only the rejection of a plan has words."""
    status, text = "cancelled", {"error": "[Operation Cancelled] Reason: User denied execution."}
    if name == "exit_plan_mode":
        words = f"User feedback: {result.text}" if result.text else "No feedback provided."
        status, text = "success", {"output": f"Plan rejected. {words}\n\nThe plan is stored at: plan.md\n"}
    answer = {"functionResponse": {"id": call.id, "name": name, "response": text}}
    return {"status": status, "result": [answer]}


def _arguments(name: str, call: s.Call) -> dict[str, Any]:
    path = first_path(call)
    change = call.changes[0] if call.changes else s.Change(path, new=call.text)
    match name:
        case "run_shell_command":
            return {"command": call.command, "description": call.note}
        case "read_file" | "list_directory":
            return {"file_path": path}
        case "replace" | "edit":
            edit = {"file_path": path, "instruction": call.note}
            return edit | {"old_string": change.old, "new_string": change.new}
        case "write_file":
            return {"file_path": path, "content": change.new}
        case "read_background_output":
            return {"pid": int(call.process)}
        case "ask_user":
            return {"questions": [{"question": call.note}]}
        case "delegate_to_agent":
            return {"agent_name": "", "objective": call.text, "description": call.note}
        case _:
            return other_arguments(call)
