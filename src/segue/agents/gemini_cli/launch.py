"""Starts Gemini CLI and reads what it prints."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.base.lazy import regex
from ..base import AgentOutput, json_objects

_STATUS = regex(r"status:? (\d{3})|\"code\": ?(\d{3})|\b(4\d\d|5\d\d)\b")
_RETRY = regex(r"(?m)^Attempt \d+ failed.*Retrying .*$")


class Launcher:
    """Gemini CLI without a terminal is ``gemini -p``. That it tries again, it only prints."""

    command = "gemini"

    def headless(
        self, prompt: str, *, native: str, resume: str, full_access: bool, more: Sequence[str]
    ) -> list[str]:
        which = ["--resume", resume] if resume else ["--session-id", native] if native else []
        access = ["--approval-mode", "yolo" if full_access else "auto_edit"]
        return [self.command, "-o", "stream-json", *access, *which, *more, "-p", prompt]

    def interactive(self, prompt: str, *, resume: str, more: Sequence[str]) -> list[str]:
        return [self.command, *(["--resume", resume] if resume else []), *more, "-i", prompt]

    def parse_output(self, output: str) -> AgentOutput:
        native = fault = ""
        for record in json_objects(output):
            native = native or str(record.get("session_id") or "")
            if record.get("type") == "tool_result":
                continue  # a tool that failed
            error = record.get("error")
            if isinstance(error, dict):
                fault = str(error.get("message") or error)
            elif record.get("type") == "error":
                fault = str(record.get("message") or error or "error")
        status_match = _STATUS.search(fault)
        status = int(next(filter(None, status_match.groups()))) if status_match else 0
        retries = list(_RETRY.finditer(output))
        goes_on = not retries or "\n{" in output[retries[-1].end() :]
        retrying = "" if goes_on else retries[-1][0][:1000]
        return AgentOutput(native, fault, status, retrying=retrying)
