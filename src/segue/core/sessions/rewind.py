"""Rewinding: the difference between two states of a session, as a patch.

The event of a rewind contains everything that must change, so that folding it needs no older events. Of a
list of rows the patch keeps those before the first difference; every other field is replaced as a whole.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..base.persistent_list import Rows
from ..base.persistent_places import Places
from ..journal.event import Erased
from ..ledger.events import LEDGER_KINDS
from . import events as ev
from .feature_fold import HANDLERS
from .snapshot import wire_types
from .state import LIFE_FIELDS, SET_FIELDS, WORK_FIELDS, SessionState

STAYS: frozenset[str] = frozenset(
    {body.KIND for body in HANDLERS} | {Erased.KIND, ev.Counted.KIND, ev.BudgetSpent.KIND} | LEDGER_KINDS
)
"""Kinds of events that no undo or rewind reverts: scrubs, everything about features and about the ledger, and
spending."""


def difference(now: SessionState, then: SessionState, *, lifecycle: bool) -> dict[str, Any]:
    """The patch that turns ``now`` into ``then``: the work and, with ``lifecycle``, also what an undo
    reverts."""
    patch: dict[str, Any] = {}
    for name in WORK_FIELDS + (LIFE_FIELDS + SET_FIELDS if lifecycle else ()):
        old, new = getattr(now, name), getattr(then, name)
        if old == new:
            continue
        if isinstance(new, Rows):
            keep = _common_length(old, new)
            patch[name] = {"keep": keep, "rows": msgspec.to_builtins(list(new[keep:]))}
        else:
            patch[name] = msgspec.to_builtins(new.flat() if isinstance(new, Places) else new)
    return patch


def _common_length(a: Rows[Any], b: Rows[Any]) -> int:
    length = 0
    for x, y in zip(a, b, strict=False):
        if x is not y and x != y:
            break
        length += 1
    return length


def apply(state: SessionState, patch: dict[str, Any]) -> dict[str, Any]:
    """The fields that a patch changes, with their new values. A malformed part of a patch is ignored."""
    changes: dict[str, Any] = {}
    for name in WORK_FIELDS + LIFE_FIELDS + SET_FIELDS:
        if name not in patch:
            continue
        wire = wire_types()[name]
        try:
            if isinstance(getattr(state, name), Rows):
                rows = msgspec.convert(patch[name]["rows"], wire)
                changes[name] = Rows([*getattr(state, name)[: patch[name]["keep"]], *rows])
            else:
                changes[name] = msgspec.convert(patch[name], wire)
        except (msgspec.ValidationError, KeyError, TypeError):
            continue
    _keep_in_range(changes, len(changes.get("items", state.items)))
    return changes


def _keep_in_range(changes: dict[str, Any], count: int) -> None:
    for name in ("next", "active", "blocked"):
        if name in changes:
            changes[name] = Places(i for i in changes[name] if 0 <= i < count)
    if "done" in changes:
        changes["done"] = Rows(i for i in changes["done"] if 0 <= i < count)
