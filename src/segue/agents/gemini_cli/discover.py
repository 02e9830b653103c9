"""Finds Gemini CLI's conversations, and the project of each.

They are in ``~/.gemini/tmp/<slug>/chats``. The slugs of all working folders are in ``projects.json``, and
each folder names its working folder in ``.project_root``. Older versions named a folder by the SHA-256 of the
working folder. Sub-agents have a folder named after the conversation that started them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.base.canonical import sha256
from ...core.base.lazy import regex
from ..base import Form, Found, SearchScope, Traits
from ..transcript_files import FileAgent, bytes_of, json_object, listed, stated

if TYPE_CHECKING:
    from .launch import Launcher

_SESSION = regex(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
_LINE = regex(rb'"type"\s*:\s*"gemini"')
_AGE = regex(r"(\d+)([hdwm])")
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30}
_AGE_MAX = "30d"  # the agent's default
_HEAD_BYTES = 4_096
_SUFFIXES = (".json", ".jsonl")


class GeminiCli(FileAgent):
    name = "gemini-cli"
    title = "Gemini CLI"
    traits = Traits(
        takes_context_at_prompts=True,
        aliases=("gemini",),
        conversation_variables=("GEMINI_SESSION_ID",),
        variables=("GEMINI_CLI",),
        start="gemini --prompt-interactive",
        rules_file="GEMINI.md",
        hooks="segue.agents.gemini_cli.hooks:HOOKS",
        installer="segue.agents.gemini_cli.install:INSTALLER",
        id_can_be_chosen=True,
        calls_seen_by_hooks_only=True,
        deletes="*/chats/session-*",  # when it starts, one of which a resume was killed before it was whole
        forgets_hook_context=True,
    )
    form: Form = "document"  # also for the form with lines, because a later line can replace an earlier one

    @property
    def launcher(self) -> Launcher:
        """How it is started; only who starts it loads that."""
        from .launch import Launcher

        return Launcher()

    def recognises(self, head: bytes, name: str) -> bool:
        if Path(name).name == "logs.json":
            return False
        start = head[:_HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")
        if start[:1] != b"{":
            return False
        return (b'"projectHash"' in start and b'"sessionId"' in start) or bool(_LINE.search(start))

    def retention(self, where: SearchScope) -> int | None:
        settings = json_object(_folder(where) / "settings.json")
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

    def transcripts_at(self, path: Path, where: SearchScope) -> Iterator[Found]:
        converted = (path.with_suffix(".jsonl"),) if path.suffix == ".json" else ()
        for file, stat in islice(stated((*converted, path)), 1):
            parent = file.parent.name if file.parent.parent.name == "chats" else ""
            folder = file.parents[2] if parent else file.parents[1]
            cwd = _cwd(folder, _owners(_folder(where), where))
            native = file.stem if parent else _native(file)
            yield Found(self.name, str(file), native, stat.st_mtime, stat.st_size, cwd, parent)


def _folder(where: SearchScope) -> Path:
    """Gemini CLI's folder; ``GEMINI_CLI_HOME`` replaces the home folder."""
    return where.folder("GEMINI_CLI_HOME", "") / ".gemini"


def _chats(folder: Path, where: SearchScope) -> Iterator[tuple[Path, str]]:
    """The project's folders of conversations, each with its working folder."""
    owners = _owners(folder, where)
    for path in (folder / "tmp" / name for name in listed(folder / "tmp")):
        cwd = _cwd(path, owners)
        if where.holds(cwd):
            yield path / "chats", cwd


def _owners(folder: Path, where: SearchScope) -> dict[str, str]:
    """The working folders by the names of the folders of their conversations."""
    projects = json_object(folder / "projects.json").get("projects")
    owners = {
        slug: path
        for path, slug in (projects.items() if isinstance(projects, dict) else ())
        if isinstance(slug, str)
    }
    return owners | {sha256(str(root).encode()).hexdigest(): str(root) for root in where.roots}


def _cwd(folder: Path, owners: dict[str, str]) -> str:
    return owners.get(folder.name) or bytes_of(folder / ".project_root").decode("utf-8", "replace").strip()


def _transcripts(chats: Path) -> Iterator[tuple[Path, os.stat_result, str]]:
    """The files of a folder, each with its stat and, for a sub-agent, the conversation that started it."""
    for name in listed(chats):
        is_side = not name.endswith(_SUFFIXES)
        if not is_side and not name.startswith("session-"):
            continue
        paths = (chats / name / side for side in listed(chats / name)) if is_side else (chats / name,)
        for path, stat in stated(path for path in paths if path.suffix in _SUFFIXES):
            if path.suffix != ".json" or not path.with_suffix(".jsonl").exists():
                yield path, stat, name if is_side else ""  # a resume converts a file to the newer form


def _native(path: Path) -> str:
    """The conversation's id, of which the file's name has only the beginning."""
    match = _SESSION.search(bytes_of(path, _HEAD_BYTES))
    return match[1].decode("utf-8", "replace") if match else path.stem.rpartition("-")[2]
