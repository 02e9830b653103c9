"""Taking in the newest runs before they are listed: those that were killed before a hook could read them."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice

from ...agents import agent as agent_of
from ...errors import SegueError
from ..workspace.workspace import Workspace
from . import cursor
from .observed import runs_of
from .run import facts_of
from .sync import sync

RUNS_MAX = 16
"""How many of the newest runs are looked at."""
BYTES_MAX = 4 << 20
"""How much is read; what is left waits for a hook or `segue sync`."""


def take_in_newest(workspace: Workspace) -> None:
    """Read what is new in the newest runs of this project. Whatever stands in the way (nothing can be
    written, Segue is off, somebody else syncs), the runs that are known already stay as they are."""
    with suppress(SegueError, OSError):
        finder = runs_of(workspace).finder()
        new, left = [], BYTES_MAX
        for found in islice(finder.found(), RUNS_MAX):
            row = finder.row(found)
            facts = facts_of(row) if row is not None else None
            stamp = cursor.stamp_of(found, agent_of(found.agent))
            if facts is not None and cursor.is_unchanged(facts.stamp, stamp, agent_of(found.agent)):
                continue
            left -= max(0, stamp.size - (facts.stamp.size if facts is not None else 0))
            if left < 0:
                break
            new.append(found)
        if new:
            sync(workspace, found=new, wait_seconds=0.1)
