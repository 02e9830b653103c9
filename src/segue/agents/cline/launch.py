"""Starts Cline and reads what it prints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..base import AgentOutput, json_objects


class Launcher:
    """Cline without a terminal is ``cline task --json``. It chooses the ids of tasks itself. Without a
    terminal nobody answers what it asks, so it is only started with leave to do everything."""

    command = "cline"
    needs_full_access = True

    def headless(
        self, prompt: str, *, native: str, resume: str, full_access: bool, more: Sequence[str]
    ) -> list[str]:
        which = ["-T", resume] if resume else []
        access = ["-y"] if full_access else []
        return [self.command, "task", "--json", *access, *which, *more, prompt]

    def interactive(self, prompt: str, *, resume: str, more: Sequence[str]) -> list[str]:
        return [self.command, *(["-T", resume] if resume else []), *more, prompt]

    def parse_output(self, output: str) -> AgentOutput:
        native = fault = retrying = ""
        status = 0
        for record in json_objects(output):
            kind = str(record.get("say") or record.get("ask") or record.get("type") or "")
            if kind == "task_started":
                native = str(record.get("taskId") or "")
                fault = retrying = ""
            elif kind == "error_retry":
                retrying = _object(record.get("text")).get("errorMessage") or "error"
            elif kind == "error":
                about = _object(record.get("message") or record.get("text"))
                fault = str(about.get("message") or record.get("message") or record.get("text") or kind)
                code = about.get("status")
                status = code if isinstance(code, int) else 0
            elif kind not in ("api_req_started", "api_req_retried", "api_req_failed"):
                fault = retrying = ""  # it went on; a task that is resumed prints its whole history again
        retrying = str(_object(retrying).get("message") or retrying)
        return AgentOutput(native, fault, status, retrying="" if fault else retrying)


def _object(text: Any) -> dict[str, Any]:
    """The object that a text holds; empty for any other text."""
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}
