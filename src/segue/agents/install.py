"""What is written into the files of agents, and how it is taken out again. Pure: texts in, texts out.

An agent's ``install`` module says which files get what; this says how. In JSON our entries are members or
elements of their own, and everything else keeps its bytes; in other texts they stand between markers; a
file of our own is ours wholly and says so. Doing it twice changes nothing. A file that cannot be
understood raises ``CannotEdit`` and is left alone.
"""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol

from ..core.base.json_edit import NotJson, insertion, parse, removal
from ..core.base.values import Value
from . import agents, traits_of

Scope = Literal["project", "user", "shared"]
MARK = "segue"
OWN = "Written by `segue init`"


class CannotEdit(ValueError):
    """A file that cannot be understood, or in which something of somebody else stands in the way."""


class JsonEntry(Value):
    """A value in a JSON file: a member at a path, or an element of the list there."""

    path: tuple[str, ...]
    value: Any
    element: bool = False


class Edit(Value):
    """What one file gets."""

    path: Path
    about: str
    """In a few words, for people."""
    entries: tuple[JsonEntry, ...] = ()
    block: str = ""
    """Lines between markers."""
    comment: tuple[str, str] = ("# ", "")
    """What begins and ends a marker in a file of this kind."""
    own: str | None = None
    """The whole of a file that is ours."""
    drops: str = ""
    """What headers of TOML tables begin with that the agent wrote because of us: they go with the rest."""
    mode: int = 0o644


class InstallTarget(Value):
    """Who installs what for whom."""

    scope: Scope
    home: Path
    """The user's home folder."""
    root: Path
    """The working tree."""
    env: Mapping[str, str]
    python: str
    hook: Path
    """The recording hook's file."""
    mcp: tuple[str, ...] = ()
    """The command of the MCP server; empty: none is installed."""
    live: bool = False
    """Whether tool calls are looked at too."""
    status_line: bool = False

    def command(self, agent: str, event: str, mode: str) -> str:
        """What an agent runs; it can only exit 0, also when all of this is gone."""
        if self.scope == "shared":
            return f"command -v segue >/dev/null 2>&1 && segue hook {agent} {event} || exit 0"
        words = [self.python, "-I", "-S", str(self.hook), agent, event, mode]
        return f"{shlex.join(words)} 2>/dev/null || exit 0"

    def server(self) -> tuple[str, ...]:
        """The command of the MCP server, as it is written down."""
        return ("segue", "mcp") if self.scope == "shared" and self.mcp else self.mcp


class Installer(Protocol):
    """How Segue comes into an agent."""

    name: str
    title: str

    def is_here(self, where: InstallTarget, found: Callable[[str], str | None]) -> bool:
        """Whether the agent is on this machine; ``found`` looks for a command."""
        ...

    def edits(self, where: InstallTarget) -> list[Edit]:
        """The files that get something."""
        ...

    def rooted(self, where: InstallTarget) -> bool:
        """Whether what is written acts in every project, so that Segue must be told where it is meant."""
        ...

    def after(self, where: InstallTarget) -> list[str]:
        """What is left for the user to do, a sentence each."""
        ...


@cache
def installers() -> dict[str, str]:
    """Who can be installed for: each agent that declares how, and whoever reads ``AGENTS.md``."""
    declared = {one.name: traits_of(one).installer for one in agents()}
    return {name: where for name, where in declared.items() if where} | {
        "agents-md": "segue.agents.agents_md:INSTALLER"
    }


def installer(name: str) -> Installer:
    """The installer of an agent; KeyError if it has none."""
    module, _, value = installers()[name].partition(":")
    found: Installer = getattr(import_module(module), value)
    return found


# -- in and out ------------------------------------------------------------------------------------


def written(edit: Edit, text: str) -> str:
    """The file with what it gets; the same text if it has it already."""
    if edit.drops and not edit.block:
        return text
    if edit.own is not None:
        if text and OWN not in text:
            raise CannotEdit("a file of this name is there, and it is not ours")
        return edit.own
    if edit.block:
        return _with_block(edit, text)
    try:
        if all(_has(parse(text).value, entry) for entry in edit.entries):
            return text
        text = taken_out(edit, text)
        for entry in edit.entries:
            if not entry.element and _at(parse(text).value, entry.path) is not None:
                raise CannotEdit(f"{'.'.join(entry.path)} is there already, and it is not ours")
            text = insertion(text, entry.path, entry.value, element=entry.element).applied(text)
    except NotJson as fault:
        raise CannotEdit(str(fault)) from fault
    return text


def taken_out(edit: Edit, text: str) -> str:
    """The file without what is ours in it, whoever changed it meanwhile."""
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
    found = _at(value, entry.path)
    if entry.element:
        ours = [one for one in found if is_ours(one)] if isinstance(found, list) else []
        return ours == [entry.value]
    return bool(found == entry.value)


def is_ours(value: Any) -> bool:
    """Whether an entry was written by us: it runs our file, or our command."""
    told = json.dumps(value)
    return any(sign in told for sign in ("/hook/hook.py", "segue hook ", '"segue", "mcp"', "/hook/segue.js"))


def _without(text: str, entry: JsonEntry) -> str:
    found = _at(parse(text).value, entry.path) if text.strip() else None
    if entry.element:
        while isinstance(found, list):
            place = next((place for place, one in enumerate(found) if is_ours(one)), None)
            if place is None:
                return text
            text = removal(text, entry.path, place)
            found = _at(parse(text).value, entry.path)
            if found == []:
                return _pruned(text, entry.path)
        return text
    if found is None or not is_ours(found):
        return text
    return _pruned(removal(text, entry.path), entry.path[:-1])


def _pruned(text: str, path: tuple[str, ...]) -> str:
    """Without containers that have become empty."""
    while path and _at(parse(text).value, path) in ({}, []):
        text = removal(text, path)
        path = path[:-1]
    return text


def _markers(edit: Edit) -> tuple[str, str]:
    before, behind = edit.comment
    return f"{before}>>> {MARK} (written by `segue init`; `segue uninit` removes it){behind}", (
        f"{before}<<< {MARK}{behind}"
    )


def _with_block(edit: Edit, text: str) -> str:
    first, last = _markers(edit)
    block = f"{first}\n{edit.block.rstrip()}\n{last}\n"
    if block in text:
        return text
    bare = _without_block(edit, text)
    glue = "" if not bare or bare.endswith("\n\n") else "\n" if bare.endswith("\n") else "\n\n"
    after = f"{bare}{glue}{block}"
    if edit.path.suffix == ".toml":
        try:
            tomllib.loads(bare)
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
    """A TOML text without the tables whose headers begin so, and what they left empty."""
    if not begins or begins not in text:
        return text
    lines, keeps = [], True
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            keeps = not line.strip().startswith(begins)
        if keeps:
            lines.append(line)
    return "".join(lines)


def hook_entries(
    where: InstallTarget, agent: str, events: Mapping[str, tuple[str, int]], **more: Any
) -> list[JsonEntry]:
    """The hooks of agents that have Claude Code's shape: event to (mode, time limit)."""
    found = []
    for event, (mode, limit) in events.items():
        run = {"type": "command", "command": where.command(agent, event, mode), **more, "timeout": limit}
        found.append(JsonEntry(("hooks", event), {"hooks": [run]}, True))
    return found
