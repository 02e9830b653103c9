"""The hooks of our plugin for OpenCode, in a form of our own.

The plugin sends ``{session_id, cwd, source, text}``, and adds our reply to the system prompt or to the prompt
of a compaction. OpenCode cannot be kept from stopping.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..hooks import HookEvent, HookReply, Kind, number, text

KINDS: dict[str, Kind] = {
    "start": "start",
    "prompt": "prompt",
    "compact": "compact",
    "idle": "stop",
    "error": "failure",
    "exit": "end",
}


class OpenCodeHooks:
    def read(self, event: str, payload: dict[str, Any]) -> HookEvent | None:
        kind, native = KINDS.get(event), text(payload, "session_id")
        if kind is None or not native:
            return None
        return HookEvent(
            agent="opencode", kind=kind, native=native, cwd=text(payload, "cwd"),
            source=text(payload, "source"), text=text(payload, "text"), side=bool(text(payload, "parent_id")),
            model=text(payload, "model"), window=number(payload, "window"), pid=number(payload, "pid"),
        )  # fmt: skip

    def write(self, event: HookEvent, name: str, answer: HookReply) -> bytes:
        return msgspec.json.encode({"context": answer.context}) if answer.context else b""


HOOKS = OpenCodeHooks()
