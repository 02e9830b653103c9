"""The hooks of Cline: one file per event, which returns a ``contextModification``.

Newer versions do not wait for the hooks at the start of a task, so a brief is given with the first prompt; a
start that was answered is not answered again.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..hooks import HookEvent, HookReply, Kind, text

KINDS: dict[str, tuple[Kind, str]] = {
    "TaskStart": ("start", "startup"),
    "TaskResume": ("start", "resume"),
    "UserPromptSubmit": ("prompt", ""),
    "PreCompact": ("compact", ""),
    "TaskComplete": ("end", "complete"),
    "TaskCancel": ("end", "cancel"),
    "TaskError": ("failure", ""),
    "SessionShutdown": ("end", "shutdown"),
}


class ClineHooks:
    def read(self, event: str, payload: dict[str, Any]) -> HookEvent | None:
        known, native = KINDS.get(event), text(payload, "taskId")
        if known is None or not native:
            return None
        kind, source = known
        roots = payload.get("workspaceRoots")
        cwd = next((root for root in roots if isinstance(root, str)), "") if isinstance(roots, list) else ""
        inner = payload.get(event[:1].lower() + event[1:])
        words = text(inner, "prompt", "error") if isinstance(inner, dict) else ""
        return HookEvent(agent="cline", kind=kind, native=native, cwd=cwd, source=source, text=words)

    def write(self, event: HookEvent, name: str, answer: HookReply) -> bytes:
        if event.kind not in ("start", "prompt"):
            return b""
        return msgspec.json.encode(
            {"cancel": False, "contextModification": answer.context, "errorMessage": ""}
        )


HOOKS = ClineHooks()
