"""Who asks for memories: the actor of a Segue, from where it stands. A leaf, so that to ask whether there is
anything to recall loads nothing that recalls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.memories.model import MemoryReader

if TYPE_CHECKING:
    from ..workspace.workspace import Workspace


def current_session(workspace: Workspace) -> str:
    """The session that is meant here; empty if there is none."""
    return workspace.named_session or workspace.working_tree.tree().current


def reader_of(workspace: Workspace, session: str = "") -> MemoryReader:
    """Who asks; with a session beside the current one."""
    names = dict.fromkeys(name for name in (session, current_session(workspace)) if name)
    return MemoryReader(
        agent=workspace.repository.actor, sessions=tuple(names),
        projects=workspace.working_tree.project_keys(workspace.settings),
        organization=workspace.settings.text("organization"),
    )  # fmt: skip
