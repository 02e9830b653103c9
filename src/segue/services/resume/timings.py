"""How long preparing, bootstrapping and restoring took, kept in the project over time."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from math import inf

import msgspec

from ...core.stats.report import Timing
from ...errors import SegueError
from ...stores.base import ProjectFact
from ..workspace.workspace import Workspace

TIMING = "timing"


def keep_timing(
    workspace: Workspace, what: str, seconds: float, bytes: int = 0, *, within: float = inf
) -> None:
    """Keep how long something took on this machine; nothing happens if it cannot be kept, or if a busy store
    could make the caller wait longer than ``within`` seconds."""
    with suppress(SegueError, OSError):
        patience = workspace.settings.number("busy_timeout_ms") / 1000
        if not workspace.sees_tree or patience > within or workspace.pause_file.in_force():
            return
        timing = Timing(time.time(), what, round(seconds, 4), bytes)
        key = f"{time.time_ns():x}-{os.urandom(3).hex()}"
        project = workspace.working_tree.project_key(workspace.settings)[0]
        fact = ProjectFact(project, TIMING, key, timing.at, msgspec.msgpack.encode(timing))
        workspace.store.project_facts.put([fact])
