"""The PAUSE file: while one exists, nothing is written.

Removing it is somebody else's decision, so no command of ours does.
"""

from __future__ import annotations

import os
from os import F_OK, access
from pathlib import Path

from ..errors import Paused

_FOLLOW = access not in os.supports_follow_symlinks
"""A PAUSE that is a link to nowhere counts too, where the platform can tell."""


def pause_paths(folder: Path, data: Path, pause_file: str = "") -> list[Path]:
    """Where a PAUSE file brakes work in a folder; the project's root is found without a store."""
    tops = (folder, *folder.parents)
    root = next((t for t in tops if (t / ".git").exists() or (t / "segue.toml").is_file()), folder)
    return [data / "PAUSE", root / "PAUSE", *([root / pause_file] if pause_file else [])]


class PauseFile:
    """The PAUSE file: while one exists, every service write is refused. Reads are not asked."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = [str(path) for path in paths]

    def in_force(self) -> str:
        """The PAUSE file that brakes, or nothing."""
        for path in self.paths:
            if access(path, F_OK, follow_symlinks=_FOLLOW):
                return path
        return ""

    def check(self) -> None:
        """Raise Paused if a PAUSE file exists."""
        for path in self.paths:
            if not access(path, F_OK, follow_symlinks=_FOLLOW):
                continue
            raise Paused(
                f"{path} exists: nothing is written until it is gone", hint="ask whoever put it there"
            )
