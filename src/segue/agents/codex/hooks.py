"""What Codex tells hooks and takes from them: the shapes of Claude Code.

What a hook before a compaction says is not taken; a stop that follows an error of the model comes as a
failed ``PostModelRequest``, which also tells how many tokens are in the window.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..claude_code.hooks import ClaudeHooks
from ..hooks import HookEvent, number, text


class CodexHooks(ClaudeHooks):
    """The hooks of Codex."""

    def __init__(self) -> None:
        super().__init__("codex")

    def read(self, event: str, payload: dict[str, Any]) -> HookEvent | None:
        if event != "PostModelRequest":
            found = super().read(event, payload)
            return replace(found, done=event == "PostToolUse") if found is not None else None
        failed = text(payload, "status") == "failed"
        found = super().read("StopFailure" if failed else "PostToolUse", payload)
        usage = payload.get("token_usage")
        used = (
            number(usage, "input_tokens") + number(usage, "output_tokens") if isinstance(usage, dict) else 0
        )
        return replace(found, context=used) if found is not None else None


HOOKS = CodexHooks()
