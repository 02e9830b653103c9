"""Finds Gemini CLI's conversations, and the project of each.

They are in ``~/.gemini/tmp/<slug>/chats``. The slugs of all working folders are in ``projects.json``, and
each folder names its working folder in ``.project_root``. Older versions named a folder by the SHA-256 of the
working folder. Sub-agents have a folder named after the conversation that started them.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ...core.base.lazy import regex
from ..base import Form, Found, SearchScope, Traits
from ..transcript_files import FileAgent, listed
from .launch import Launcher

_SESSION = regex(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
_LINE = regex(rb'"type"\s*:\s*"gemini"')
_COMMENT = regex(rb"^\s*//.*$", re.M)
_AGE = regex(r"(\d+)([hdwm])")
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30}
_AGE_MAX = "30d"  # the agent's default
_HEAD_BYTES = 4_096


class GeminiCli(FileAgent):
    """See ``agents.base.Agent``."""

    name = "gemini-cli"
    title = "Gemini CLI"
    traits = Traits(
        aliases=("gemini",),
        conversation_variables=("GEMINI_SESSION_ID",),
        variables=("GEMINI_CLI",),
        start="gemini --prompt-interactive",
        rules_file="GEMINI.md",
        hooks="segue.agents.gemini_cli.hooks:HOOKS",
        installer="segue.agents.gemini_cli.install:INSTALLER",
        id_can_be_chosen=True,
        calls_seen_by_hooks_only=True,
    )
    form: Form = "document"  # also for the form with lines, because a later line can replace an earlier one
    launcher = Launcher()

    def recognises(self, head: bytes, name: str) -> bool:
        if Path(name).name == "logs.json":
            return False
        start = head[:_HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")
        if start[:1] != b"{":
            return False
        return (b'"projectHash"' in start and b'"sessionId"' in start) or bool(_LINE.search(start))

    def retention(self, where: SearchScope) -> int | None:
        settings = _read(_folder(where) / "settings.json")
        general = settings.get("general")
        limits = general.get("sessionRetention") if isinstance(general, dict) else None
        limits = limits if isinstance(limits, dict) else {}
        age = _AGE.fullmatch(str(limits.get("maxAge", _AGE_MAX)))
        if limits.get("enabled") is False or age is None:
            return None
        return max(1, round(int(age[1]) * _DAYS[age[2]]))

    def find(self, where: SearchScope) -> Iterator[Found]:
        files = []
        for chats, cwd in _chats(_folder(where), where):
            files += [(path, stat, cwd, parent) for path, stat, parent in _transcripts(chats)]
        files.sort(key=lambda file: -file[1].st_mtime)
        for path, stat, cwd, parent in files:
            native = path.stem if parent else _native(path)
            yield Found(self.name, str(path), native, stat.st_mtime, stat.st_size, cwd, parent)


def _folder(where: SearchScope) -> Path:
    """Gemini CLI's folder; ``GEMINI_CLI_HOME`` replaces the home folder."""
    configured = where.env.get("GEMINI_CLI_HOME")
    return (Path(configured) if configured else where.home) / ".gemini"


def _read(path: Path) -> dict[str, Any]:
    try:
        settings = msgspec.json.decode(_COMMENT.sub(b"", path.read_bytes()))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _chats(folder: Path, where: SearchScope) -> Iterator[tuple[Path, str]]:
    """The project's folders of conversations, each with its working folder."""
    projects = _read(folder / "projects.json").get("projects")
    owners = {
        slug: path
        for path, slug in (projects.items() if isinstance(projects, dict) else ())
        if isinstance(slug, str)
    }
    owners |= {hashlib.sha256(str(root).encode()).hexdigest(): str(root) for root in where.roots}
    for path in (folder / "tmp" / name for name in listed(folder / "tmp")):
        cwd = owners.get(path.name) or _owner(path)
        if where.holds(cwd) if cwd else not where.roots:
            yield path / "chats", cwd


def _owner(path: Path) -> str:
    try:
        return (path / ".project_root").read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _transcripts(chats: Path) -> Iterator[tuple[Path, os.stat_result, str]]:
    """The files of a folder, each with its stat and, for a sub-agent, the conversation that started it."""
    for path in (chats / name for name in listed(chats)):
        if path.suffix in (".json", ".jsonl"):
            if path.name.startswith("session-"):
                yield from _stated(path, "")
        else:
            for side in (path / name for name in listed(path)):
                if side.suffix in (".json", ".jsonl"):
                    yield from _stated(side, path.name)


def _stated(path: Path, parent: str) -> Iterator[tuple[Path, os.stat_result, str]]:
    try:
        if path.suffix == ".json" and path.with_suffix(".jsonl").exists():
            return  # a resume converted it to the newer form
        yield path, path.stat(), parent
    except OSError:
        return  # deleted meanwhile


def _native(path: Path) -> str:
    """The conversation's id, of which the file's name has only the beginning."""
    try:
        with path.open("rb") as file:
            match = _SESSION.search(file.read(_HEAD_BYTES))
    except OSError:
        match = None
    return match[1].decode("utf-8", "replace") if match else path.stem.rpartition("-")[2]
