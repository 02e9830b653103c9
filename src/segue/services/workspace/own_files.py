"""Files that Segue itself wrote: what `segue init` wrote to the files of agents, and which files of a working
tree are no work of the user."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from ..._files import read_bytes
from ...core.base.values import Value
from ...effects.git.own_paths import OwnPaths
from .data_folder import DataFolder

NAME = "installed.json"
MANIFEST_HERE = "session_recovery_latest.json"
"""The manifest that is written into a project if somebody asks for it."""


class InstalledFile(Value):
    """A file that was changed, and how to restore it."""

    path: str
    agent: str
    scope: str
    roots: tuple[str, ...]
    """The working trees that it was changed for; empty means all of the user's."""
    before: str
    """The name of the kept bytes; empty if there was no such file."""
    after: str
    """The hash of what was written; empty if others changed the file, too, so that only what is ours is
    removed."""
    made: tuple[str, ...] = ()


class Installed(Value):
    """What is installed on this machine."""

    entries: tuple[InstalledFile, ...] = ()
    format: int = 1


def read(home: DataFolder) -> Installed:
    """What is installed; empty if nothing was ever recorded."""
    with suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(read_bytes(home.path / NAME), type=Installed)
    return Installed()


def own_files(home: DataFolder, root: Path) -> OwnPaths:
    """The data folder, a manifest in the project, and files of agents that are as `segue init` left them."""
    written = {entry.path: entry.after for entry in read(home).entries if entry.after}
    return OwnPaths((home.path, root / MANIFEST_HERE), written)
