"""What happened in a transcript, read for the scoring alone.

The judge must not share eyes with the judged: nothing here uses Segue's readers, so that what they overlook
is missed in the score. Claude Code and Codex only, because their transcripts are the ones at hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["user", "say", "call", "result", "summary"]
Plan = tuple[tuple[str, str], ...]  # (item, state)

_HARNESS = ("<", "Caveat:", "[Request interrupted")  # what opens a text that no user typed
_PATH_KEYS = ("file_path", "notebook_path", "path")
_SEPARATORS = re.compile(r"&&|;|\|")
_ASSIGNMENT = re.compile(r"[A-Z_]+=")
_NOT_TELLING = ("cd ", "echo ", "export ", "#")
_ARGUMENT_ENDS = ("-", '"', "'", "<", ">", "$", "2>")
_PATCHED = re.compile(r"\*\*\* (?:Add|Delete|Update) File: (.+)")
_EXIT = re.compile(r'"?exit_code"?\s*[:=]\s*(\d+)|exited with code (\d+)')
_TASK = re.compile(r"#(\d+)")
_CODEX_RECORDS = frozenset(
    {
        None, "response_item", "message", "function_call", "function_call_output", "custom_tool_call",
        "custom_tool_call_output",
    }
)  # fmt: skip


@dataclass(slots=True)
class Observation:
    """One thing that happened, at a line of the file."""

    line: int
    kind: Kind
    text: str = ""  # of a call, the values of its arguments; of all others, what was said or given
    shown: str = ""  # of a call, its arguments as JSON
    tool: str = ""
    command: str = ""  # short form
    typed: str = ""  # the command as it was given, or what else tells a call from others
    files: list[str] = field(default_factory=list)
    failed: bool = False
    plan: Plan | None = None


def base(path: str) -> str:
    """The last part of a path."""
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def short_form(command: str) -> str:
    """The program and two words behind it: of ``cd x && A=1 npm run build -- -q``, "npm run build"."""
    for part in _SEPARATORS.split(command.strip()):
        part = part.strip()
        if not part or part.startswith(_NOT_TELLING):
            continue
        parts = [word for word in part.split() if not _ASSIGNMENT.match(word)]
        if not parts:
            continue
        words = parts[:1]
        for word in parts[1:3]:
            if word.startswith(_ARGUMENT_ENDS):
                break
            words.append(word)
        return " ".join(words)
    return ""


def joined(content: Any) -> str:
    """The text of a message's content, whatever its form."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = (
        joined(block.get("text") or block.get("content") or "") if isinstance(block, dict) else str(block)
        for block in content
    )
    return "\n".join(blocks)


def values(value: Any) -> Iterator[str]:
    """The texts inside arguments, without keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from values(item)


def _call(line: int, tool: str, arguments: dict[str, Any]) -> Observation:
    shown = json.dumps(arguments, ensure_ascii=False)
    return Observation(line, "call", "\n".join(values(arguments)), shown, tool)


def _records(lines: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield number, record


class _Claude:
    """Claude Code's lines, of the main conversation."""

    def __init__(self) -> None:
        self.tasks: dict[str, list[str]] = {}  # id -> [text, state]
        self.calls: dict[Any, tuple[Observation, dict[str, Any]]] = {}

    def read(self, lines: list[str]) -> Iterator[Observation]:
        for number, record in _records(lines):
            message = record.get("message")
            if record.get("isSidechain") or not isinstance(message, dict):
                continue
            content = message.get("content")
            if record.get("type") == "user":
                yield from self._user(number, record, content)
            elif record.get("type") == "assistant":
                yield from self._assistant(number, content)

    def _user(self, line: int, record: dict[str, Any], content: Any) -> Iterator[Observation]:
        if record.get("isCompactSummary"):
            yield Observation(line, "summary", joined(content))
            return
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in content or []:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_result":
                yield self._result(line, block)
            elif block.get("type") == "text" and not record.get("isMeta"):
                text = block.get("text", "")
                if not text.lstrip().startswith(_HARNESS):
                    yield Observation(line, "user", text)

    def _result(self, line: int, block: dict[str, Any]) -> Observation:
        result = Observation(line, "result", joined(block.get("content")), failed=bool(block.get("is_error")))
        call, arguments = self.calls.get(block.get("tool_use_id"), (None, {}))
        if call is not None:
            result.tool, result.command, result.typed = call.tool, call.command, call.typed
            number = _TASK.search(result.text) if call.tool == "TaskCreate" else None
            if number:
                self.tasks[number[1]] = [arguments.get("subject", ""), "pending"]
                result.plan = self._plan(deleted=True)
        return result

    def _assistant(self, line: int, content: Any) -> Iterator[Observation]:
        for block in content or []:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "text" and block.get("text", "").strip():
                yield Observation(line, "say", block["text"])
            elif block.get("type") == "tool_use":
                raw = block.get("input")
                arguments = raw if isinstance(raw, dict) else {}
                call = _call(line, block.get("name", ""), arguments)
                self._understand(call, arguments)
                self.calls[block.get("id")] = (call, arguments)
                yield call

    def _understand(self, call: Observation, arguments: dict[str, Any]) -> None:
        paths = [arguments[key] for key in _PATH_KEYS if isinstance(arguments.get(key), str)]
        call.files = [path for path in paths if "." in base(path)]
        call.typed = f"{call.tool} {call.files[0]}" if call.files else ""
        if call.tool == "Bash":
            call.typed = str(arguments.get("command", ""))
            call.command = short_form(call.typed)
        elif call.tool == "TodoWrite" and isinstance(arguments.get("todos"), list):
            todos = [todo for todo in arguments["todos"] if isinstance(todo, dict)]
            call.plan = tuple((str(todo.get("content", "")), str(todo.get("status", ""))) for todo in todos)
        elif call.tool == "TaskUpdate" and str(arguments.get("taskId")) in self.tasks:
            task = self.tasks[str(arguments["taskId"])]
            task[0], task[1] = arguments.get("subject") or task[0], arguments.get("status") or task[1]
            call.plan = self._plan()

    def _plan(self, deleted: bool = False) -> Plan:
        return tuple((text, state) for text, state in self.tasks.values() if deleted or state != "deleted")


class _Codex:
    """Codex's rollouts: the channel of response items."""

    def __init__(self) -> None:
        self.calls: dict[Any, Observation] = {}

    def read(self, lines: list[str]) -> Iterator[Observation]:
        for number, record in _records(lines):
            payload = record.get("payload")
            item = payload if isinstance(payload, dict) else record
            if record.get("type") == "compacted":
                yield Observation(number, "summary", str(item.get("message", "")))
            elif record.get("type") in _CODEX_RECORDS:
                yield from self._item(number, item)

    def _item(self, line: int, item: dict[str, Any]) -> Iterator[Observation]:
        match item.get("type"):
            case "message":
                text = joined(item.get("content"))
                if item.get("role") == "user" and not text.lstrip().startswith(("<", "# AGENTS.md")):
                    yield Observation(line, "user", text)
                elif item.get("role") == "assistant" and text.strip():
                    yield Observation(line, "say", text)
            case "function_call" | "custom_tool_call" | "local_shell_call":
                call = self._understood(line, item)
                self.calls[item.get("call_id")] = call
                yield call
            case "function_call_output" | "custom_tool_call_output":
                yield self._output(line, item)

    def _understood(self, line: int, item: dict[str, Any]) -> Observation:
        arguments = _arguments(item.get("arguments") or item.get("input") or item.get("action") or "")
        call = _call(line, item.get("name") or item["type"], arguments)
        command = arguments.get("command") or arguments.get("cmd") or ""
        if isinstance(command, list):
            in_shell = len(command) == 3 and command[1] in ("-lc", "-c")
            command = command[-1] if in_shell else " ".join(str(word) for word in command)
        patch = arguments["input"] if isinstance(arguments.get("input"), str) else ""
        if not isinstance(arguments.get("input"), str) and "*** Begin Patch" in str(command):
            patch = str(command)
        call.files = [path.strip() for path in _PATCHED.findall(patch)]
        call.typed = f"{call.tool} {call.files[0]}" if call.files else ""
        if command and not patch:
            call.typed = str(command)
            call.command = short_form(call.typed)
        if isinstance(arguments.get("plan"), list):
            steps = [step for step in arguments["plan"] if isinstance(step, dict)]
            call.plan = tuple((str(step.get("step", "")), str(step.get("status", ""))) for step in steps)
        return call

    def _output(self, line: int, item: dict[str, Any]) -> Observation:
        output = item.get("output")
        text = output if isinstance(output, str) else joined(output) or json.dumps(output)
        code = _EXIT.search(text)
        failed = bool(code and int(code[1] or code[2]))
        result = Observation(line, "result", text, failed=failed)
        call = self.calls.get(item.get("call_id"))
        if call is not None:
            result.tool, result.command, result.typed = call.tool, call.command, call.typed
        return result


def _arguments(raw: Any) -> dict[str, Any]:
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except ValueError:
            return {"input": raw}
    return raw if isinstance(raw, dict) else {"input": str(raw)}


@dataclass(slots=True)
class Transcript:
    """A file's lines, and what happened in it."""

    path: Path
    agent: str
    lines: list[str]
    seen: list[Observation]

    @property
    def calls(self) -> int:
        return sum(observation.kind == "call" for observation in self.seen)


def observe(path: Path) -> Transcript:
    """Read a transcript of Claude Code or Codex."""
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = file.readlines()
    head = "".join(lines[:40])
    signs = ('"session_meta"', '"response_item"', '"type":"function_call"')
    codex = any(sign in head for sign in signs)
    seen = list((_Codex() if codex else _Claude()).read(lines))
    return Transcript(path, "codex" if codex else "claude-code", lines, seen)
