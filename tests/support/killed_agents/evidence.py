"""What an agent has written, as bytes of its own files and rows of its own database. Segue's readers are not
asked: they are what is tested."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from tests.support.killed_agents.plan import Command

TRANSCRIPTS = {
    "claude-code": ".claude/projects/*/*.jsonl",
    "codex": ".codex/sessions/*/*/*/*.jsonl",
    "gemini-cli": ".gemini/tmp/*/chats/*.json*",
    "cline": ".cline/data/tasks/*/*.json",
}
DATABASE = ".local/share/opencode/opencode.db"


def written(agent: str, home: Path) -> str:
    """All that an agent has written of its conversations."""
    if agent == "opencode":
        return _rows(home / DATABASE)
    return "\n".join(path.read_text(errors="replace") for path in sorted(home.glob(TRANSCRIPTS[agent])))


def written_in(agent: str, path: Path, native: str) -> str:
    """What an agent has written of one conversation in a file."""
    return _rows(path, native) if agent == "opencode" else path.read_text(errors="replace")


def _rows(path: Path, native: str = "") -> str:
    if not path.exists():
        return ""
    texts: list[str] = []
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        for table in ("message", "part"):
            rows = database.execute(f"select data from {table} where ? in ('', session_id)", (native,))
            texts += (str(row[0]) for row in rows)
    return "\n".join(texts)


def unanswered(commands: Sequence[Command], text: str) -> list[Command]:
    """Commands that stand there without their result."""
    return [one for one in commands if one.sign in text and not (one.result and one.result in text)]


def answered(commands: Sequence[Command], text: str) -> list[Command]:
    """Commands whose result stands there."""
    return [one for one in commands if one.result and one.result in text]
