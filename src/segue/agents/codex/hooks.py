"""The hooks of Codex, in the form of Claude Code's.

Codex ignores the reply of a hook before a compaction. A stop after an error of the model comes as a failed
``PostModelRequest``, which also reports the number of tokens in the window.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..hooks import ClaudeStyleHooks, HookEvent, number, text


class CodexHooks(ClaudeStyleHooks):
    agent = "codex"
    done = ("PostToolUse",)

    def read(self, event: str, payload: dict[str, Any]) -> HookEvent | None:
        if event != "PostModelRequest":
            return super().read(event, payload)
        failed = text(payload, "status") == "failed"
        hook_event = super().read("StopFailure" if failed else "PostToolUse", payload)
        usage = payload.get("token_usage")
        used = (
            number(usage, "input_tokens") + number(usage, "output_tokens") if isinstance(usage, dict) else 0
        )
        return replace(hook_event, context=used) if hook_event is not None else None


HOOKS = CodexHooks()
