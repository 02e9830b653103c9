"""Which run asks, and for which session: for a server that an agent started.

The agent's environment says it, or the agent's process is our ancestor: its registry names the process, or it
has the transcript open, or the program is the agent's and wrote a transcript since it began. A run
that no session knows yet is taken in first.
"""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ...agents import agent as agent_of
from ...agents import agents
from ...core.base.values import Value
from ...effects.processes.identity import ancestors, began_at, command_of
from ...errors import SegueError
from .observed import runs_of
from .select import newest_run
from .sync import sync

if TYPE_CHECKING:
    from ...agents.base import Found
    from ..workspace.workspace import Workspace
    from .discovery import RunFinder

_LOOKS_MAX = 64


class Caller(Value):
    """Who asks; each is empty where it cannot be told."""

    agent: str = ""
    run: str = ""
    session: str = ""


def asker(workspace: Workspace) -> Caller:
    """The run that asks, and its session."""
    given = workspace.environment.get("SEGUE_SESSION", "")
    capture = runs_of(workspace).capture()
    runs = islice(capture.found(), _LOOKS_MAX)
    found = next((one for one in runs if not one.parent and capture.asks(one)), None)
    if found is None:
        name, began = parent_agent()
        found = _written_since(capture, name, began) if name else None
        if found is None:
            return Caller(name, session=given)
    return Caller(found.agent, found.native, given or _session(workspace, capture, found))


def parent_agent() -> tuple[str, float]:
    """The agent whose program is the nearest of our ancestors, and when that process began."""
    programs = {
        launcher.command: one.name for one in agents() if (launcher := getattr(one, "launcher", None))
    }
    for pid in ancestors(os.getpid())[1:]:
        for word in command_of(pid)[:2]:  # an interpreter, maybe, and its program
            name = programs.get(os.path.basename(word).removesuffix(".js"), "")
            if name:
                return name, began_at(pid)
    return "", 0.0


def _written_since(capture: RunFinder, agent: str, began: float) -> Found | None:
    newest = newest_run(capture, agent=agent)
    return newest if newest is not None and newest.changed >= began else None


def _session(workspace: Workspace, capture: RunFinder, found: Found) -> str:
    row = capture.row(found)
    if row is not None and row.session:
        return row.session
    if workspace.pause_file.in_force():
        return ""
    try:
        if agent_of(found.agent).form == "database":
            sync(workspace, agent=found.agent, shares=True)
        else:
            sync(workspace, paths=[Path(found.path)], shares=True)
    except SegueError:
        return ""
    row = capture.row(found)
    return row.session if row is not None else ""
