"""The reader of memories: the actor of a workspace, with its project, organization and session.

This module imports next to nothing, so that asking whether there is anything to recall loads no ranking
code."""

from __future__ import annotations

from contextlib import suppress

from ...core.memories.model import MemoryReader
from ...core.sessions import commands as do
from ...core.sessions.state import OBSERVER, OPEN
from ...errors import SegueError, UnknownSession
from ..workspace.workspace import Workspace


def current_session(workspace: Workspace) -> str:
    """The session that is named or current in the working tree; empty if there is none."""
    return workspace.named_session or workspace.working_tree.tree().current


def session_at_work(workspace: Workspace) -> str:
    """The current session if it is not over: what is learnt now was learnt in it. Empty if there is none."""
    with suppress(UnknownSession):
        current = current_session(workspace)
        return current if current and workspace.repository.state(current).status in OPEN else ""
    return ""


def count_search(workspace: Workspace) -> None:
    """Count a search for memories in the session that is at work here, if there is one."""
    with suppress(SegueError, OSError):
        session = session_at_work(workspace)
        if session:
            workspace.repository.commit(session, [do.Count({"searches_performed": 1})], actor=OBSERVER)


def reader_of(workspace: Workspace, session: str = "") -> MemoryReader:
    """Who reads memories in a workspace; ``session`` is added to the current session."""
    names = dict.fromkeys(name for name in (session, current_session(workspace)) if name)
    return MemoryReader(
        agent=workspace.repository.actor, sessions=tuple(names),
        projects=workspace.working_tree.project_keys(workspace.settings),
        organization=workspace.settings.text("organization"),
    )  # fmt: skip
