"""The hooks of Claude Code. What a hook prints before a compaction is appended to the instructions for it,
and shown again after it."""

from __future__ import annotations

from ..hooks import ClaudeStyleHooks, HookEvent, HookReply


class ClaudeHooks(ClaudeStyleHooks):
    agent = "claude-code"
    shows_steering_again = True

    def write(self, event: HookEvent, name: str, answer: HookReply) -> bytes:
        if event.kind == "compact":
            return answer.context.encode()
        return super().write(event, name, answer)


HOOKS = ClaudeHooks()
