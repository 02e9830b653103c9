"""How Gemini CLI is started, and what it prints."""

from __future__ import annotations

from collections.abc import Sequence

from segue.agents.base import Heard, objects

from ...core.patterns import regex

_STATUS = regex(r"status:? (\d{3})|\"code\": ?(\d{3})|\b(4\d\d|5\d\d)\b")


class Launcher:
    """``gemini -p``."""

    command = "gemini"

    def headless(
        self, prompt: str, *, native: str, resume: str, full_access: bool, more: Sequence[str]
    ) -> list[str]:
        which = ["--resume", resume] if resume else ["--session-id", native] if native else []
        access = ["--approval-mode", "yolo" if full_access else "auto_edit"]
        return [self.command, "-o", "stream-json", *access, *which, *more, "-p", prompt]

    def interactive(self, prompt: str, *, resume: str, more: Sequence[str]) -> list[str]:
        return [self.command, *(["--resume", resume] if resume else []), *more, "-i", prompt]

    def hear(self, output: str) -> Heard:
        native = fault = ""
        for one in objects(output):
            native = native or str(one.get("session_id") or "")
            error = one.get("error")
            if isinstance(error, dict):
                fault = str(error.get("message") or error)
            elif one.get("type") == "error":
                fault = str(one.get("message") or error or "error")
        found = _STATUS.search(fault)
        return Heard(native, fault, int(next(filter(None, found.groups()))) if found else 0)
