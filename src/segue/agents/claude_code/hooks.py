"""The hooks of Claude Code; those of Codex have the same form.

Context is returned as ``additionalContext``; what a hook prints before a compaction is appended to the
instructions for it; a stop is refused by the decision to block, with a reason.
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
    """The hooks of Claude Code, and of agents with the same form."""

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
            text=_text_of(kind, payload), turn=text(payload, "prompt_id", "turn_id"),
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


def _text_of(kind: Kind, payload: dict[str, Any]) -> str:
    if kind == "tool":
        arguments = payload.get("tool_input")
        if isinstance(arguments, dict):
            return text(arguments, "command", "file_path", "path", "description")
        return ""
    return text(
        payload, *{"prompt": ("prompt",), "failure": ("error",)}.get(kind, ("last_assistant_message",))
    )


def _cwd(payload: dict[str, Any]) -> str:
    workspace = payload.get("workspace")
    inner = text(workspace, "current_dir") if isinstance(workspace, dict) else ""
    return text(payload, "cwd") or inner


def _window(payload: dict[str, Any]) -> tuple[int, int, str]:
    """The size of the window, the tokens in it and the model, from the payload for a status line."""
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
