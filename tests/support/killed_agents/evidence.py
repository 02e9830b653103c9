"""What an agent has written, as bytes of its own files and rows of its own database. Segue's readers are not
asked: they are what is tested."""

from __future__ import annotations

import json
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


def _rows(path: Path) -> str:
    if not path.exists():
        return ""
    texts: list[str] = []
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        for table in ("message", "part"):
            texts += (_ended(str(row[0])) for row in database.execute(f"select data from {table}"))
    return "\n".join(texts)


def _ended(data: str) -> str:
    """A row of OpenCode, without what a call has printed that has not ended."""
    row = json.loads(data)
    if isinstance(state := row.get("state"), dict) and state.get("status") == "running":
        state.pop("metadata", None)
    return json.dumps(row, ensure_ascii=False)


def unanswered(commands: Sequence[Command], text: str) -> list[Command]:
    """Commands that stand there without their result."""
    return [one for one in commands if one.sign in text and not (one.result and one.result in text)]


def answered(commands: Sequence[Command], text: str) -> list[Command]:
    """Commands whose result stands there."""
    return [one for one in commands if one.result and one.result in text]
