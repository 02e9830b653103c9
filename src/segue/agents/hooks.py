"""Hook events and replies in a form that does not depend on the agent.

An agent with hooks declares a value with the methods of ``Hooks``, which reads a payload and writes a reply
in the agent's own form. Nothing here raises on a payload: one that cannot be understood gives no event. Nor
does one without the id of a conversation.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, Protocol

import msgspec

from ..core.base.values import Value
from ..errors import UnknownAgent
from . import agent as agent_of, traits_of
from .base import loaded

Kind = Literal["start", "prompt", "tool", "compact", "stop", "end", "failure", "status"]


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
    """The prompt, the last message, the error, or the main argument of a tool."""
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
