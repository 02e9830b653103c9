"""Who asks for memories: the actor of a Segue, from where it stands. A leaf, so that to ask whether there is
anything to recall loads nothing that recalls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.memories.model import MemoryReader

if TYPE_CHECKING:
    from ...api.segue import Segue


def current_session(segue: Segue) -> str:
    """The session that is meant here; empty if there is none."""
    return segue._given or segue.place.tree().current


def reader_of(segue: Segue, session: str = "") -> MemoryReader:
    """Who asks; with a session beside the current one."""
    names = dict.fromkeys(name for name in (session, current_session(segue)) if name)
    return MemoryReader(
        agent=segue.book.actor, sessions=tuple(names),
        projects=segue.place.project_keys(segue.settings), organization=segue.settings.text("organization"),
    )  # fmt: skip
