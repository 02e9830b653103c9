"""Choosing which models are asked, removing some, and testing them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from ...core.base.values import Value
from ...core.models.spending import Caps
from ...errors import ModelFailed, OverBudget
from ..workspace.workspace import Workspace
from . import ask as models, config
from .ask import Announce, ModelReply
from .config import ModelChoice, ModelConfig
from .triggers import TRIGGERS


class Trial(Value):
    """The result of testing a model."""

    name: str
    reply: ModelReply | None = None
    """Its answer and what that cost; None if it did not answer."""
    why: str = ""


def choose(
    workspace: Workspace, chosen: Sequence[ModelChoice], *, add: bool = False, call: float | None = None,
    session: float | None = None, day: float | None = None, triggers: Sequence[str] = tuple(TRIGGERS),
) -> ModelConfig:  # fmt: skip
    """Ask these models from now on, with ``add`` in addition to those that are set; caps that are not given
    stay. They are asked without a command at each of ``triggers``."""
    before = config.load(workspace)
    given = {"call": call, "session": session, "day": day}
    caps = replace(before.caps, **{name: cap for name, cap in given.items() if cap is not None})
    made = config.model_config([*(before.models if add else ()), *chosen], caps, triggers)
    config.save(workspace, made)
    return made


def take_out(workspace: Workspace, names: Collection[str]) -> ModelConfig:
    """Stop asking these models or, without names, any model."""
    before = config.load(workspace)
    left = [choice for choice in before.models if names and choice.name not in names]
    made = config.model_config(left, before.caps, before.triggers)
    config.save(workspace, made)
    return made


def try_each(workspace: Workspace, *, say: Announce | None = None) -> Iterator[Trial]:
    """Test one model after the other, within the caps. Raises NoModel if none is set."""
    found = config.load_required(workspace)
    for choice in found.models:
        yield _tried(workspace, choice, found.caps, say)


def _tried(workspace: Workspace, choice: ModelChoice, caps: Caps, say: Announce | None) -> Trial:
    try:
        reply = models.ask(workspace, models.hello(), config=ModelConfig((choice,), caps), say=say)
    except (ModelFailed, OverBudget) as fault:
        return Trial(choice.name, why=fault.message)
    return Trial(choice.name, reply)
