"""Keeping what a run learnt as memories: from the failures that it solved and, on request, by a model."""

from __future__ import annotations

from ...core.base.values import Value
from ...core.memories.model import Memory
from ..lessons.from_runs import from_claims, from_run
from ..memories.service import Remembered
from ..workspace.workspace import Workspace
from . import refine
from .ask import Announce


class Lessons(Value):
    """Memories that were kept from a run; one that was known already may not be readable."""

    kept: list[tuple[Memory | None, Remembered]]
    fell_back: str = ""
    """Why no model had a part in it, if one was requested."""


def keep_lessons(
    workspace: Workspace, run: str = "", *, scope: str = "project", with_model: bool = False,
    say: Announce | None = None,
) -> Lessons:  # fmt: skip
    """Keep what a run learnt, by default the newest one."""
    kept = from_run(workspace, run, scope=scope)
    if not with_model:
        return Lessons(kept)
    native, refined = refine.reflections(workspace, run, say=say)
    model = refined.asked.model if refined.asked else ""
    claims = refine.masked(refined.grounded.kept)
    return Lessons([*kept, *from_claims(workspace, native, model, claims, scope=scope)], refined.fell_back)
