"""Checks: commands that prove steps of a feature, and the files that they cover.

A check is known by the hash of what it runs, so that evidence belongs to exactly one form of it, and trust
too.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec

from ..base import canonical
from ..base.lazy import regex
from ..base.values import Value

PERSON = "user"
"""The actor that is no agent."""
SECONDS_DEFAULT = 600.0
Small = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
Large = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Check(Value, omit_defaults=True):
    """A command that proves steps of a feature, and when it counts as passed."""

    command: tuple[str, ...]
    """Its words; with ``shell`` one text."""
    shell: bool = False
    folder: str = ""
    """Where it runs, from the top of the working tree; empty: there."""
    environment: dict[str, str] = {}
    """Added to the variables that checks are given."""
    limit_seconds: Seconds = SECONDS_DEFAULT
    proves: tuple[Small, ...] = ()
    """Numbers of the steps, from 1; empty: all."""
    exit_code: Small = 0
    """What it must exit with."""
    pattern: str = ""
    """A regular expression that its output must hold."""
    by: str = PERSON
    """Who set it."""
    source: str = ""
    """The file that it was imported from; empty: it was declared."""

    @property
    def text(self) -> str:
        """The command as people write it."""
        if self.shell:
            return " ".join(self.command)
        from shlex import join  # few commands need it, and all load this module

        return join(self.command)

    @property
    def hash(self) -> str:
        """What trust and evidence know it by: all that decides about what runs and when it passes."""
        facts = (
            self.command, self.shell, self.folder, self.environment, self.limit_seconds, self.exit_code,
            self.pattern,
        )  # fmt: skip
        return canonical.digest(canonical.encode(facts))[:12].hex()


def definition(steps: Sequence[str], checks: Sequence[Check], covers: Sequence[str]) -> str:
    """What evidence is about: another one of these, and it proves nothing."""
    facts = (tuple(steps), [(check.hash, check.proves) for check in checks], tuple(covers))
    return canonical.digest(canonical.encode(facts))[:12].hex()


# -- covered paths -----------------------------------------------------------------------------

_TOOLS = {
    "pytest": ("pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini", "conftest.py"),
    "tox": ("tox.ini", "pyproject.toml", "setup.cfg"),
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "npm": ("package.json",), "pnpm": ("package.json",), "yarn": ("package.json",),
    "npx": ("package.json",), "cargo": ("Cargo.toml",), "go": ("go.mod",), "just": ("justfile", "Justfile"),
}  # fmt: skip
_WORD_END = regex(r"::|[;&|<>()`]")


def run_paths(check: Check) -> tuple[str, ...]:
    """Paths that a check itself runs or is steered by, from the top of the tree; some may not exist."""
    words = list(check.command)
    if check.shell:
        from shlex import split

        try:
            words = split(check.text)
        except ValueError:
            words = check.text.split()
    found: dict[str, None] = {}
    tools = {posixpath.basename(word) for word in words}
    for tool in tools & _TOOLS.keys():
        for name in _TOOLS[tool]:
            _put(found, check.folder, name)
    for place, word in enumerate(words):
        for part in word.split("=") if "=" in word else (word,):
            _put(found, check.folder, _WORD_END.split(part)[0])
        if word == "-m" and place + 1 < len(words):
            module = words[place + 1].replace(".", "/")
            for name in (f"{module}.py", f"{module}/__main__.py", f"src/{module}.py"):
                _put(found, check.folder, name)
    if "pytest" in tools:
        for path in list(found):
            folder = posixpath.dirname(path)
            while folder:
                found[f"{folder}/conftest.py"] = None
                folder = posixpath.dirname(folder)
    return tuple(found)


def _put(found: dict[str, None], folder: str, name: str) -> None:
    if not name or name[0] in "-$~" or len(name) > 1024 or "\n" in name or "*" in name:
        return
    path = posixpath.normpath(posixpath.join(folder, name))
    if path not in (".", "..") and not path.startswith(("/", "../")):
        found[path] = None


def glob_regex(pattern: str) -> str:
    """A glob over paths as a regular expression: ``**`` crosses folders, ``*`` and ``?`` do not.

    A folder's name means all that is in it.
    """
    path = posixpath.normpath(pattern.strip()).removeprefix("./") if pattern.strip() else ""
    made, at = "", 0
    while at < len(path):
        if path.startswith("**/", at):
            made, at = made + "(?:[^\n]*/)?", at + 3
        elif path.startswith("**", at):
            made, at = made + "[^\n]*", at + 2
        elif path[at] == "*":
            made, at = made + "[^/\n]*", at + 1
        elif path[at] == "?":
            made, at = made + "[^/\n]", at + 1
        else:
            made, at = made + re.escape(path[at]), at + 1
    return made + "(?:/[^\n]*)?"


def is_literal(pattern: str) -> bool:
    """Whether a pattern is a path, without wild cards."""
    return not any(sign in pattern for sign in "*?")


def covered_patterns(covers: Iterable[str], checks: Iterable[Check]) -> tuple[str, ...]:
    """What a feature covers: its globs and what its checks run; empty: the whole tree."""
    globs = [posixpath.normpath(one.strip()) for one in covers if one.strip()]
    if not globs or "." in globs:
        return ()
    return tuple(dict.fromkeys([*globs, *(path for check in checks for path in run_paths(check))]))
