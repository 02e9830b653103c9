"""Reads a list of messages as steps: of OpenAI's chat and responses interfaces, or of Anthropic's.

What a tool does is told by its name and its arguments, because the tools are the caller's own. A result says
how it ended only where the caller says so.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from ..core.base.lazy import regex
from ..core.runs.steps import (
    EDITS,
    Act,
    Call,
    Change,
    End,
    Model,
    Plan,
    Planning,
    Result,
    Say,
    Step,
    Thought,
    Usage,
)
from .base import decode_any
from .common import act_of, blocks_text, patch_changes, plain_text, prompt_steps, seconds, todo_items
from .message_format import ROLES, is_message, listed_messages

_ACTS: tuple[tuple[re.Pattern[str], Act], ...] = (
    (regex(r"bash|shell|terminal|command|exec|powershell|^run(?:_|$)", re.I), "run"),
    (regex(r"todo|plan", re.I), "plan"),
    (regex(r"delete|remove|unlink", re.I), "delete"),
    (regex(r"edit|replace|patch|update|modify|insert|append", re.I), "edit"),
    (regex(r"write|create|save", re.I), "create"),
    (regex(r"search|grep|glob|find|list|^ls$", re.I), "search"),
    (regex(r"web|fetch|browse|http|url", re.I), "web"),
    (regex(r"read|view|open|cat|get_file|load", re.I), "read"),
    (regex(r"^ask|question", re.I), "ask"),
    (regex(r"agent|delegate|^task$", re.I), "agent"),
)
_COMMANDS = ("command", "cmd", "script", "code", "input")
_PATHS = ("file_path", "path", "filename", "filepath", "file", "target_file", "notebook_path")
_OLD = ("old_string", "old_str", "old_text", "old", "search")
_NEW = ("new_string", "new_str", "new_text", "new", "replace", "replacement", "content", "file_text", "text")
_STATES: dict[str, Planning] = {
    "in_progress": "active", "active": "active", "completed": "done", "done": "done", "cancelled": "dropped",
}  # fmt: skip
_EXITS = ("exit_code", "exitCode", "returncode", "exit_status", "status_code")
_OPEN_MAX = 64
_OUTPUTS = ("output", "stdout", "stderr", "content", "result", "error", "text")


class MessageReader:
    """Reads a list of messages, as a whole or in parts, and never raises on its content."""

    def __init__(self, kept: Any = None) -> None:
        self.skipped = self.malformed = 0
        self._open: list[str] = []  # ids of calls without a result
        self._calls = 0
        self._model = ""
        if isinstance(kept, list) and len(kept) == 3:
            self._open, self._calls, self._model = list(kept[0]), kept[1], kept[2]

    def keep(self) -> Any:
        return [self._open[-_OPEN_MAX:], self._calls, self._model]

    def read(self, record: bytes) -> Iterator[Step]:
        last: Step | None = None
        for last in self.steps(0.0, listed_messages(record)):
            yield last
        if self.is_turn_over(last):
            yield End(last.at if last is not None else 0.0)

    def steps(self, at: float, messages: list[Any]) -> Iterator[Step]:
        """The steps of messages that follow those read before; ``at`` is when, if they do not say it."""
        for message in messages:
            if not is_message(message):
                self.malformed += 1
                continue
            stamp = next((message[key] for key in ("timestamp", "created_at", "ts") if key in message), 0)
            at = max(at, seconds(stamp))
            yield from self._message(at, message)

    def is_turn_over(self, last: Step | None) -> bool:
        """Whether the agent waits for the user after this step: it said something, and no call is open."""
        return isinstance(last, Say) and not self._open

    def _message(self, at: float, message: dict[str, Any]) -> Iterator[Step]:
        kind = message.get("type")
        if kind == "function_call":
            yield from self._call(at, message.get("call_id") or message.get("id"), message)
        elif kind == "function_call_output":
            yield self._result(at, message.get("call_id"), message.get("output"), None)
        elif kind == "reasoning":
            yield from _thought(at, blocks_text(message.get("summary") or message.get("content")))
        else:
            yield from self._spoken(at, ROLES[message["role"]], message)

    def _spoken(self, at: float, role: str, message: dict[str, Any]) -> Iterator[Step]:
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
        if role == "user":
            yield from self._to_agent(at, blocks)
        elif role == "tool":
            yield self._result(at, message.get("tool_call_id"), content, None)
        elif role == "assistant":
            yield from self._from_agent(at, message, blocks)
        else:
            self.skipped += 1  # the caller's own instructions

    def _to_agent(self, at: float, blocks: list[Any]) -> Iterator[Step]:
        words: list[str] = []
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                failed = block.get("is_error")  # who leaves it out does not say that it went well
                failed = failed if isinstance(failed, bool) else None
                yield self._result(at, block.get("tool_use_id"), block.get("content"), failed)
            else:
                words.append(blocks_text([block]))
        if text := "\n".join(filter(None, words)).strip():
            yield from prompt_steps(at, text)

    def _from_agent(self, at: float, message: dict[str, Any], blocks: list[Any]) -> Iterator[Step]:
        model = message.get("model")
        if isinstance(model, str) and model and model != self._model:
            self._model = model
            yield Model(at, model)
        if usage := _usage(at, message.get("usage")):
            yield usage
        yield from _thought(at, str(message.get("reasoning_content") or message.get("reasoning") or ""))
        for block in blocks:
            kind = block.get("type") if isinstance(block, dict) else ""
            if kind == "tool_use":
                yield from self._call(at, block.get("id"), {**block, "arguments": block.get("input")})
            elif kind in ("thinking", "reasoning"):
                yield from _thought(at, str(block.get("thinking") or block.get("text") or ""))
            elif text := blocks_text([block]).strip():
                yield Say(at, text)
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict):
                function = call.get("function")
                yield from self._call(at, call.get("id"), function if isinstance(function, dict) else call)
        if isinstance(function := message.get("function_call"), dict):
            yield from self._call(at, None, function)

    def _call(self, at: float, id: Any, call: dict[str, Any]) -> Iterator[Step]:
        self._calls += 1
        name = str(call.get("name") or "tool")
        raw = call.get("arguments")
        given = decode_any(raw) if isinstance(raw, str) else raw
        arguments = given if isinstance(given, dict) else {"input": raw if isinstance(raw, str) else ""}
        key = id if isinstance(id, str) and id else f"call-{self._calls}"
        self._open.append(key)
        act = _act(name, arguments)
        command = _command(arguments) if act == "run" else ""
        paths = tuple(dict.fromkeys(_texts(arguments, _PATHS)[:1]))
        changes = _changes(act, arguments, paths)
        if changes:
            act, paths = act_of(changes), tuple(dict.fromkeys(change.path for change in changes))
        note = next(iter(_texts(arguments, ("description", "question", "prompt", "task"))), "")
        yield Call(at, key, name, act, plain_text(arguments), command, paths, note, changes)
        items = next(
            (arguments[one] for one in ("todos", "plan", "items", "tasks") if one in arguments), None
        )
        if act == "plan" and isinstance(items, list):
            text = next((one for one in ("content", "step", "task", "text", "title") if _has(items, one)), "")
            if planned := todo_items(items, text, _STATES):
                yield Plan(at, planned)

    def _result(self, at: float, id: Any, content: Any, failed: bool | None) -> Result:
        key = id if isinstance(id, str) and id else next(iter(self._open), "")
        if key in self._open:
            self._open.remove(key)
        text = content if isinstance(content, str) else blocks_text(content)
        said = decode_any(text) if text.lstrip()[:1] == "{" else content
        code: int | None = None
        if isinstance(said, dict):
            code = next((said[one] for one in _EXITS if type(said.get(one)) is int), None)
            text = "\n".join(_texts(said, _OUTPUTS)) or text or plain_text(said)
        ok = not failed if failed is not None else None if code is None else not code
        return Result(at, key, ok, code, text)


def _has(items: list[Any], key: str) -> bool:
    return any(isinstance(item, dict) and isinstance(item.get(key), str) for item in items)


def _texts(arguments: dict[str, Any], keys: tuple[str, ...]) -> list[str]:
    return [arguments[key] for key in keys if isinstance(arguments.get(key), str) and arguments[key]]


def _act(name: str, arguments: dict[str, Any]) -> Act:
    for pattern, act in _ACTS:
        if pattern.search(name):
            return act
    return "run" if isinstance(arguments.get("command"), str | list) else "other"


def _command(arguments: dict[str, Any]) -> str:
    words = arguments.get("command")
    if isinstance(words, list) and all(isinstance(word, str) for word in words):
        script = words[-1] if words[:1] in (["bash"], ["sh"], ["zsh"]) and len(words) == 3 else ""
        return script or shlex.join(words)
    return next(iter(_texts(arguments, _COMMANDS)), "")


def _changes(act: Act, arguments: dict[str, Any], paths: tuple[str, ...]) -> tuple[Change, ...]:
    patch = next(
        (text for text in _texts(arguments, ("patch", "input", "diff")) if "*** Begin Patch" in text), ""
    )
    if patch:
        return patch_changes(patch)
    if act not in EDITS or not paths:
        return ()
    old, new = (next(iter(_texts(arguments, keys)), "") for keys in (_OLD, _NEW))
    if act == "delete":
        return (Change(paths[0], "delete"),)
    return (Change(paths[0], "create" if act == "create" else "edit", old, new),)


def _thought(at: float, text: str) -> Iterator[Step]:
    if text.strip():
        yield Thought(at, text.strip())


def _usage(at: float, usage: Any) -> Usage | None:
    """What a response used, if the caller kept it: in Anthropic's words, where what was cached is counted
    beside the input, or in OpenAI's, where it is part of the prompt."""
    if not isinstance(usage, dict):
        return None
    read, written = _number(usage, "cache_read_input_tokens"), _number(usage, "cache_creation_input_tokens")
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    inside = _number(details, "cached_tokens") if isinstance(details, dict) else 0
    sent, prompt = _number(usage, "input_tokens"), _number(usage, "prompt_tokens")
    output = _number(usage, "output_tokens") or _number(usage, "completion_tokens")
    if prompt:
        inside = min(prompt, max(inside, read))
        written = min(written, prompt - inside)
        fresh, read = prompt - inside - written, inside
    else:
        inside = min(sent, inside)
        fresh, read = sent - inside, read + inside
    context = fresh + read + written
    if context <= 0:
        return None
    return Usage(at, "", context + output, output, input=fresh, cache_read=read, cache_write=written)


def _number(table: dict[str, Any], name: str) -> int:
    value = table.get(name)
    return max(0, value) if type(value) is int else 0
