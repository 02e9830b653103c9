"""Editing the configuration files of agents, and undoing it. Pure functions from text to text.

An agent's ``install`` module says which files get which entries; this module edits them. In JSON our entries
are members or elements of their own, and everything else keeps its bytes; in other files they stand between
markers; a file of our own says that it is ours. Editing is idempotent. A file that cannot be understood
raises ``CannotEdit`` and stays as it is.
"""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from .._files import read_text
from ..core.base.json_edit import NotJson, decoded, insertion, removal
from ..core.base.values import Value
from ..errors import UnknownAgent
from . import agents, traits_of
from .base import loaded

Scope = Literal["project", "user", "shared"]
MARK = "segue"
OWN = "Written by `segue init`"
OR_EXIT = "|| { [ -t 0 ] || cat >/dev/null 2>&1; exit 0; }"
"""What ends the command of a hook. The event is read even where Segue is gone: an agent that writes it to a
closed pipe may die of that (Cline does)."""


class CannotEdit(ValueError):
    """A file cannot be understood, or an entry of somebody else is in the way."""


class JsonEntry(Value):
    """A value in a JSON file: a member at a path, or an element of the list there."""

    path: tuple[str, ...]
    value: Any
    element: bool = False


class Edit(Value):
    """Our changes to one file."""

    path: Path
    about: str
    """A few words for the user."""
    entries: tuple[JsonEntry, ...] = ()
    block: str = ""
    """Lines between markers."""
    comment: tuple[str, str] = ("# ", "")
    """What begins and ends a comment in a file of this kind."""
    own: str | None = None
    """The content of a file that is wholly ours."""
    drops: str = ""
    """The beginning of the headers of TOML tables that the agent wrote because of us; they are removed
    too."""
    mode: int = 0o644


class InstallTarget(Value):
    """Where to install, and what."""

    scope: Scope
    home: Path
    """The user's home folder."""
    root: Path
    """The working tree."""
    env: Mapping[str, str]
    python: str
    hook: Path
    """The file of the recording hook."""
    mcp: tuple[str, ...] = ()
    """The command of the MCP server; empty if it is not to be installed."""
    live: bool = False
    """Whether to install hooks for tool calls too."""
    status_line: bool = False

    def command(self, agent: str, event: str, mode: str) -> str:
        """The shell command of a hook; it always exits with 0, even if Segue has been removed."""
        if self.scope == "shared":
            return f"command -v segue >/dev/null 2>&1 && segue hook {agent} {event} {OR_EXIT}"
        words = [self.python, "-I", "-S", str(self.hook), agent, event, mode]
        return f"{shlex.join(words)} 2>/dev/null {OR_EXIT}"

    def exclude_file(self) -> Path | None:
        """The file with what git ignores in this repository on this machine only; None without a
        repository."""
        folder = self.root / ".git"
        if folder.is_file():  # of a worktree
            named = read_text(folder, errors="replace").removeprefix("gitdir:").strip()
            folder = self.root / named
            if (folder / "commondir").is_file():
                folder /= read_text(folder / "commondir", errors="replace").strip()
        return Path(os.path.normpath(folder / "info" / "exclude")) if folder.is_dir() else None

    def server(self) -> tuple[str, ...]:
        """The command of the MCP server for the configuration file."""
        return ("segue", "mcp") if self.scope == "shared" and self.mcp else self.mcp

    def server_entry(self) -> dict[str, Any]:
        """The same in the form that most agents have for it."""
        command, *words = self.server()
        return {"command": command, "args": words}


class Installer(ABC):
    """Installs Segue in an agent; what most of them have in common is here."""

    name: str
    program: str = ""
    """The name of the agent's command."""
    usual_folder: str = ""
    """The agent's configuration folder, in the home folder."""
    folder_variable: str = ""
    """The environment variable that names another one."""
    events: Mapping[str, tuple[str, int]] = {}
    """The mode and the time limit of the hook for each event."""
    live_events: Mapping[str, tuple[str, int]] = {}
    """The same for the events of tool calls."""

    def folder(self, where: InstallTarget) -> Path:
        """The agent's configuration folder."""
        return Path(where.env.get(self.folder_variable) or where.home / self.usual_folder)

    def is_here(self, where: InstallTarget, which: Callable[[str], str | None]) -> bool:
        """Whether the agent is on this machine; ``which`` finds a command on the PATH."""
        return bool(which(self.program)) or self.folder(where).is_dir()

    def hook_entries(self, where: InstallTarget, **more: Any) -> list[JsonEntry]:
        """The entries for hooks in Claude Code's form."""
        entries = []
        for event, (mode, limit) in {**self.events, **(self.live_events if where.live else {})}.items():
            command = where.command(self.name, event, mode)
            run = {"type": "command", "command": command, **more, "timeout": limit}
            entries.append(JsonEntry(("hooks", event), {"hooks": [run]}, True))
        return entries

    @abstractmethod
    def edits(self, where: InstallTarget) -> list[Edit]:
        """The changes to make."""

    def rooted(self, where: InstallTarget) -> bool:
        """Whether the changes affect every project, so that Segue must note for which they are meant."""
        return where.scope != "shared"

    def after(self, where: InstallTarget) -> list[str]:
        """What is left for the user to do, one sentence each."""
        return []


@cache
def installers() -> dict[str, str]:
    """The reference ``module:name`` of each installer, by name: of agents that have one, and of
    ``AGENTS.md``."""
    declared = {agent.name: traits_of(agent).installer for agent in agents()}
    return {name: reference for name, reference in declared.items() if reference} | {
        "agents-md": "segue.agents.agents_md:INSTALLER"
    }


def installer(name: str) -> Installer:
    """The installer of an agent; UnknownAgent if it has none."""
    known = installers()
    if name not in known:
        raise UnknownAgent(f"Segue cannot be installed in {name!r}", hint=f"known: {', '.join(known)}")
    found: Installer = loaded(known[name])
    return found


# -- adding and removing ---------------------------------------------------------------------------


def written(edit: Edit, text: str) -> str:
    """The text of a file with our changes; the same text if it has them already."""
    if edit.drops and not edit.block:
        return text
    if edit.own is not None:
        if text and OWN not in text:
            raise CannotEdit("a file of this name exists, and Segue did not write it")
        return edit.own
    if edit.block:
        return _with_block(edit, text)
    try:
        if all(_has(decoded(text), entry) for entry in edit.entries):
            return text
        text = taken_out(edit, text)
        for entry in edit.entries:
            if not entry.element and _at(decoded(text), entry.path) is not None:
                raise CannotEdit(f"{'.'.join(entry.path)} exists already, and Segue did not write it")
            text = insertion(text, entry.path, entry.value, element=entry.element).applied(text)
    except NotJson as fault:
        raise CannotEdit(str(fault)) from fault
    return text


def taken_out(edit: Edit, text: str) -> str:
    """The text of a file without our changes, even if it was edited meanwhile."""
    if edit.own is not None:
        return "" if OWN in text else text
    if edit.block or edit.drops:
        return _without_tables(_without_block(edit, text), edit.drops)
    try:
        for entry in edit.entries:
            text = _without(text, entry)
    except NotJson as fault:
        raise CannotEdit(str(fault)) from fault
    return text


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return value


def _has(value: Any, entry: JsonEntry) -> bool:
    existing = _at(value, entry.path)
    if entry.element:
        ours = [element for element in existing if is_ours(element)] if isinstance(existing, list) else []
        return ours == [entry.value]
    return bool(existing == entry.value)


def is_ours(value: Any) -> bool:
    """Whether an entry is ours: it runs our file or our command."""
    text = json.dumps(value)
    return any(sign in text for sign in ("/hook/hook.py", "segue hook ", '"segue", "mcp"', "/hook/segue.js"))


def _without(text: str, entry: JsonEntry) -> str:
    existing = _at(decoded(text), entry.path) if text.strip() else None
    if entry.element:
        while isinstance(existing, list):
            index = next((index for index, element in enumerate(existing) if is_ours(element)), None)
            if index is None:
                return text
            text = removal(text, entry.path, index)
            existing = _at(decoded(text), entry.path)
            if existing == []:
                return _pruned(text, entry.path)
        return text
    if existing is None or not is_ours(existing):
        return text
    return _pruned(removal(text, entry.path), entry.path[:-1])


def _pruned(text: str, path: tuple[str, ...]) -> str:
    """The text without containers that have become empty."""
    while path and _at(decoded(text), path) in ({}, []):
        text = removal(text, path)
        path = path[:-1]
    return text


def _markers(edit: Edit) -> tuple[str, str]:
    start, end = edit.comment
    return f"{start}>>> {MARK} (written by `segue init`; `segue uninit` removes it){end}", (
        f"{start}<<< {MARK}{end}"
    )


def _with_block(edit: Edit, text: str) -> str:
    first, last = _markers(edit)
    block = f"{first}\n{edit.block.rstrip()}\n{last}\n"
    if block in text:
        return text
    theirs = _without_block(edit, text)
    gap = "" if not theirs or theirs.endswith("\n\n") else "\n" if theirs.endswith("\n") else "\n\n"
    after = f"{theirs}{gap}{block}"
    if edit.path.suffix == ".toml":
        try:
            tomllib.loads(theirs)
            tomllib.loads(after)
        except tomllib.TOMLDecodeError as fault:
            raise CannotEdit(str(fault)) from fault
    return after


def _without_block(edit: Edit, text: str) -> str:
    first, last = _markers(edit)
    start = text.find(first)
    stop = text.find(last, start)
    if start < 0 or stop < 0:
        return text
    head, tail = text[:start], text[stop + len(last) :].removeprefix("\n")
    return f"{head.rstrip(chr(10))}\n{tail}" if head.strip() else tail


def _without_tables(text: str, begins: str) -> str:
    """A TOML text without the tables whose headers begin with ``begins``."""
    if not begins or begins not in text:
        return text
    lines, keeps = [], True
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            keeps = not line.strip().startswith(begins)
        if keeps:
            lines.append(line)
    return "".join(lines)
