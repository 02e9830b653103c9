"""Codex CLI: rollouts under ``$CODEX_HOME/sessions``, JSON lines, versions 0.34 to 0.166.

``wire.py`` is the format and ``reader.py`` turns it into steps, with the help of ``words.py`` (who wrote a
text), ``calls.py`` and ``script.py`` (what a call does), ``outcome.py`` (its result), ``flight.py`` (which
calls are pending), ``turns.py`` (the course of a turn) and ``kept.py`` (state between records).
``discover.py`` finds the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.base.lazy import regex
from ..base import Form, Found, SearchScope, Traits
from . import discover
from .launch import Launcher

if TYPE_CHECKING:
    from .reader import Reader


# Quotes without escapes, so it is not inside a text that somebody wrote.
_MARK = regex(
    rb'"type":\s?"(?:session_meta|response_item|event_msg|turn_context|function_call|local_shell_call)"'
    rb'|"record_type":\s?"state"'
)


class Codex:
    """OpenAI's Codex CLI."""

    name = "codex"
    title = "Codex"
    traits = Traits(
        conversation_variables=("CODEX_THREAD_ID", "CODEX_SESSION_ID"),
        variables=("CODEX_SANDBOX",),
        start="codex",
        rules_file="AGENTS.md",
        hooks="segue.agents.codex.hooks:HOOKS",
        installer="segue.agents.codex.install:INSTALLER",
    )
    form: Form = "lines"
    launcher = Launcher()

    def recognises(self, head: bytes, name: str) -> bool:
        if discover.ROLLOUT.fullmatch(name):
            return head.lstrip(b"\xef\xbb\xbf \r\n").startswith(b"{")
        return name.endswith(".jsonl") and _MARK.search(head) is not None

    def reader(self, kept: Any = None) -> Reader:
        from .reader import Reader

        return Reader(kept)

    def load(self, path: Path, native: str) -> bytes:
        return path.read_bytes()

    def find(self, where: SearchScope) -> Iterator[Found]:
        return discover.find(where)

    def retention(self, where: SearchScope) -> int | None:
        return None


AGENT = Codex()
