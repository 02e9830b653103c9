"""The PAUSE file: while one exists, nothing is written.

Whoever created it decides when to remove it, so no command of ours does that.
"""

from __future__ import annotations

import os
from os import F_OK, access
from pathlib import Path

from ..errors import Paused

_FOLLOW = access not in os.supports_follow_symlinks
"""A PAUSE that is a dangling link counts too, where the platform can tell."""


def pause_paths(folder: Path, data: Path, pause_file: str = "") -> list[Path]:
    """The paths where a PAUSE file stops work in a folder; the project's root is found without a store."""
    tops = (folder, *folder.parents)
    root = next((t for t in tops if (t / ".git").exists() or (t / "segue.toml").is_file()), folder)
    return [data / "PAUSE", root / "PAUSE", *([root / pause_file] if pause_file else [])]


class PauseFile:
    """Refuses every write while a PAUSE file exists. Reads do not ask it."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = [str(path) for path in paths]

    def in_force(self) -> str:
        """The path of the PAUSE file that is in force; empty if there is none."""
        for path in self.paths:
            if access(path, F_OK, follow_symlinks=_FOLLOW):
                return path
        return ""

    def check(self) -> None:
        """Raise Paused if a PAUSE file exists."""
        if path := self.in_force():
            raise Paused(f"{path} exists: nothing is written until it is gone", hint="ask whoever created it")
