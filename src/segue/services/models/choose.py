"""Which models are asked: set, taken out, and tried."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from ...core.base.values import Value
from ...core.models.spending import Caps
from ...errors import ModelFailed, OverBudget
from . import ask as models
from . import config
from .config import Ladder, ModelChoice

if TYPE_CHECKING:
    from ..workspace.workspace import Workspace
    from .ask import ModelReply, Telling


class Trial(Value):
    """A model that was asked for a word."""

    name: str
    reply: ModelReply | None = None
    """What it answered, and at what cost; None if it did not."""
    why: str = ""


def choose(
    workspace: Workspace, chosen: Sequence[ModelChoice], *, add: bool = False, call: float | None = None,
    session: float | None = None, day: float | None = None,
) -> Ladder:  # fmt: skip
    """Ask these models from now on, beside those of before if ``add``; caps that are not given stay."""
    before = config.load(workspace)
    caps = Caps(
        before.caps.call if call is None else call,
        before.caps.session if session is None else session,
        before.caps.day if day is None else day,
    )
    made = config.ladder_of([*(before.rungs if add else ()), *chosen], caps)
    config.save(workspace, made)
    return made


def take_out(workspace: Workspace, names: Collection[str]) -> Ladder:
    """Ask these models no more; without names, none at all."""
    before = config.load(workspace)
    left = [rung for rung in before.rungs if names and rung.name not in names]
    made = config.ladder_of(left, before.caps)
    config.save(workspace, made)
    return made


def try_each(workspace: Workspace, *, say: Telling | None = None) -> Iterator[Trial]:
    """Ask one model after the other for a word, within the caps; NoModel if none is set."""
    found = config.wanted(workspace)
    for rung in found.rungs:
        yield _tried(workspace, rung, found.caps, say)


def _tried(workspace: Workspace, rung: ModelChoice, caps: Caps, say: Telling | None) -> Trial:
    try:
        reply = models.ask(workspace, models.hello(), ladder=Ladder((rung,), caps), tell=say)
    except (ModelFailed, OverBudget) as fault:
        return Trial(rung.name, why=fault.message)
    return Trial(rung.name, reply)
