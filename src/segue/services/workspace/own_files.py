"""Which files in a working tree are Segue's own."""

from __future__ import annotations

from pathlib import Path

from ...effects.git.own_paths import OwnPaths
from . import installed
from .data_folder import DataFolder

MANIFEST_HERE = "session_recovery_latest.json"
"""The manifest that is written into a project if somebody asks for it."""


def own_files(home: DataFolder, root: Path) -> OwnPaths:
    """The data folder, a manifest in the project, and files of agents that are as `segue init` left them."""
    written = {entry.path: entry.after for entry in installed.read(home).entries if entry.after}
    return OwnPaths((home.path, root / MANIFEST_HERE), written)
