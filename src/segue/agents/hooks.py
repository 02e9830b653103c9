"""Hook events and replies in a form that does not depend on the agent.

An agent with hooks declares a value with the methods of ``Hooks``, which reads a payload and writes a reply
in the agent's own form. Nothing here raises on a payload: one that cannot be understood gives no event. Nor
does one without the id of a conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, Protocol

import msgspec

from ..core.base.values import Value
from ..core.runs.steps import Act
from ..errors import UnknownAgent
from . import agent as agent_of, traits_of
from .base import loaded

Kind = Literal["start", "prompt", "tool", "compact", "stop", "end", "failure", "status", "summary"]


class HookEvent(Value):
    """Something that happened in a run, as its agent reported it to a hook."""

    agent: str
    kind: Kind
    native: str
    """The agent's own id of the conversation."""
    cwd: str = ""
    transcript: str = ""
    source: str = ""
    """For a start: startup, resume, compact, clear or fork; for a compaction: manual or auto; else the
    reason."""
    text: str = ""
    """The prompt, the last message, the summary, the error, or the main argument of a tool."""
    turn: str = ""
    """The agent's own id of the user's turn, where it has one."""
    again: bool = False
    """For a stop: whether a hook has made the agent continue already."""
    side: bool = False
    """Whether it came from a sub-agent."""
    model: str = ""
    window: int = 0
    context: int = 0
    """The tokens in the window, where the agent reports them."""
    pid: int = 0
    """The agent's process, where known."""
    tool: str = ""
    call: str = ""
    """For a tool: the id of the call."""
    done: bool = False
    """For a tool: whether it has ended."""


class HookReply(Value):
    """Our reply to an agent's hook."""

    context: str = ""
    """Shown to the model, as data."""
    refuse: str = ""
    """For a stop: why the agent should continue."""
    shown: str = ""
    """A line for the user, where the agent can show one."""


class Hooks(Protocol):
    """Translates an agent's hook payloads and our replies."""

    def read(self, event: str, payload: dict[str, Any]) -> HookEvent | None:
        """The event of a payload; None if we do not need it."""
        ...

    def write(self, event: HookEvent, name: str, answer: HookReply) -> bytes:
        """A reply in the agent's form; empty where the agent takes none."""
        ...


_any: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


@cache
def hooks_of(agent: str) -> Hooks | None:
    """The hooks of an agent; None if the agent is unknown or has none."""
    try:
        reference = traits_of(agent_of(agent)).hooks
    except UnknownAgent:
        return None
    return loaded(reference) if reference else None


def read(agent: str, event: str, payload: bytes) -> HookEvent | None:
    """The event that an agent reported; None if the payload cannot be understood."""
    hooks = hooks_of(agent)
    if hooks is None:
        return None
    try:
        value = _any.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return hooks.read(event, value) if isinstance(value, dict) else None


def text(payload: dict[str, Any], *keys: str) -> str:
    """The first of these fields that is a string; empty if none is."""
    return next((payload[key] for key in keys if isinstance(payload.get(key), str)), "")


def number(payload: dict[str, Any], key: str) -> int:
    """A positive integer field; 0 for anything else."""
    value = payload.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def table(payload: dict[str, Any], key: str) -> dict[str, Any]:
    """A field that is an object; empty for anything else."""
    value = payload.get(key)
    return value if isinstance(value, dict) else {}


class ClaudeStyleHooks:
    """The hooks of Claude Code, and of agents with the same form.

    Context is returned as ``additionalContext``; a stop is refused by a decision, with a reason."""

    agent: str
    kinds: Mapping[str, Kind] = {
        "SessionStart": "start",
        "UserPromptSubmit": "prompt",
        "PreToolUse": "tool",
        "PostToolUse": "tool",
        "PostToolUseFailure": "tool",
        "PostToolBatch": "tool",
        "PreCompact": "compact",
        "Stop": "stop",
        "StopFailure": "failure",
        "SessionEnd": "end",
        "Interrupt": "end",
        "StatusLine": "status",
    }
    done: Sequence[str] = ("PostToolUse", "PostToolUseFailure", "PostToolBatch")
    """The events that report the end of a call."""
    takes_context: Sequence[str] = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolBatch")
    refusal = "block"
    acts: Mapping[str, Act] = {}
    """What the tools do whose calls only hooks see, by their names."""
    texts: Mapping[Kind, Sequence[str]] = {
        "prompt": ("prompt",),
        "failure": ("error",),
        "tool": ("command", "file_path", "path", "description"),
    }
    """The fields with the text of an event; for a tool, of its arguments."""

    def read(self, event: str, payload: dict[str, Any]) -> HookEvent | None:
        kind, native = self.kinds.get(event), text(payload, "session_id")
        if kind is None or not native:
            return None
        worded = table(payload, "tool_input") if kind == "tool" else payload
        window = table(payload, "context_window")  # only in the payload for a status line
        tokens = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
        used = sum(number(table(window, "current_usage"), field) for field in tokens)
        return HookEvent(
            agent=self.agent, kind=kind, native=native,
            cwd=text(payload, "cwd") or text(table(payload, "workspace"), "current_dir"),
            transcript=text(payload, "transcript_path"), source=text(payload, "source", "trigger", "reason"),
            text=text(worded, *self.texts.get(kind, ("last_assistant_message",))),
            turn=text(payload, "prompt_id", "turn_id"),
            again=payload.get("stop_hook_active") is True, side=bool(text(payload, "agent_id")),
            model=text(payload, "model") or text(table(payload, "model"), "id", "display_name"),
            window=number(window, "context_window_size"),
            context=used or number(payload, "context_tokens"), tool=text(payload, "tool_name"),
            call=text(payload, "tool_use_id"), done=event in self.done,
        )  # fmt: skip

    def write(self, event: HookEvent, name: str, answer: HookReply) -> bytes:
        if event.kind == "stop" and answer.refuse:
            return msgspec.json.encode({"decision": self.refusal, "reason": answer.refuse})
        if event.kind == "status":
            return answer.context.encode()
        if not answer.context or name not in self.takes_context:
            return b""
        reply: dict[str, Any] = {
            "hookSpecificOutput": {"hookEventName": name, "additionalContext": answer.context}
        }
        if answer.shown:
            reply["systemMessage"] = f"Segue: {answer.shown}"
        return msgspec.json.encode(reply)
