"""The hooks of Gemini CLI.

Only JSON reaches the model. A call that was pending when the agent was killed is in no transcript; the hook
before a tool, which is opt-in, is its only trace. A stop is refused by the decision to deny.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..hooks import HookEvent, HookReply, Kind, text

KINDS: dict[str, Kind] = {
    "SessionStart": "start",
    "BeforeAgent": "prompt",
    "AfterAgent": "stop",
    "BeforeTool": "tool",
    "AfterTool": "tool",
    "PreCompress": "compact",
    "SessionEnd": "end",
}


class GeminiHooks:
    """The hooks of Gemini CLI."""

    def read(self, event: str, payload: dict[str, Any]) -> HookEvent | None:
        kind, native = KINDS.get(event), text(payload, "session_id")
        if kind is None or not native:
            return None
        arguments = payload.get("tool_input")
        texts = {
            "prompt": text(payload, "prompt"),
            "stop": text(payload, "prompt_response"),
            "tool": text(arguments, "command", "file_path", "path") if isinstance(arguments, dict) else "",
        }.get(kind, "")
        return HookEvent(
            agent="gemini-cli", kind=kind, native=native, cwd=text(payload, "cwd"),
            transcript=text(payload, "transcript_path"), source=text(payload, "source", "trigger", "reason"),
            text=texts, again=payload.get("stop_hook_active") is True, tool=text(payload, "tool_name"),
            done=event == "AfterTool",
        )  # fmt: skip

    def write(self, event: HookEvent, name: str, answer: HookReply) -> bytes:
        if event.kind == "stop" and answer.refuse:
            return msgspec.json.encode({"decision": "deny", "reason": answer.refuse})
        if not answer.context or event.kind not in ("start", "prompt"):
            return b""
        inner = {"hookEventName": name, "additionalContext": answer.context}
        return msgspec.json.encode({"hookSpecificOutput": inner})


HOOKS = GeminiHooks()
