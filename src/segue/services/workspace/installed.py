"""The record of what `segue init` wrote to the files of agents."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from ...core.base.values import Value
from .data_folder import DataFolder

NAME = "installed.json"


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
        return msgspec.json.decode((home.path / NAME).read_bytes(), type=Installed)
    return Installed()
