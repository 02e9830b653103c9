"""How Claude Code is started, and what it prints."""

from __future__ import annotations

from collections.abc import Sequence

from ..base import Heard, number_of, objects


class Launcher:
    """``claude -p``."""

    command = "claude"

    def headless(
        self, prompt: str, *, native: str, resume: str, full_access: bool, more: Sequence[str]
    ) -> list[str]:
        access = ["--dangerously-skip-permissions"] if full_access else ["--permission-mode", "acceptEdits"]
        which = ["--resume", resume] if resume else ["--session-id", native] if native else []
        form = ["--output-format", "stream-json", "--verbose"]
        return [self.command, *form, *access, *which, *more, "-p", prompt]

    def interactive(self, prompt: str, *, resume: str, more: Sequence[str]) -> list[str]:
        return [self.command, *(["--resume", resume] if resume else []), *more, prompt]

    def hear(self, output: str) -> Heard:
        native = fault = ""
        status, cost, resets_at = 0, 0.0, 0.0
        for one in objects(output):
            native = native or str(one.get("session_id") or "")
            limit = one.get("rate_limit_info") if one.get("type") == "rate_limit_event" else None
            if isinstance(limit, dict) and limit.get("status") == "rejected":
                resets_at = number_of(limit.get("resetsAt"))
            if one.get("type") == "result":
                cost = float(one.get("total_cost_usd") or 0.0)
                if one.get("is_error"):
                    fault = str(one.get("result") or one.get("subtype") or "error")
                    status = int(one.get("api_error_status") or 0)
        return Heard(native, fault, status, cost, resets_at)
