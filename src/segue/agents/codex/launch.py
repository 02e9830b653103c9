"""How Codex is started, and what it prints."""

from __future__ import annotations

from collections.abc import Sequence

from ..base import Heard, objects


class Launcher:
    """``codex exec``. It chooses its ids itself."""

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

    def hear(self, output: str) -> Heard:
        native = fault = ""
        for one in objects(output):
            kind = one.get("type")
            if kind == "thread.started":
                native = str(one.get("thread_id") or "")
            elif kind == "turn.completed":
                fault = ""
            elif kind in ("error", "turn.failed"):
                error = one.get("error")
                inner = error.get("message") if isinstance(error, dict) else error
                fault = str(one.get("message") or inner or kind)
        return Heard(native, fault)
