"""The documents of a Roo task, written from steps: like Cline's, but with tools as XML in the text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ...core.runs.steps import Call, Plan, Result, Step, Usage
from . import cline
from .records import sent_tokens


def written(steps: Iterable[Step], *, native: str, cwd: str) -> bytes:
    """The documents of a task, joined as ``load`` does."""
    return Task(native, cwd).add_all(steps).document()


def placed(steps: Iterable[Step], *, native: str, cwd: str, home: Path) -> Path:
    storage = home / ".config" / "Code" / "User" / "globalStorage" / "rooveterinaryinc.roo-cline"
    path = Task(native, cwd).add_all(steps).write(storage / "tasks" / native)
    item = {"id": native, "number": 1, "ts": 0, "task": "", "tokensIn": 0, "tokensOut": 0, "workspace": cwd}
    path.with_name("history_item.json").write_text(json.dumps(item))
    return path


class Task(cline.Task):
    """Cline's documents in Roo's variant."""

    roo = True
    tools = {**cline.TOOLS, "edit": "apply_diff"}

    def environment(self) -> str:
        return (
            "<environment_details>\n# VSCode Visible Files\n\n\n# Current Time\n"
            "Current time in ISO 8601 UTC format: 2026-01-01T00:00:00.000Z\n\n# Current Mode\n"
            f"<slug>code</slug>\n<name>Code</name>\n<model>{self.model or 'invented'}</model>\n\n"
            f"# Current Workspace Directory ({self.cwd}) Files\nREADME.md\n</environment_details>"
        )

    def prompt(self, text: str) -> None:
        if not self.api:
            self.show("say", "text", text, images=[])
            self.add_user_turn(f"<task>\n{text}\n</task>")
        else:
            super().prompt(text)

    def call(self, call: Call) -> None:
        tool = self.tools.get(call.act, "use_mcp_tool")
        about = call.command or (call.paths[0] if call.paths else call.note)
        self._calls[call.id] = (tool, about)
        call_arguments = cline.arguments(call)
        if call.act == "read":
            call_arguments = {"args": f"\n<file>\n<path>{call_arguments['path']}</path>\n</file>\n"}
        call_arguments.pop("requires_approval", None)
        lines = "\n".join(f"<{name}>{value}</{name}>" for name, value in call_arguments.items())
        self.say(f"<{tool}>\n{lines}\n</{tool}>")

    def think(self, text: str) -> None:
        self.show("say", "reasoning", text, partial=False)

    def result(self, result: Result) -> None:
        if result.id not in self._calls:
            return
        tool, about = self._calls.pop(result.id)
        self.add_user_turn(f"[{tool} for '{about}'] Result:", self.outcome(tool, result))

    def outcome(self, tool: str, result: Result) -> str:
        if tool == "execute_command" and result.exit is not None:
            at = f"Command executed in terminal  within working directory '{self.cwd}'."
            failed = " Command execution was not successful, inspect the cause and adjust as needed.\n"
            return f"{at}{failed if result.exit else ' '}Exit code: {result.exit}\nOutput:\n{result.text}"
        return super().outcome(tool, result)

    def plan(self, plan: Plan) -> None:
        self.say(f"<update_todo_list>\n<todos>\n{cline.boxes(plan)}\n</todos>\n</update_todo_list>")
        self.add_user_turn("[update_todo_list] Result:", "Todo list updated successfully.")

    def usage(self, usage: Usage) -> None:
        _, read, written = sent_tokens(usage)
        about = {"apiProtocol": "openai", "tokensIn": usage.context, "tokensOut": usage.output}
        cached = {"cacheWrites": written, "cacheReads": read}
        self.show("say", "api_req_started", json.dumps({**about, **cached, "cost": usage.cost}))

    def compact(self, summary: str, tokens: int) -> None:
        about = {"summary": summary, "cost": 0, "newContextTokens": 0, "prevContextTokens": tokens}
        self.show("say", "condense_context", contextCondense=about)

    def done(self, text: str) -> None:
        self.show("say", "completion_result", text, partial=False)
        self.say(f"<attempt_completion>\n<result>{text}</result>\n</attempt_completion>")
