"""Transcripts as Claude Code 2.1 writes them: a line per content block, with bookkeeping in between.

The blocks of a response share an id and a usage, so they are written when the response is complete. What the
format lacks (the commit, a sub-agent's report apart from the result) is left out. All ids and texts are
invented.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...agents.claude_code.calls import ACTS
from ...core.runs import steps as s
from .records import content_of, first_path, json_lines, other_arguments, sent_tokens, stamp

VERSION, MODEL = "2.1.325", "claude-opus-5-5"
TOOLS: dict[s.Act, str] = {
    "run": "Bash", "read": "Read", "edit": "Edit", "create": "Write", "delete": "Bash", "search": "Grep",
    "plan": "TodoWrite", "agent": "Agent", "ask": "AskUserQuestion", "web": "WebFetch",
}  # fmt: skip
STATUS = {"pending": "pending", "active": "in_progress", "done": "completed", "dropped": "deleted"}
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file "
    "edit, the new_string was NOT written to the file)."
)
CONTINUED = (
    "This session is being continued from a previous conversation that ran out of context. "
    "The summary below covers the earlier portion of the conversation.\n\nSummary:\n"
)
_BEGAN = 1_794_703_419.779


def written(steps: Iterable[s.Step], *, native: str, cwd: str) -> bytes:
    """The transcript that this agent would have written; what its format lacks is left out."""
    return _transcript_of(steps, native, cwd).body()


def placed(steps: Iterable[s.Step], *, native: str, cwd: str, home: Path) -> Path:
    """Write the transcript where the agent would; one with a parent is a sub-agent's, next to the
    parent's."""
    transcript = _transcript_of(steps, native, cwd)
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", cwd)
    path = folder / f"{native}.jsonl"
    if transcript.parent:
        path = folder / transcript.parent / "subagents" / f"agent-{native}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(transcript.body())
    if transcript.parent:
        meta = {"agentType": "general-purpose", "description": "invented", "spawnDepth": 1, "finished": True}
        path.with_suffix(".meta.json").write_text(json.dumps(meta))
    return path


def _transcript_of(steps: Iterable[s.Step], native: str, cwd: str) -> _Transcript:
    transcript = _Transcript(native, cwd)
    for step in steps:
        transcript.add(step)
    transcript.flush()
    return transcript


class _Transcript:
    """The lines written so far."""

    def __init__(self, native: str, cwd: str) -> None:
        self.lines: list[dict[str, Any]] = []
        self.parent = ""  # of a sub-agent
        self._native, self._cwd, self._branch, self._version = native, cwd, "", VERSION
        self._forked = ""
        self._now = _BEGAN
        self._model = MODEL
        self._before: str | None = None
        self._blocks: list[tuple[float, dict[str, Any]]] = []  # of the unfinished response
        self._usage: s.Usage | None = None
        self._responses = self._prompts = 0
        self._open: dict[str, s.Call] = {}
        self._planning: dict[str, Any] | None = None  # a block that still lacks its list
        self._refused = ""  # the call that the user rejected; its result has been written

    def body(self) -> bytes:
        return json_lines(self.lines)

    def add(self, step: s.Step) -> None:
        self._now = step.at or round(self._now + 0.05, 3)
        if not isinstance(step, s.Say | s.Call | s.Usage | s.Plan):
            self.flush()
        match step:
            case s.Say(text=text):
                self._block({"type": "text", "text": text})
            case s.Thought(text=text):
                self._block({"type": "thinking", "thinking": text, "signature": "invented"})
            case s.Call():
                self._call(step)
            case s.Usage():
                self._usage = step
                self.flush()
            case s.Plan():
                self._plan(step)
            case s.Model(name=name):
                self._model = name
            case s.Start():
                self._start(step)
            case s.Prompt():
                self._prompt(step)
            case s.Given(text=text):
                self._brief(text)
            case s.Result():
                self._result(step)
            case s.Compact():
                self._compact(step)
            case s.Recap(text=text):
                self._system("away_summary", content=text)
            case s.Settled():
                self._settled(step)
            case s.Interrupt(call=call) if call:
                self._refuse(call, step.reason)
            case s.Interrupt():
                asked = " for tool use" if self._open else ""
                self._user([{"type": "text", "text": f"[Request interrupted by user{asked}]"}])
            case s.Fault():
                self._fault(step)
            case s.Title(text=text):
                self._note("ai-title", aiTitle=text)
            case s.End(how=how):
                self._end(how)

    # -- records

    def _record(self, type: str, at: float, **fields: Any) -> None:
        """Write a record of the conversation, linked to the one before."""
        id = f"{len(self.lines):08x}-0000-4000-8000-{len(self._native):012x}"
        line = {"parentUuid": self._before, "isSidechain": bool(self.parent), "type": type, **fields}
        if self.parent:
            line["agentId"] = self._native
        if self._forked:
            line["forkedFrom"] = {"sessionId": self._forked, "messageUuid": id}
        place = {
            "cwd": self._cwd, "sessionId": self.parent or self._native, "version": self._version,
            "gitBranch": self._branch,
        }  # fmt: skip
        about = {"uuid": id, "timestamp": stamp(at), "userType": "external", "entrypoint": "cli"}
        self.lines.append({**line, **about, **place})
        self._before = id

    def _note(self, type: str, **fields: Any) -> None:
        """Write a record of bookkeeping."""
        self.lines.append({"type": type, **fields, "sessionId": self._native})

    def _user(self, content: Any, **fields: Any) -> None:
        self._record("user", self._now, message={"role": "user", "content": content}, **fields)

    def _system(self, subtype: str, **fields: Any) -> None:
        self._record("system", self._now, subtype=subtype, level="info", isMeta=False, **fields)

    def _attachment(self, type: str, **fields: Any) -> None:
        self._record("attachment", self._now, attachment={"type": type, **fields})

    def _block(self, block: dict[str, Any]) -> None:
        self._blocks.append((self._now, block))

    def flush(self) -> None:
        """Write the unfinished response: a line per block, with the same id and usage."""
        if not self._blocks:
            return
        self._responses += 1
        used = self._usage
        self._usage, self._planning = None, None
        id = used.key if used and used.key else f"msg_{self._native}_{self._responses}"
        reason = "tool_use" if any(block["type"] == "tool_use" for _, block in self._blocks) else "end_turn"
        for index, (at, block) in enumerate(self._blocks):
            message = {
                "id": id, "type": "message", "role": "assistant", "model": self._model, "content": [block],
                "stop_reason": reason, "stop_sequence": None, "usage": _tokens(used),
            }  # fmt: skip
            self._record("assistant", at, message=message, apiBlockIndex=index, requestedModel=self._model)
        self._blocks = []

    # -- steps

    def _start(self, step: s.Start) -> None:
        self._cwd = step.cwd or self._cwd
        self._branch = step.branch or self._branch
        self._version = step.version or self._version
        if step.how == "fork":
            self._forked = step.parent or "another"
        elif step.parent:
            self.parent = step.parent
        if step.how in ("resume", "fork", "clear") and step.native:
            self._native = step.native

    def _prompt(self, step: s.Prompt) -> None:
        if step.how == "refusal":
            return  # the result of the rejected call has the words
        text = step.text
        self._prompts += 1
        if step.how == "command":
            name, _, words = text.removeprefix("/").partition(" ")
            text = (
                f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>\n"
                f"<command-args>{words}</command-args>"
            )
        elif (self._open or step.how == "queued") and not self.parent:  # typed while the agent works
            now = stamp(self._now)
            self._note("queue-operation", operation="enqueue", timestamp=now, content=text)
            self._note("queue-operation", operation="remove", timestamp=now)
            self._attachment("queued_command", prompt=text, commandMode="prompt")
            return
        snapshot = {"messageId": f"m{self._prompts}", "trackedFileBackups": {}}
        self.lines.append({"type": "file-history-snapshot", "messageId": f"m{self._prompts}",
                           "snapshot": snapshot, "isSnapshotUpdate": False})  # fmt: skip
        self._user(text, promptId=f"prompt-{self._prompts}", permissionMode="default")
        self._note("last-prompt", lastPrompt=text[:200], leafUuid=self._before)

    def _brief(self, text: str) -> None:
        output = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}
        about = {"hookName": "SessionStart:startup", "toolUseID": "hook-1", "hookEvent": "SessionStart"}
        self._attachment("hook_success", content="", stdout=f"{json.dumps(output)}\n", stderr="", exitCode=0,
                       command="segue hook", durationMs=40, **about)  # fmt: skip
        self._attachment("hook_additional_context", content=[text], **about)

    def _call(self, step: s.Call) -> None:
        tool = step.tool if step.tool in ACTS else TOOLS.get(step.act, step.tool or "mcp__invented__tool")
        self._open[step.id] = step
        block = {"type": "tool_use", "id": step.id, "name": tool, "input": _arguments(tool, step)}
        self._block(block)
        self._planning = block if tool == "TodoWrite" else None

    def _refuse(self, call: str, words: str) -> None:
        """Write the result of a call that the user rejected; the steps that follow add nothing to it."""
        self._open.pop(call, None)
        self._refused = call
        text = f"{REJECTED} To tell you how to proceed, the user said:\n{words}" if words else REJECTED
        block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": True}
        self._user([block], toolUseResult=f"Error: {text}", toolDenialKind="user-rejected")

    def _settled(self, step: s.Settled) -> None:
        """Write the notice that something in the background has ended."""
        status = {True: "completed", False: "failed", None: "killed"}[step.ok]
        notice = (
            f"<task-notification>\n<task-id>{step.process}</task-id>\n<status>{status}</status>\n"
            f"<summary>{step.text}</summary>\n</task-notification>"
        )
        if not self._open:
            self._user(notice, origin={"kind": "task-notification"})
            return
        now = stamp(self._now)
        self._note("queue-operation", operation="enqueue", timestamp=now, content=notice)
        self._attachment("queued_command", prompt=notice, commandMode="task-notification")

    def _launched(self, step: s.Result, call: s.Call | None) -> None:
        raw: dict[str, Any] = {"stdout": step.text, "stderr": "", "backgroundTaskId": step.process}
        text = f"Command running in background with ID: {step.process}. Output is being written to: /tmp/x"
        if call is not None and call.act == "agent":
            raw = {"isAsync": True, "status": "async_launched", "agentId": step.process}
            text = f"Async agent launched successfully.\nagentId: {step.process} (internal ID)"
        content = "\n".join(filter(None, (step.text, text)))
        block = {"tool_use_id": step.id, "type": "tool_result", "content": content}
        self._user([block], toolUseResult=raw)

    def _result(self, step: s.Result) -> None:
        call = self._open.pop(step.id, None)
        if step.id == self._refused:
            return
        if step.process:
            self._launched(step, call)
            return
        block: dict[str, Any] = {"tool_use_id": step.id, "type": "tool_result", "content": step.text}
        raw: Any = {"stdout": step.text, "stderr": "", "interrupted": False, "isImage": False}
        if step.ok is False:
            block["content"] = f"Exit code {step.exit}\n{step.text}" if step.exit is not None else step.text
            block["is_error"] = True
            raw = f"Error: {block['content']}"
        self._user([block], toolUseResult=raw, sourceToolAssistantUUID=self._before)

    def _plan(self, step: s.Plan) -> None:
        if step.whole:
            self._todos(step)
            return
        for item in step.items:
            self._task(step, item)

    def _todos(self, step: s.Plan) -> None:
        todos = [
            {"content": item.text, "status": STATUS.get(item.state, "pending"), "activeForm": item.text}
            for item in step.items
        ]
        if self._planning is not None:
            self._planning["input"] = {"todos": todos}
            self._planning = None
            return
        self._own_call(step.at, "TodoWrite", {"todos": todos}, "Todos have been modified successfully.")

    def _task(self, step: s.Plan, item: s.PlanItem) -> None:
        if item.text:
            arguments = {"subject": item.text, "description": "", "activeForm": item.text}
            self._own_call(
                step.at, "TaskCreate", arguments, f"Task #{item.key} created successfully: {item.text}"
            )
        if not item.text or item.state not in ("pending", ""):
            arguments = {"taskId": item.key, "status": STATUS.get(item.state, "pending")}
            self._own_call(step.at, "TaskUpdate", arguments, f"Updated task #{item.key} status")

    def _own_call(self, at: float, tool: str, arguments: dict[str, Any], output: str) -> None:
        """Write a call that the agent makes by itself, with its result."""
        id = f"toolu_{self._native}_{len(self.lines)}_{len(self._blocks)}"
        self._block({"type": "tool_use", "id": id, "name": tool, "input": arguments})
        self.flush()
        self._result(s.Result(at, id, True, text=output))

    def _compact(self, step: s.Compact) -> None:
        about = {"trigger": step.trigger or "auto", "preTokens": step.tokens, "durationMs": 334}
        logical, self._before = self._before, None
        self._system("compact_boundary", content="Conversation compacted", compactMetadata=about,
                     logicalParentUuid=logical)  # fmt: skip
        if step.summary:
            self._user(f"{CONTINUED}{step.summary}", isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def _fault(self, step: s.Fault) -> None:
        if step.retrying:
            error = {"formatted": step.text, "status": step.status or None}
            self._system("api_error", error=error, retryInMs=617.0, retryAttempt=1, maxRetries=10)
            return
        message = {
            "id": f"synthetic-{len(self.lines)}", "type": "message", "role": "assistant",
            "model": "<synthetic>", "content": [{"type": "text", "text": step.text}], "usage": _tokens(None),
        }  # fmt: skip
        about = {"error": "invented", "apiErrorStatus": step.status or None}
        self._record("assistant", self._now, message=message, isApiErrorMessage=True, **about)

    def _end(self, how: str) -> None:
        if how == "exit":
            cost = {"totalCostUSD": 0.05, "totalLinesAdded": 8, "modelUsage": {}}
            self._note("cost-state", timestamp=stamp(self._now), **cost)
        else:
            self._system("turn_duration", durationMs=1200, messageCount=len(self.lines))


def _tokens(used: s.Usage | None) -> dict[str, Any]:
    if used is None:
        return {"input_tokens": 0, "output_tokens": 0}
    fresh, read, written = sent_tokens(used)
    cached = {"cache_creation_input_tokens": written, "cache_read_input_tokens": read}
    hour = used.cache_write_1h
    kept = {"ephemeral_5m_input_tokens": written - hour, "ephemeral_1h_input_tokens": hour}
    tokens = {"input_tokens": fresh, **cached, "cache_creation": kept, "output_tokens": used.output}
    return {**tokens, "service_tier": "standard"}


def _arguments(tool: str, step: s.Call) -> dict[str, Any]:
    path = first_path(step)
    change = step.changes[0] if step.changes else s.Change(path, new=content_of(step))
    match tool:
        case "Bash" | "PowerShell":
            command = step.command or f"rm {' '.join(step.paths)}"
            return {"command": command, "description": step.note}
        case "Read" | "NotebookRead":
            return {"file_path": path}
        case "Write":
            return {"file_path": path, "content": change.new}
        case "Edit":
            return {"file_path": path, "old_string": change.old, "new_string": change.new}
        case "MultiEdit":
            edits = [{"old_string": change.old, "new_string": change.new}]
            return {"file_path": path, "edits": edits}
        case "TaskOutput" | "TaskStop":
            return {"task_id": step.process}
        case "Agent" | "Task":
            return {"description": step.note, "prompt": step.text, "subagent_type": "general-purpose"}
        case "AskUserQuestion":
            return {"questions": [{"question": step.note, "header": "", "options": []}]}
        case "TodoWrite":
            return {"todos": []}
        case "WebFetch" | "WebSearch":
            return {"url" if tool == "WebFetch" else "query": step.text}
        case _:
            return other_arguments(step)
