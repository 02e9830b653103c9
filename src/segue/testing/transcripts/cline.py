"""The documents of a Cline task, written from steps; all texts are invented. Roo's are derived from these."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...core.runs import steps as s
from .records import content_of, first_path, sent_tokens

TOOLS: dict[s.Act, str] = {
    "run": "execute_command", "read": "read_file", "create": "write_to_file", "edit": "replace_in_file",
    "search": "search_files", "web": "web_fetch", "agent": "new_task", "ask": "ask_followup_question",
}  # fmt: skip
_BOXES = {"done": "x", "active": "-"}
_EPOCH_MS = 1_767_225_600_000  # for steps without a time


def written(steps: Iterable[s.Step], *, native: str, cwd: str) -> bytes:
    """The documents of a task, joined as ``load`` does."""
    return Task(native, cwd).add_all(steps).document()


def placed(steps: Iterable[s.Step], *, native: str, cwd: str, home: Path) -> Path:
    task = Task(native, cwd).add_all(steps)
    data = home / ".cline" / "data"
    path = task.write(data / "tasks" / native)
    if task.focus:
        (path.parent / f"focus_chain_taskid_{native}.md").write_text(task.focus)
    (data / "state").mkdir(parents=True, exist_ok=True)
    listed = data / "state" / "taskHistory.json"
    rows = json.loads(listed.read_text()) if listed.exists() else []
    rows.append({"id": native, "ts": _EPOCH_MS, "task": "", "cwdOnTaskInitialization": cwd})
    listed.write_text(json.dumps(rows))
    return path


class Task:
    """Both documents of a task, as far as they are written."""

    roo = False
    tools = TOOLS

    def __init__(self, native: str, cwd: str) -> None:
        self.native, self.cwd = native, cwd
        self.api: list[dict[str, Any]] = []
        self.ui: list[dict[str, Any]] = []
        self.focus = ""
        self.pending_context: list[str] = []  # from a hook, for the next turn
        self.ended = ""  # what the details about the editor say of a command that has ended
        self.model = ""
        self._ts = 0
        self._calls: dict[str, tuple[str, str]] = {}

    def add_all(self, steps: Iterable[s.Step]) -> Task:
        for step in steps:
            if isinstance(step, s.Start) and step.how == "start":
                continue  # a task begins with its first message
            self._ts = max(self._ts + 1, round(step.at * 1000) or _EPOCH_MS)
            self.add(step)
        if self.pending_context:
            self.add_user_turn()
        return self

    def document(self) -> bytes:
        history = {"id": self.native, "workspace" if self.roo else "cwdOnTaskInitialization": self.cwd}
        parts = {"id": self.native, "api": self.api, "ui": self.ui, "focus": self.focus, "history": history}
        return json.dumps(parts, separators=(",", ":"), ensure_ascii=False).encode()

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ui_messages.json").write_text(json.dumps(self.ui, ensure_ascii=False))
        path = folder / "api_conversation_history.json"
        path.write_text(json.dumps(self.api, ensure_ascii=False))
        return path

    def add(self, step: s.Step) -> None:
        match step:
            case s.Start(_, "resume"):
                self.show("ask", "resume_task")
            case s.Prompt(_, text, how):
                if how != "refusal":  # the answer to the rejected call has the words
                    self.prompt(text)
            case s.Given(_, text):
                self.pending_context.append(f'<hook_context source="TaskStart">\n{text}\n</hook_context>')
            case s.Say(_, text):
                self.say(text)
                self.show("say", "text", text)
            case s.Thought(_, text):
                self.think(text)
            case s.Call():
                self.call(step)
            case s.Result():
                self.result(step)
            case s.Settled(_, command, _, text):
                self.ended = f"\n\n# Inactive Terminals\n## {command}\n### New Output\n{text}"
                self.add_user_turn()
            case s.Plan():
                self.plan(step)
            case s.Usage():
                self.usage(step)
            case s.Compact(_, summary, _, tokens):
                self.compact(summary, tokens)
            case s.Interrupt(_, reason, call) if call in self._calls:
                self.refuse(call, reason)
            case s.Interrupt():
                self.say("\n\n[Response interrupted by user]")
            case s.Fault(_, text, _, retrying):
                self.show(
                    *(("say", "api_req_retry_delayed") if retrying else ("ask", "api_req_failed")), text
                )
            case s.Model(_, name):
                self.model = name
            case s.Report(_, text):
                self.show("say", "subtask_result", text)
            case s.End(_, "turn", text):
                self.done(text)

    # the two documents

    def show(self, type: str, kind: str, text: str | None = None, **more: Any) -> None:
        record = {"ts": self._ts, "type": type, type: kind, **more}
        if text is not None:
            record["text"] = text
        self.ui.append({**record, "conversationHistoryIndex": len(self.api) - 1})

    def say(self, text: str) -> None:
        self._assistant({"type": "text", "text": text})

    def _assistant(self, block: dict[str, Any]) -> None:
        message = {"role": "assistant", "content": [block], "ts": self._ts}
        if self.model and not self.roo:
            message["modelInfo"] = {"modelId": self.model, "providerId": "invented", "mode": "act"}
        self.api.append(message)

    def add_user_turn(self, *texts: str) -> None:
        texts, self.pending_context = (*texts, *self.pending_context), []
        details = self.environment().replace(
            "\n</environment_details>", f"{self.ended}\n</environment_details>"
        )
        blocks = [{"type": "text", "text": text} for text in (*texts, details)]
        self.ended = ""
        self.api.append({"role": "user", "content": blocks, "ts": self._ts})

    def environment(self) -> str:
        return (
            "<environment_details>\n# Visual Studio Code Visible Files\n(No visible files)\n\n"
            f"# Current Working Directory ({self.cwd}) Files\nREADME.md\n\n# Current Mode\nACT MODE\n"
            "</environment_details>"
        )

    # steps

    def prompt(self, text: str) -> None:
        if not self.api:
            self.show("say", "task", text)
            self.add_user_turn(f"<task>\n{text}\n</task>")
        else:
            self.show("say", "user_feedback", text)
            self.add_user_turn(
                f"New instructions for task continuation:\n<user_message>\n{text}\n</user_message>"
            )

    def call(self, call: s.Call) -> None:
        tool = self.tools.get(call.act, "use_mcp_tool")
        self._calls[call.id] = (tool, call.command or (call.paths[0] if call.paths else call.note))
        call_arguments = arguments(call)
        self._assistant({"type": "tool_use", "id": call.id, "name": tool, "input": call_arguments})

    def think(self, text: str) -> None:
        self._assistant({"type": "thinking", "thinking": text, "signature": "c2lnbmVk"})

    def refuse(self, call: str, words: str) -> None:
        denial = "The user denied this operation."
        if words:
            self.show("say", "user_feedback", words)
            denial = "The user denied this operation and provided the following feedback:\n"
            denial += f"<feedback>\n{words}\n</feedback>"
        self.result(s.Result(0.0, call, text=denial))

    def result(self, result: s.Result) -> None:
        if result.id not in self._calls:
            return
        tool, about = self._calls.pop(result.id)
        text = f"[{tool} for '{about}'] Result:\n{self.outcome(tool, result)}"
        block = {"type": "tool_result", "tool_use_id": result.id, "content": [{"type": "text", "text": text}]}
        self.api.append({"role": "user", "content": [block], "ts": self._ts})

    def outcome(self, tool: str, result: s.Result) -> str:
        if result.process:
            later = "You will be updated on the terminal status and new output in the future."
            head = "Command is still running in the user's terminal."
            return f"{head}\nHere's the output so far:\n{result.text}\n\n{later}"
        if tool == "execute_command" and result.exit is not None:
            failed = f"Command failed with exit code {result.exit}."
            head = failed if result.exit else "Command executed successfully (exit code 0)."
            return f"{head}\nOutput:\n{result.text}"
        if result.ok is False:
            return f"The tool execution failed with the following error:\n<error>\n{result.text}\n</error>"
        return result.text

    def plan(self, plan: s.Plan) -> None:
        self.focus = boxes(plan)
        self.show("say", "task_progress", self.focus)

    def usage(self, usage: s.Usage) -> None:
        fresh, read, written = sent_tokens(usage)
        about = {"request": "", "tokensIn": fresh, "tokensOut": usage.output, "cost": usage.cost}
        self.show("say", "api_req_started", json.dumps({**about, "cacheWrites": written, "cacheReads": read}))

    def compact(self, summary: str, tokens: int) -> None:
        call_arguments = {"context": summary}
        self._assistant(
            {"type": "tool_use", "id": f"condense-{self._ts}", "name": "condense", "input": call_arguments}
        )

    def done(self, text: str) -> None:
        self.show("say", "completion_result", text)
        call_arguments = {"result": text}
        id = f"done-{self._ts}"
        self._assistant({"type": "tool_use", "id": id, "name": "attempt_completion", "input": call_arguments})


def boxes(plan: s.Plan) -> str:
    return "\n".join(f"- [{_BOXES.get(item.state, ' ')}] {item.text}" for item in plan.items)


def block(change: s.Change) -> str:
    """A change as a SEARCH/REPLACE block."""
    return f"------- SEARCH\n{change.old}\n=======\n{change.new}\n+++++++ REPLACE"


def arguments(call: s.Call) -> dict[str, Any]:
    path = first_path(call)
    content = content_of(call)
    change = call.changes[0] if call.changes else None
    match call.act:
        case "run":
            return {"command": call.command, "requires_approval": "false"}
        case "read":
            return {"path": path}
        case "create":
            return {"path": path, "content": change.new if change else content}
        case "edit":
            return {"path": path, "diff": block(change) if change else content}
        case "search":
            return {"path": ".", "regex": call.text.removeprefix(".\n")}
        case "ask":
            return {"question": call.note}
        case "web":
            return {"url": call.text}
        case "agent":
            return {"context": call.text}
        case _:
            return {"server_name": "invented", "tool_name": call.tool, "arguments": call.text}
