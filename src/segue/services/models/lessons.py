"""What a run learnt, kept as memories: from the failures that it solved, and by a model if one is wanted."""

from __future__ import annotations

from ...core.base.values import Value
from ...core.memories.model import Memory
from ..memories.service import Remembered
from ..runs.lessons import from_claims, from_run
from ..workspace.workspace import Workspace
from . import refine
from .ask import Announce


class Lessons(Value):
    """Memories that were kept of a run; of one that was known already there may be no memory to read."""

    kept: list[tuple[Memory | None, Remembered]]
    fell_back: str = ""
    """Why no model took part, where one was wanted."""


def keep_lessons(
    workspace: Workspace, run: str = "", *, scope: str = "project", with_model: bool = False,
    say: Announce | None = None,
) -> Lessons:  # fmt: skip
    """Keep what a run learnt; of the newest run if none is named."""
    kept = from_run(workspace, run, scope=scope)
    if not with_model:
        return Lessons(kept)
    native, told = refine.reflections(workspace, run, say=say)
    model = told.asked.model if told.asked else ""
    claims = refine.masked(told.grounded.kept)
    return Lessons([*kept, *from_claims(workspace, native, model, claims, scope=scope)], told.fell_back)
