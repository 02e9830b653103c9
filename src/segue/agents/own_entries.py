"""Which entries in the files of agents Segue wrote. Users have hooks and servers of their own beside them.

An entry is ours only if it has exactly the form that this version or an earlier one writes: a command with
nothing before, between or behind its words, which runs the hook file of a data folder; the command that
`segue init --shared` writes; a server that runs `segue mcp`; the address of our plugin. A text that only
mentions one of them belongs to somebody else.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from .._files import read_bytes
from ..core.base.lazy import regex

OWN = "Written by `segue init`"
OR_EXIT = "|| { [ -t 0 ] || cat >/dev/null 2>&1; exit 0; }"
"""What ends the command of a hook. The event is read even where Segue is gone: an agent that writes it to a
closed pipe may die of that (Cline does)."""
OR_EXIT_FORMS = (OR_EXIT, "|| exit 0")
"""How commands of this version and of earlier ones end."""
SCRIPT_HEAD = f"#!/bin/sh\n# {OWN}\n"
"""What begins a file that an agent runs for one event; a command follows."""
SOURCE_HEAD = f"// {OWN}\n"
"""What begins the source of a plugin."""
PLUGIN_AGENT = 'agent=claude-code; [ -n "$PLUGIN_ROOT" ] && agent=codex; '
"""What begins the command of a hook in the plugin, which two agents load."""
SHARED = "command -v segue >/dev/null 2>&1 && segue hook "
HOOK_OPTIONS = ["-I", "-S"]
_MODES = ("record", "speak", "look", "glance")
_NAME = regex(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_HEAD_BYTES = 200


def shared_command(agent: str, event: str) -> str:
    """The command of a hook in a file that is shared with people who may not have Segue."""
    return f"{SHARED}{agent} {event} {OR_EXIT}"


def private_command(python: str, hook: Path, agent: str, event: str, mode: str) -> str:
    """The command of a hook in a file of this machine."""
    return f"{shlex.join([python, *HOOK_OPTIONS, str(hook), agent, event, mode])} 2>/dev/null {OR_EXIT}"


def plugin_command(python: str, hook: Path, event: str, mode: str) -> str:
    """The command of a hook in the plugin."""
    program = shlex.join([python, *HOOK_OPTIONS, str(hook)])
    return f'{PLUGIN_AGENT}{program} "$agent" {event} {mode} 2>/dev/null {OR_EXIT}'


def is_own_command(command: Any, hook: Path | None = None) -> bool:
    """Whether Segue wrote the command of a hook. One that runs another hook file than ``hook`` is ours unless
    the file there is of somebody else."""
    if not isinstance(command, str):
        return False
    end = next((end for end in OR_EXIT_FORMS if command.endswith(f" {end}")), None)
    if end is None:
        return False
    command = command.removesuffix(f" {end}")
    if command.startswith(SHARED):
        words = command.removeprefix(SHARED).split(" ")
        return len(words) == 2 and all(_NAME.match(word) for word in words)
    program = _program(command)
    return program is not None and (_same(program, hook) or _says_so(program, gone=True))


def _program(command: str) -> Path | None:
    """The hook file that a command without its end runs; None if the command has another form."""
    if not command.endswith(" 2>/dev/null"):
        return None
    command = command.removesuffix(" 2>/dev/null")
    if command.startswith(PLUGIN_AGENT):
        command = command.removeprefix(PLUGIN_AGENT).replace(' "$agent" ', " codex ", 1)
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if len(words) != 7 or shlex.join(words) != command or words[1:3] != HOOK_OPTIONS:
        return None
    path, agent, event, mode = Path(words[3]), *words[4:]
    named = _NAME.match(agent) and _NAME.match(event) and mode in _MODES
    return path if named and path.is_absolute() and path.parts[-2:] == ("hook", "hook.py") else None


def _same(path: Path, other: Path | None) -> bool:
    return other is not None and os.path.realpath(path) == os.path.realpath(other)


def _says_so(path: Path, *, gone: bool) -> bool:
    """Whether a file says in its first line that `segue init` wrote it; ``gone`` if there is none."""
    try:
        head = read_bytes(path, _HEAD_BYTES)
    except FileNotFoundError:
        return gone
    except OSError:
        return False
    line = head.partition(b"\n")[0].decode("utf-8", "replace")
    return line.removeprefix("//").removeprefix("#").lstrip().startswith(OWN)


def own_runs(group: Any, hook: Path | None = None) -> list[int]:
    """Which of the commands in a group of hooks are ours, in Claude Code's form of a group."""
    runs = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(runs, list):
        return []
    return [
        place
        for place, run in enumerate(runs)
        if isinstance(run, dict) and is_own_command(run.get("command"), hook)
    ]


def is_own_element(element: Any, hook: Path | None = None) -> bool:
    """Whether all of an element of a list is ours: a group with only our hooks, or our plugin."""
    if isinstance(element, str):
        return _is_own_plugin(element, hook)
    ours = own_runs(element, hook)
    return bool(ours) and len(ours) == len(element["hooks"])


def _is_own_plugin(address: str, hook: Path | None) -> bool:
    if not address.startswith("file:///"):
        return False
    path = Path(unquote(urlsplit(address).path))
    if path.parts[-2:] != ("hook", "segue.js"):
        return False
    return _same(path, hook and hook.with_name("segue.js")) or _says_so(path, gone=False)


def server_words(member: Any) -> list[str] | None:
    """The command of a server that runs `segue mcp`; None for anything else."""
    if not isinstance(member, dict):
        return None
    command, words = member.get("command"), member.get("args", [])
    whole = command if isinstance(command, list) else [command, *(words if isinstance(words, list) else [])]
    if not all(isinstance(word, str) for word in whole):
        return None
    python = len(whole) == 4 and whole[1:] == ["-m", "segue", "mcp"]
    return whole if python or whole == ["segue", "mcp"] else None


def is_own_member(member: Any, wanted: Any, hook: Path | None = None, *, exact: bool = False) -> bool:
    """Whether a member is ours where Segue would write ``wanted``; ``exact`` if it must have nothing more
    than we write, as agents and users add settings of their own to it."""
    if not isinstance(member, dict) or not isinstance(wanted, dict):
        return False
    if exact and not set(member) <= set(wanted):
        return False
    words, ours = server_words(member), server_words(wanted)
    if words is not None and ours is not None:
        return len(words) == len(ours)  # a short command is ours only in a file that is shared
    return is_own_command(member.get("command"), hook)


def is_own_file(text: str, hook: Path | None = None) -> bool:
    """Whether a whole file is ours: the source of the plugin, or a script that runs nothing but our hook."""
    if text.startswith(SCRIPT_HEAD):
        return is_own_command(text.removeprefix(SCRIPT_HEAD).rstrip("\n"), hook)
    return text.startswith(SOURCE_HEAD)
