"""The hooks of Claude Code. What a hook prints before a compaction is appended to the instructions for it,
and shown again after it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..hooks import ClaudeStyleHooks, HookEvent, HookReply
from .discover import beginning_of, team_of


class ClaudeHooks(ClaudeStyleHooks):
    agent = "claude-code"
    kinds = {**ClaudeStyleHooks.kinds, "SubagentStop": "summary"}

    def read(self, event: str, payload: dict[str, Any]) -> HookEvent | None:
        """The event of a payload. A member of a team has a conversation of its own, which only its transcript
        tells from any other."""
        found = super().read(event, payload)
        if found is not None and found.kind == "summary":
            return _summary(found, payload)
        if found is None or found.side or not found.transcript:
            return found
        return replace(found, side=bool(team_of(beginning_of(found.transcript))))

    def write(self, event: HookEvent, name: str, answer: HookReply) -> bytes:
        if event.kind == "compact":
            return answer.context.encode()
        return super().write(event, name, answer)


def _summary(found: HookEvent, payload: dict[str, Any]) -> HookEvent:
    """What a helper without a type reported in its last message: the summary of the conversation, which is
    not in the transcript yet. The others are sub-agents."""
    return replace(found, side=bool(payload.get("agent_type")))


HOOKS = ClaudeHooks()
