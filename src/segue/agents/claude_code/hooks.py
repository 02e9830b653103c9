"""What Claude Code tells hooks, and what it takes from them; Codex has the same shapes.

Context goes in as ``additionalContext``; what a hook before a compaction prints is appended to the
instructions of the compaction; a stop is refused by a decision to block with a reason.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..hooks import HookEvent, HookReply, Kind, number, text

KINDS: dict[str, Kind] = {
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
TAKES_CONTEXT = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolBatch")


class ClaudeHooks:
    """The hooks of Claude Code and of those that have its shapes."""

    def __init__(self, agent: str = "claude-code") -> None:
        self._agent = agent

    def read(self, event: str, payload: dict[str, Any]) -> HookEvent | None:
        kind = KINDS.get(event)
        native = text(payload, "session_id")
        if kind is None or not native:
            return None
        window, context, model = _window(payload)
        return HookEvent(
            agent=self._agent, kind=kind, native=native, cwd=_cwd(payload),
            transcript=text(payload, "transcript_path"), source=text(payload, "source", "trigger", "reason"),
            text=_said(kind, payload), turn=text(payload, "prompt_id", "turn_id"),
            again=payload.get("stop_hook_active") is True, side=bool(text(payload, "agent_id")),
            model=text(payload, "model") or model, window=window,
            context=context or number(payload, "context_tokens"), tool=text(payload, "tool_name"),
            call=text(payload, "tool_use_id"), done=event.startswith("Post"),
        )  # fmt: skip

    def write(self, event: HookEvent, name: str, answer: HookReply) -> bytes:
        if event.kind == "stop" and answer.refuse:
            return msgspec.json.encode({"decision": "block", "reason": answer.refuse})
        if event.kind == "compact" and answer.context and self._agent == "claude-code":
            return answer.context.encode()
        if event.kind == "status":
            return answer.context.encode()
        if not answer.context or name not in TAKES_CONTEXT:
            return b""
        inner = {"hookEventName": name, "additionalContext": answer.context}
        return msgspec.json.encode({"hookSpecificOutput": inner})


def _said(kind: Kind, payload: dict[str, Any]) -> str:
    if kind == "tool":
        given = payload.get("tool_input")
        if isinstance(given, dict):
            return text(given, "command", "file_path", "path", "description")
        return ""
    return text(
        payload, *{"prompt": ("prompt",), "failure": ("error",)}.get(kind, ("last_assistant_message",))
    )


def _cwd(payload: dict[str, Any]) -> str:
    workspace = payload.get("workspace")
    inner = text(workspace, "current_dir") if isinstance(workspace, dict) else ""
    return text(payload, "cwd") or inner


def _window(payload: dict[str, Any]) -> tuple[int, int, str]:
    """(size, tokens in it, model) as a status line is told."""
    model = payload.get("model")
    name = text(model, "id", "display_name") if isinstance(model, dict) else ""
    about = payload.get("context_window")
    if not isinstance(about, dict):
        return 0, 0, name
    usage = about.get("current_usage")
    fields = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    used = sum(number(usage, field) for field in fields) if isinstance(usage, dict) else 0
    return number(about, "context_window_size"), used, name


HOOKS = ClaudeHooks()
