"""How OpenCode is started, and what it prints."""

from __future__ import annotations

from collections.abc import Sequence

from ..base import Heard, number_of, objects


class Launcher:
    """``opencode run``. It chooses its ids itself."""

    command = "opencode"

    def headless(
        self, prompt: str, *, native: str, resume: str, full_access: bool, more: Sequence[str]
    ) -> list[str]:
        which = ["-s", resume] if resume else []
        access = ["--auto"] if full_access else []
        return [self.command, "run", "--format", "json", *which, *access, *more, prompt]

    def interactive(self, prompt: str, *, resume: str, more: Sequence[str]) -> list[str]:
        return [self.command, *(["-s", resume] if resume else []), *more, "--prompt", prompt]

    def hear(self, output: str) -> Heard:
        native = fault = ""
        status, cost, retry = 0, 0.0, 0.0
        for one in objects(output):
            native = native or str(one.get("sessionID") or "")
            part = one.get("part")
            if one.get("type") == "error":
                error = one.get("error")
                about = error.get("data") if isinstance(error, dict) else None
                about = about if isinstance(about, dict) else {}
                fault = str(about.get("message") or error)
                status = about["statusCode"] if isinstance(about.get("statusCode"), int) else 0
                headers = about.get("responseHeaders")
                retry = number_of(headers.get("retry-after")) if isinstance(headers, dict) else 0.0
            elif one.get("type") == "step_finish" and isinstance(part, dict):
                fault = ""
                cost += float(part.get("cost") or 0.0)
        return Heard(native, fault, status, cost, retry_seconds=retry)
