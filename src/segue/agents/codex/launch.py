"""Starts Codex and reads what it prints."""

from __future__ import annotations

from collections.abc import Sequence

from ..base import AgentOutput, json_objects

_AGAIN = ("Reconnecting", "Falling back")
"""How an error begins after which it tries again."""


class Launcher:
    """Codex without a terminal is ``codex exec``. It chooses the ids of conversations itself."""

    command = "codex"

    def headless(
        self, prompt: str, *, native: str, resume: str, full_access: bool, more: Sequence[str]
    ) -> list[str]:
        sandbox = [] if resume else ["--sandbox", "workspace-write"]
        access = ["--dangerously-bypass-approvals-and-sandbox"] if full_access else sandbox
        which = ["resume", resume] if resume else []
        return [self.command, "exec", *which, "--json", "--skip-git-repo-check", *access, *more, prompt]

    def interactive(self, prompt: str, *, resume: str, more: Sequence[str]) -> list[str]:
        return [self.command, *(["resume", resume] if resume else []), *more, prompt]

    def parse_output(self, output: str) -> AgentOutput:
        native = fault = retrying = ""
        for record in json_objects(output):
            kind = record.get("type")
            if kind == "thread.started":
                native = str(record.get("thread_id") or "")
            elif kind == "turn.completed":
                fault = retrying = ""
            elif kind in ("error", "turn.failed"):
                error = record.get("error")
                inner = error.get("message") if isinstance(error, dict) else error
                text = str(record.get("message") or inner or kind)
                again = kind == "error" and text.startswith(_AGAIN)
                fault, retrying = ("", text) if again else (text, "")
            else:
                retrying = ""
        return AgentOutput(native, fault or retrying, retrying=retrying)
