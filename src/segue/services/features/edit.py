"""Changing a feature by what is added to it and what is dropped from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from ...core.base.text import one_line
from ...core.base.values import Value
from ...core.features.checks import Check
from ...errors import UsageError
from ..sessions.repository import Saved
from .features import Features

_Row = TypeVar("_Row")


class FeatureEdit(Value):
    """What to change; None leaves a text as it is. What to drop is named by its text, or as `#2`."""

    description: str | None = None
    category: str | None = None
    steps: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    covers: tuple[str, ...] = ()
    drop_steps: tuple[str, ...] = ()
    drop_checks: tuple[str, ...] = ()
    drop_covers: tuple[str, ...] = ()
    reason: str = ""


def edit(features: Features, id: str, change: FeatureEdit) -> Saved:
    """Change a feature; whatever proved it before no longer does."""
    old = features.feature(id)
    checks = _without([(check.text, check) for check in old.checks], change.drop_checks, "check")
    steps = _without([(step, step) for step in old.steps], change.drop_steps, "step")
    covers = _without([(one, one) for one in old.covers], change.drop_covers, "covered path")
    return features.change(
        id, description=change.description, category=change.category, steps=[*steps, *change.steps],
        checks=[*checks, *change.checks], covers=[*covers, *change.covers], reason=change.reason,
    )  # fmt: skip


def _without(rows: Sequence[tuple[str, _Row]], drops: Sequence[str], what: str) -> list[_Row]:
    numbers = {f"#{place}": text for place, (text, _) in enumerate(rows, 1)}
    gone = {numbers.get(one, one) for one in drops}
    for one in gone - {text for text, _ in rows}:
        raise UsageError(f"there is no {what} {one_line(one)}", hint="see `segue feature show`")
    return [value for text, value in rows if text not in gone]
