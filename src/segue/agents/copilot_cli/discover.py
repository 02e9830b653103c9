"""Finds Copilot CLI's conversations, the project of each, and whether its process is alive.

A conversation is a folder with ``events.jsonl`` and ``workspace.yaml``, which names the working folder.
``inuse.<pid>.lock`` next to them exists while a process has it open; the lock of a dead process is the sign
of a crash.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ...core.base.lazy import regex
from ..base import Form, Found, SearchScope, Sign, Traits
from ..transcript_files import FileAgent, bytes_of, json_text, listed, stated

_FOLDERS = ("session-state", "history-session-state")
_HEAD_BYTES = 16_384
_CWD = regex(rb'"cwd":\s*("(?:[^"\\]|\\.)*")')
_SESSION = regex(rb'"sessionId":\s*("(?:[^"\\]|\\.)*")')
_YAML_CWD = regex(r"^cwd:[ \t]*(.+?)[ \t]*$", re.M)
_LOCK = regex(r"inuse\.(\d{1,9})\.lock")
_MARKS = (
    b'"type":"session.',
    b'"type":"user.message"',
    b'"type":"assistant.',
    b'"type":"tool.execution_',
    b'"type":"system.message"',
    b'"type":"hook.',
)


class CopilotCli(FileAgent):
    name = "copilot-cli"
    title = "Copilot CLI"
    traits = Traits(
        aliases=("copilot",),
        conversation_variables=("COPILOT_SESSION_ID",),
        start="copilot --prompt",
        rules_file="AGENTS.md",
    )
    form: Form = "lines"

    def recognises(self, head: bytes, name: str) -> bool:
        compact = head[:16_384].replace(b'": ', b'":')
        if b'"producer":"copilot-agent"' in compact:
            return True
        if b'"parentId"' not in compact or b'"data":' not in compact:
            return False
        return sum(mark in compact for mark in _MARKS) >= 2

    def find(self, where: SearchScope) -> Iterator[Found]:
        files = sorted(stated(_files(where)), key=lambda file: -file[1].st_mtime)
        heads = 0
        for path, stat in files:
            cwd = where.known.get(str(path), "")
            if not cwd:
                heads += 1
                if where.heads_max and heads > where.heads_max:
                    continue
                cwd = _cwd(path)
            if where.holds(cwd):
                yield _found(path, stat, "", cwd, where)

    def transcripts_at(self, path: Path, where: SearchScope) -> Iterator[Found]:
        for _, stat in stated((path,)):
            is_named = any(root in path.parents for root in _roots(where))
            native = "" if is_named else json_text(bytes_of(path, _HEAD_BYTES), _SESSION)
            yield _found(path, stat, native, _cwd(path), where)


def _found(path: Path, stat: os.stat_result, native: str, cwd: str, where: SearchScope) -> Found:
    own = path.name == "events.jsonl"
    pid, sign = _process(path.parent, where) if own else (0, "")
    native = native or (path.parent.name if own else path.stem)
    return Found("copilot-cli", str(path), native, stat.st_mtime, stat.st_size, cwd, sign=sign, pid=pid)


def _roots(where: SearchScope) -> list[Path]:
    roots = [where.folder("COPILOT_HOME", ".copilot")]
    if (state := where.env.get("XDG_STATE_HOME")) and not where.env.get("COPILOT_HOME"):
        roots.append(Path(state) / ".copilot")
    return roots


def _files(where: SearchScope) -> Iterator[Path]:
    for folder in [root / name for root in _roots(where) for name in _FOLDERS]:
        for name in listed(folder):
            yield folder / name if name.endswith(".jsonl") else folder / name / "events.jsonl"


def _cwd(path: Path) -> str:
    if path.name == "events.jsonl":
        about = bytes_of(path.with_name("workspace.yaml"), _HEAD_BYTES).decode("utf-8", "replace")
        if match := _YAML_CWD.search(about):
            return _scalar(match[1])
    return json_text(bytes_of(path, _HEAD_BYTES), _CWD)


def _scalar(text: str) -> str:
    """A YAML scalar on one line."""
    if text.startswith('"'):
        try:
            return str(msgspec.json.decode(text))
        except msgspec.DecodeError:
            return text.strip('"')
    return text[1:-1].replace("''", "'") if text.startswith("'") else text


def _process(folder: Path, where: SearchScope) -> tuple[int, Sign]:
    gone = 0
    for name in listed(folder):
        if lock := _LOCK.fullmatch(name):
            if where.is_alive(int(lock[1]), ""):
                return int(lock[1]), "alive"
            gone = int(lock[1])
    return (gone, "crashed") if gone else (0, "")
