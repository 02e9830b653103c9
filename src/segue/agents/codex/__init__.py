"""Codex CLI: rollouts under ``$CODEX_HOME/sessions``, a line a record, from 0.34 to 0.166.

``wire.py`` is their format, ``reader.py`` turns it into steps (``words.py``: whose words a text is,
``calls.py`` and ``script.py``: what a call is about, ``outcome.py``: what came of it, ``flight.py``: which
calls are under way, ``turns.py``: the course of a turn, ``kept.py``: what is remembered in between), and
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


# Unescaped, so not inside a text that someone wrote.
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
