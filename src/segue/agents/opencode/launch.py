"""Starts OpenCode and reads what it prints."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.base.lazy import regex
from ..base import AgentOutput, json_objects, number_of

_LOGGED = regex(
    r'(?m)^timestamp=\S+ level=ERROR .*message="stream error" .*small=false .*error\.error="(.*)"$'
)
"""A request that failed and is tried again, in its log; small ones are for titles."""
_NUMBER = regex(r"(?i) (?=[-+]?(?:0x[0-9a-f]+|[0-9.]+(?:e[-+]?\d+)?)(?: |$))")
"""A space before a word that is a number to it."""


class Launcher:
    """OpenCode without a terminal is ``opencode run``. It chooses the ids of conversations itself."""

    command = "opencode"

    def headless(
        self, prompt: str, *, native: str, resume: str, full_access: bool, more: Sequence[str]
    ) -> list[str]:
        which = ["-s", resume] if resume else []
        access = ["--auto"] if full_access else []
        logs = ["--print-logs", "--log-level", "ERROR"]  # that its model cannot be reached is only there
        return [self.command, "run", "--format", "json", *logs, *which, *access, *more, "--", *_words(prompt)]

    def interactive(self, prompt: str, *, resume: str, more: Sequence[str]) -> list[str]:
        return [self.command, *(["-s", resume] if resume else []), *more, "--prompt", prompt]

    def parse_output(self, output: str) -> AgentOutput:
        native = fault = ""
        status, cost, retry = 0, 0.0, 0.0
        for record in json_objects(output):
            native = native or str(record.get("sessionID") or "")
            part = record.get("part")
            if record.get("type") == "error":
                error = record.get("error")
                about = error.get("data") if isinstance(error, dict) else None
                about = about if isinstance(about, dict) else {}
                fault = str(about.get("message") or error)
                status = about["statusCode"] if isinstance(about.get("statusCode"), int) else 0
                headers = about.get("responseHeaders")
                retry = number_of(headers.get("retry-after")) if isinstance(headers, dict) else 0.0
            elif record.get("type") == "step_finish" and isinstance(part, dict):
                fault = ""
                cost += float(part.get("cost") or 0.0)
        logged = list(_LOGGED.finditer(output))
        goes_on = not logged or "\n{" in output[logged[-1].end() :]
        retrying = "" if goes_on or fault else logged[-1][1][:1000]
        return AgentOutput(native, fault, status, cost, retry_seconds=retry, retrying=retrying)


def _words(prompt: str) -> list[str]:
    """A prompt as words, which it joins again: a word with a space in it, it would put in quotes. It fails on
    numbers, so these are bound to the word before them."""
    return _NUMBER.sub("\u00a0", f" {prompt}").removeprefix(" ").split(" ")
