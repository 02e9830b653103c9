"""Every command that Segue names, in a hint, a suggestion or a page of the docs, is one that it takes."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from segue.errors import SegueError
from segue.surfaces.cli.command import find
from segue.surfaces.cli.table import OTHER_NAMES, split

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
_NAMED = re.compile(r"`segue( [^`\n]+)`|^segue( [a-z]+(?: [^`\n]+)?)$")
_OPEN = re.compile(r"…|\.\.\.|[|<>*]|\bACTION\b|\[|/")
"""Marks of one that is told in part, or stands for several."""
WHOLE = {"budget 1 1", "show 1 --timeline1"}
"""Whose options are filled in as a whole."""
NO_COMMANDS = {"help", "COMMAND", "--help", "--version", "version", "checkpointer", *OTHER_NAMES}
FILLED = "1"
"""What stands for a value that is filled in: a name or a number."""


def texts(path: Path) -> Iterator[str]:
    """What a module may say; values that are filled in have a word in their place."""
    source = path.read_text()
    for node in ast.walk(ast.parse(source)) if "segue " in source else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else FILLED for part in node.values
            )


def named(text: str) -> Iterator[str]:
    for found in _NAMED.finditer(text):
        for command in (found[1] or found[2]).split(" && segue"):
            first, whole = command.split()[0], command.strip()
            if not _OPEN.search(command) and first not in {FILLED, *NO_COMMANDS} and whole not in WHOLE:
                yield whole


def refused(command: str) -> str:
    """Why Segue does not take a command; empty if it does."""
    words = shlex.split(command, posix=True)
    before, name, rest = split(words[: words.index("--")] if "--" in words else words)
    if not name or rest in ([], ["--help"]) or rest[-1].startswith("--"):  # a command or an option as such
        try:
            known = find(name).name if name else ""
        except KeyError:
            return "there is no such command"
        if not rest or rest == ["--help"] or rest[-1] in find(known).parser()._option_string_actions:
            return ""
    try:
        find(name).parser().read([*before, *rest])
    except KeyError:
        return "there is no such command"
    except SegueError as fault:
        return "" if f"'{FILLED}' is not one of" in fault.message else fault.message
    return ""


@pytest.mark.parametrize("path", [*SOURCES, *PAGES], ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_is_named_is_one_that_segue_takes(path: Path) -> None:
    said = texts(path) if path.suffix == ".py" else [path.read_text()]
    wrong = {command: why for text in said for command in named(text) if (why := refused(command))}
    assert not wrong
