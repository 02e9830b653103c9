"""Starts Claude Code and reads what it prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base import AgentOutput, json_objects, number_of


class Launcher:
    """Claude Code without a terminal is ``claude -p``."""

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

    def parse_output(self, output: str) -> AgentOutput:
        native = fault = retrying = ""
        status, cost, resets_at = 0, 0.0, 0.0
        for record in json_objects(output):
            native = native or str(record.get("session_id") or "")
            again = record.get("subtype") == "api_retry"
            retrying = _retry(record) if again else retrying if record.get("type") == "system" else ""
            limit = record.get("rate_limit_info") if record.get("type") == "rate_limit_event" else None
            if isinstance(limit, dict) and limit.get("status") == "rejected":
                resets_at = number_of(limit.get("resetsAt"))
            if record.get("type") == "result":
                cost = float(record.get("total_cost_usd") or 0.0)
                if record.get("is_error"):
                    fault = str(record.get("result") or record.get("subtype") or "error")
                    status = int(record.get("api_error_status") or 0)
        return AgentOutput(native, fault, status, cost, resets_at, retrying=retrying)


def _retry(record: dict[str, Any]) -> str:
    """Why it tries again; it does not say more of a connection that failed."""
    status, error = record.get("error_status"), str(record.get("error") or "")
    if status is None and error in ("", "unknown"):
        return "connection failed"
    return " ".join(str(word) for word in (status, error) if word)
