"""Finding the run that started this process, and its session; used by a server that an agent started.

The agent's environment names the run, or the agent's process is an ancestor of ours: its registry names that
process, it has the transcript open, or it is the agent's program and has written a transcript since it began.
A run without a session is synced first.
"""

from __future__ import annotations

import os
from itertools import islice

from ...agents import agents
from ...agents.base import Found
from ...core.base.values import Value
from ...effects.processes.identity import ancestors, began_at, command_of
from ...errors import SegueError
from ..workspace.workspace import Workspace
from .discovery import RunFinder
from .observed import runs_of
from .select import newest_run
from .sync import sync

_RUNS_MAX = 64


class Caller(Value):
    """The agent, run and session that started this process; each is empty if it is unknown."""

    agent: str = ""
    run: str = ""
    session: str = ""


def find_caller(workspace: Workspace) -> Caller:
    """The agent, run and session that started this process."""
    named = workspace.environment.get("SEGUE_SESSION", "")
    finder = runs_of(workspace).finder()
    runs = islice(finder.found(), _RUNS_MAX)
    found = next((run for run in runs if not run.parent and finder.is_caller(run)), None)
    if found is None:
        name, began = parent_agent()
        found = newest_run(finder, agent=name) if name else None
        if found is None or found.changed < began:
            return Caller(name, session=named)
    return Caller(found.agent, found.native, named or _session(workspace, finder, found))


def parent_agent() -> tuple[str, float]:
    """The agent whose program is our nearest ancestor, and when that process began; ("", 0.0) if there is
    none."""
    programs = {
        launcher.command: agent.name for agent in agents() if (launcher := getattr(agent, "launcher", None))
    }
    for pid in ancestors(os.getpid())[1:]:
        for word in command_of(pid)[:2]:  # the program, possibly after its interpreter
            name = programs.get(os.path.basename(word).removesuffix(".js"), "")
            if name:
                return name, began_at(pid)
    return "", 0.0


def _session(workspace: Workspace, finder: RunFinder, found: Found) -> str:
    row = finder.row(found)
    if row is not None and row.session:
        return row.session
    if workspace.pause_file.in_force():
        return ""
    try:
        sync(workspace, found=[found], shares=True)
    except SegueError:
        return ""
    row = finder.row(found)
    return row.session if row is not None else ""
