"""The hooks of Claude Code. What a hook prints before a compaction is appended to the instructions for it,
and shown again after it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..hooks import ClaudeStyleHooks, HookEvent, HookReply
from .discover import beginning_of, team_of


class ClaudeHooks(ClaudeStyleHooks):
    agent = "claude-code"
    shows_steering_again = True

    def read(self, event: str, payload: dict[str, Any]) -> HookEvent | None:
        """The event of a payload. A member of a team has a conversation of its own, which only its transcript
        tells from any other."""
        found = super().read(event, payload)
        if found is None or found.side or not found.transcript:
            return found
        return replace(found, side=bool(team_of(beginning_of(found.transcript))))

    def write(self, event: HookEvent, name: str, answer: HookReply) -> bytes:
        if event.kind == "compact":
            return answer.context.encode()
        return super().write(event, name, answer)


HOOKS = ClaudeHooks()
