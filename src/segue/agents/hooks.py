"""What agents tell hooks and what hooks tell agents, in our own agent-neutral form.

An agent that has hooks declares a value with the methods of ``Hooks``: it reads a payload, and writes an
answer in the agent's own form. Nothing here raises on a payload: what cannot be understood is no event.
An event without the id of a conversation, or of a sub-agent, is none of ours.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Literal, Protocol

import msgspec

from ..core.base.values import Value
from ..errors import UnknownAgent
from . import agent as agent_of
from . import traits_of

Kind = Literal["start", "prompt", "tool", "compact", "stop", "end", "failure", "status"]


class HookEvent(Value):
    """Something that happened to a run, as its agent told a hook."""

    agent: str
    kind: Kind
    native: str
    """The agent's own id of the conversation."""
    cwd: str = ""
    transcript: str = ""
    source: str = ""
    """Of a start: startup, resume, compact, clear or fork; of a compaction: manual or auto; else why."""
    text: str = ""
    """The prompt, the last message, the error, or what a tool was called with."""
    turn: str = ""
    """What the agent calls the user's turn, where it does."""
    again: bool = False
    """Of a stop: whether a hook has made it go on already."""
    side: bool = False
    """Whether it came from within a sub-agent."""
    model: str = ""
    window: int = 0
    context: int = 0
    """Tokens in the window, where the agent says so."""
    pid: int = 0
    """Of the agent's process, where known."""
    tool: str = ""
    call: str = ""
    """Of a tool: the id of the call."""
    done: bool = False
    """Of a tool: whether it has ended."""


class HookReply(Value):
    """What an agent is told."""

    context: str = ""
    """Put before the model, as data."""
    refuse: str = ""
    """Of a stop: why it should go on."""


class Hooks(Protocol):
    """How an agent speaks with hooks."""

    def read(self, event: str, payload: dict[str, Any]) -> HookEvent | None:
        """What a payload says; None if it says nothing that we need."""
        ...

    def write(self, event: HookEvent, name: str, answer: HookReply) -> bytes:
        """An answer in the agent's form; nothing where it takes none."""
        ...


_any: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


@cache
def hooks_of(agent: str) -> Hooks | None:
    """The hooks of an agent; None if it has none that we know."""
    try:
        reference = traits_of(agent_of(agent)).hooks
    except UnknownAgent:
        return None
    if not reference:
        return None
    module, _, name = reference.partition(":")
    found: Hooks = getattr(import_module(module), name)
    return found


def read(agent: str, event: str, payload: bytes) -> HookEvent | None:
    """What an agent told; None for garbage."""
    hooks = hooks_of(agent)
    if hooks is None:
        return None
    try:
        told = _any.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return hooks.read(event, told) if isinstance(told, dict) else None


def text(payload: dict[str, Any], *keys: str) -> str:
    """The first of these that is a text."""
    return next((payload[key] for key in keys if isinstance(payload.get(key), str)), "")


def number(payload: dict[str, Any], key: str) -> int:
    """A number, or 0."""
    value = payload.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
