"""Opening Segue for a command or a tool. What hooks left in the spool, and what waits for the server, is
stored first if possible.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..core.base.text import clean_name
from ..errors import SegueError
from ..services.workspace.open_workspace import for_looking, on_standby
from ..services.workspace.workspace import Workspace
from .segue import Segue


def segue_for_command(folder: Path, environment: Mapping[str, str], actor: str = "") -> Segue:
    """Segue with the store and the actor that the environment names, for this folder."""
    run = environment.get("SEGUE_RUN", "")
    opened = Segue(
        folder=folder, actor=actor or None, environment=environment,
        run=clean_name(run, what="run id") if run else "",
    )  # fmt: skip
    _take_in(opened.workspace)
    return opened


def segue_for_looking(folder: Path, environment: Mapping[str, str]) -> Segue | None:
    """Segue for a command that only reads; None if there is a store. Creates none."""
    found = for_looking(folder, environment)
    return Segue.of(found) if found is not None else None


def segue_on_standby(folder: Path, environment: Mapping[str, str]) -> Segue | None:
    """Segue on the standby that the settings name for looking; None if the store itself must be asked."""
    found = on_standby(folder, environment)
    return Segue.of(found) if found is not None else None


def _take_in(workspace: Workspace) -> None:
    """Store what waits. What cannot be stored now keeps waiting, and `segue doctor` says so."""
    spool = workspace.home.path / "spool"
    left_by_hooks = spool.is_dir() and any(name != "drain.lock" for name in os.listdir(spool))
    if not left_by_hooks and not workspace.waits_offline():
        return
    from ..services.hooks.spool_drain import drain

    try:
        drain(workspace)
    except (SegueError, OSError):
        pass
