"""Checks, the commands that prove steps of a feature, and the files that they cover.

A check is identified by the hash of everything that decides what it runs and when it passes. Evidence and
trust name that hash, so neither carries over to a check that was changed.
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
"""The actor of everything that a person declares; every other actor is an agent."""
SECONDS_DEFAULT = 600.0
Small = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
Large = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Check(Value, omit_defaults=True):
    """A command that proves steps of a feature, and when it counts as passed."""

    command: tuple[str, ...]
    """Its arguments; with ``shell``, one text."""
    shell: bool = False
    folder: str = ""
    """The folder that it runs in, relative to the top of the working tree. Empty means the top."""
    environment: dict[str, str] = {}
    """Variables in addition to those that every check gets."""
    limit_seconds: Seconds = SECONDS_DEFAULT
    proves: tuple[Small, ...] = ()
    """The numbers of the steps that it proves, from 1. Empty means all of them."""
    exit_code: Small = 0
    """The exit code that it must have."""
    pattern: str = ""
    """A regular expression that must be found in its output."""
    by: str = PERSON
    """The actor that set it."""
    source: str = ""
    """The file that it was imported from; empty if it was declared."""

    @property
    def text(self) -> str:
        """The command as one would type it."""
        if self.shell:
            return " ".join(self.command)
        from shlex import join  # few commands need it, and every command loads this module

        return join(self.command)

    @property
    def hash(self) -> str:
        """The check's identity for trust and evidence: the hash of all that decides what runs and passes."""
        facts = (
            self.command, self.shell, self.folder, self.environment, self.limit_seconds, self.exit_code,
            self.pattern,
        )  # fmt: skip
        return canonical.digest(canonical.encode(facts))[:12].hex()


def definition(steps: Sequence[str], checks: Sequence[Check], covers: Sequence[str]) -> str:
    """The identity of a feature's definition. Evidence for one definition proves nothing about another."""
    facts = (tuple(steps), [(check.hash, check.proves) for check in checks], tuple(covers))
    return canonical.digest(canonical.encode(facts))[:12].hex()


# -- covered paths -----------------------------------------------------------------------------

_CONFIG_FILES = {
    "pytest": ("pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini", "conftest.py"),
    "tox": ("tox.ini", "pyproject.toml", "setup.cfg"),
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "npm": ("package.json",), "pnpm": ("package.json",), "yarn": ("package.json",),
    "npx": ("package.json",), "cargo": ("Cargo.toml",), "go": ("go.mod",), "just": ("justfile", "Justfile"),
}  # fmt: skip
_GLOB_SIGN = regex(r"\*\*/|\*\*|.", re.S)
_GLOB_SIGNS = {"**/": "(?:[^\n]*/)?", "**": "[^\n]*", "*": "[^/\n]*", "?": "[^/\n]"}
_WORD_END = regex(r"::|[;&|<>()`]")


def run_paths(check: Check) -> tuple[str, ...]:
    """The files that a check runs or is configured by, relative to the top of the tree.

    They are guessed from the command's words; some may not exist.
    """
    words = list(check.command)
    if check.shell:
        from shlex import split

        try:
            words = split(check.text)
        except ValueError:
            words = check.text.split()
    paths: dict[str, None] = {}
    tools = {posixpath.basename(word) for word in words}
    for tool in tools & _CONFIG_FILES.keys():
        for name in _CONFIG_FILES[tool]:
            _add_path(paths, check.folder, name)
    for index, word in enumerate(words):
        for part in word.split("=") if "=" in word else (word,):
            _add_path(paths, check.folder, _WORD_END.split(part)[0])
        if word == "-m" and index + 1 < len(words):
            module = words[index + 1].replace(".", "/")
            for name in (f"{module}.py", f"{module}/__main__.py", f"src/{module}.py"):
                _add_path(paths, check.folder, name)
    if "pytest" in tools:
        for path in list(paths):
            folder = posixpath.dirname(path)
            while folder:
                paths[f"{folder}/conftest.py"] = None
                folder = posixpath.dirname(folder)
    return tuple(paths)


def _add_path(paths: dict[str, None], folder: str, name: str) -> None:
    """Add a word of a command, unless it cannot be a path inside the tree."""
    if not name or name[0] in "-$~" or len(name) > 1024 or "\n" in name or "*" in name:
        return
    path = posixpath.normpath(posixpath.join(folder, name))
    if path not in (".", "..") and not path.startswith(("/", "../")):
        paths[path] = None


def glob_regex(pattern: str) -> str:
    """The regular expression of a glob over paths: ``**`` crosses folders, ``*`` and ``?`` do not.

    A pattern that matches a folder matches everything in it.
    """
    path = posixpath.normpath(pattern.strip()).removeprefix("./") if pattern.strip() else ""
    return (
        "".join(_GLOB_SIGNS.get(sign, re.escape(sign)) for sign in _GLOB_SIGN.findall(path)) + "(?:/[^\n]*)?"
    )


def is_literal(pattern: str) -> bool:
    """Whether a pattern has no wildcards, and so is simply a path."""
    return not any(sign in pattern for sign in "*?")


def covered_patterns(covers: Iterable[str], checks: Iterable[Check]) -> tuple[str, ...]:
    """What a feature covers: its globs, and what its checks run. Empty means the whole tree."""
    globs = [posixpath.normpath(glob.strip()) for glob in covers if glob.strip()]
    if not globs or "." in globs:
        return ()
    return tuple(dict.fromkeys([*globs, *(path for check in checks for path in run_paths(check))]))
