"""Editing the configuration files of agents, and undoing it. Pure functions from text to text.

An agent's ``install`` module says which files get which entries; this module edits them. In JSON our entries
are members or elements of their own, and everything else keeps its bytes; in other files they stand between
markers; a file of our own says that it is ours. Editing is idempotent. A file that cannot be understood
raises ``CannotEdit`` and stays as it is.
"""

from __future__ import annotations

import os
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from .._files import read_text
from ..core.base.json_edit import NotJson, decoded, insertion, removal
from ..core.base.values import Value
from ..errors import UnknownAgent
from . import agents, traits_of
from .base import loaded
from .own_entries import (
    is_own_element,
    is_own_file,
    is_own_member,
    own_runs,
    private_command,
    server_words,
    shared_command,
)  # fmt: skip

Scope = Literal["project", "user", "shared"]
MARK = "segue"


class CannotEdit(ValueError):
    """A file cannot be understood, or an entry of somebody else is in the way."""


class JsonEntry(Value):
    """A value in a JSON file: a member at a path, or an element of the list there."""

    path: tuple[str, ...]
    value: Any
    element: bool = False
    replaces: bool = False
    """Whether it takes the place of somebody else's value, which comes back when it is taken out."""


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
    drops: tuple[str, ...] = ()
    """The headers of TOML tables that the agent wrote because of us; they are removed too."""
    mode: int = 0o644
    hook: Path | None = None
    """The hook file of this data folder: what runs it is ours."""
    within: Path | None = None
    """The project, for a file that may have come with a clone: no link may lead out of it."""


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
    """Whether to install a status line, even in the place of one of the user's own."""
    offers_status_line: bool = False
    """Whether to install one where the user has none."""

    def command(self, agent: str, event: str, mode: str) -> str:
        """The shell command of a hook; it always exits with 0, even if Segue has been removed."""
        if self.scope == "shared":
            return shared_command(agent, event)
        return private_command(self.python, self.hook, agent, event, mode)

    def exclude_file(self) -> Path | None:
        """The file with what git ignores in this repository on this machine only; None without a
        repository, or if the repository has that file elsewhere."""
        folder = self.root / ".git"
        if folder.is_file():  # of a worktree
            named = read_text(folder, errors="replace").removeprefix("gitdir:").strip()
            folder = self.root / named
            if (folder / "commondir").is_file():
                folder /= read_text(folder / "commondir", errors="replace").strip()
        folder = Path(os.path.realpath(folder))
        file = folder / "info" / "exclude"
        return file if folder.is_dir() and Path(os.path.realpath(file)) == file else None

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
    if edit.own is not None:
        if text and not is_own_file(text, edit.hook):
            raise CannotEdit("a file of this name exists, and Segue did not write it")
        return edit.own
    if edit.block:
        return _with_block(edit, text)
    try:
        for entry in edit.entries:
            text = _with_entry(edit, text, entry)
    except NotJson as fault:
        raise CannotEdit(str(fault)) from fault
    return text


def taken_out(edit: Edit, text: str, *, before: str | None = None) -> str:
    """The text of a file without our changes, even if it was edited meanwhile. A member that was there
    before the first init becomes what it was. Where nobody knows what was ``before``, a member to which
    somebody added something stays: it may be somebody else's."""
    if edit.own is not None:
        return "" if is_own_file(text, edit.hook) else text
    if edit.block or edit.drops:
        return _without_tables(_without_block(edit, text), edit.drops)
    try:
        for entry in edit.entries:
            remove = _without_element if entry.element else _without_member
            text = remove(edit, text, entry, before)
    except NotJson as fault:
        raise CannotEdit(str(fault)) from fault
    return text


def value_in(path: Path, name: str) -> Any:
    """The value of a member of a JSON file; None if there is no such file or member. Raises CannotEdit."""
    try:
        text = read_text(path, encoding="utf-8")
        return _at(decoded(text), (name,)) if text.strip() else None
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, NotJson) as fault:
        raise CannotEdit(str(fault)) from fault


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return value


def _with_entry(edit: Edit, text: str, entry: JsonEntry) -> str:
    existing, value = _at(decoded(text), entry.path), entry.value
    if entry.element:
        theirs = existing if isinstance(existing, list) else []
        if [one for one in theirs if _has_ours(one, edit.hook)] == [entry.value]:
            return text
        text = _without_element(edit, text, entry)
    elif existing is not None and entry.replaces:
        if existing == value:
            return text
        text = removal(text, entry.path)
    elif existing is not None:
        words = server_words(existing)
        if existing == value or (words and words == server_words(value)):
            return text
        if not is_own_member(existing, value, edit.hook):
            if words:
                return text  # the user's own way to run our server
            raise CannotEdit(f"{'.'.join(entry.path)} exists already, and Segue did not write it")
        text, value = removal(text, entry.path), {**existing, **value}
    return insertion(text, entry.path, value, element=entry.element).applied(text)


def _has_ours(element: Any, hook: Path | None) -> bool:
    return is_own_element(element, hook) or bool(own_runs(element, hook))


def _without_member(edit: Edit, text: str, entry: JsonEntry, before: str | None) -> str:
    existing = _at(decoded(text), entry.path)
    if not is_own_member(existing, entry.value, edit.hook, exact=before is None):
        return text
    was = _at(decoded(before or ""), entry.path)
    if was == existing:
        return text
    if was is None:
        return _pruned(removal(text, entry.path), entry.path[:-1])
    text = removal(text, entry.path)
    return insertion(text, entry.path, was).applied(text)


def _without_element(edit: Edit, text: str, entry: JsonEntry, before: str | None = None) -> str:
    existing = _at(decoded(text), entry.path)
    found = list(enumerate(existing)) if isinstance(existing, list) else []
    for index, element in reversed(found):
        if is_own_element(element, edit.hook):
            text = removal(text, entry.path, index)
            continue
        for run in reversed(own_runs(element, edit.hook)):  # somebody added a hook to our group
            text = removal(text, (*entry.path, index, "hooks"), run)
    return _pruned(text, entry.path) if found and _at(decoded(text), entry.path) == [] else text


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
    lines = text.splitlines(keepends=True)
    bare = [line.rstrip("\r\n") for line in lines]
    if first not in bare or last not in bare[bare.index(first) :]:
        return text
    start = bare.index(first)
    stop = bare.index(last, start)
    head, tail = "".join(lines[:start]), "".join(lines[stop + 1 :])
    return f"{head.rstrip(chr(10))}\n{tail}" if head.strip() else tail


def _without_tables(text: str, headers: tuple[str, ...]) -> str:
    """A TOML text without the tables with these headers, and without the table around them if that has
    nothing else."""
    if not any(header in text for header in headers):
        return text
    around = {header.partition('"')[0].rstrip(".") + "]" for header in headers}
    lines, keeps = [], True
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            keeps = line.strip() not in headers
        if keeps:
            lines.append(line)
    for header in around:
        lines = _without_empty_table(lines, header)
    return "".join(lines)


def _without_empty_table(lines: list[str], header: str) -> list[str]:
    """Lines of TOML without a table that has no line of its own."""
    places = [place for place, line in enumerate(lines) if line.strip() == header]
    if not places:
        return lines
    own = takewhile(lambda line: not line.lstrip().startswith("["), lines[places[0] + 1 :])
    return lines if any(line.strip() for line in own) else lines[: places[0]] + lines[places[0] + 1 :]
