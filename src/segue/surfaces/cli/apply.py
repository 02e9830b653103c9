"""Applying commands to a session, and reporting what changed and how far the work is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.sessions import commands as do
from ...core.sessions.near_miss import NearMiss, closest
from ...core.sessions.state import SessionState
from ...errors import StoreUnavailable
from ..render import one_line, shown
from .context import CommandContext

if TYPE_CHECKING:
    from ...api.session import Session

AS_BEFORE = "nothing changed"


def apply_commands(context: CommandContext, commands: list[do.Command], errors: Sequence[str] = ()) -> int:
    """Make commands durable, all or none, and say what changed; and what mended such ``errors`` before."""
    session = context.session()
    before = None if context.json else _state_before(session, commands)
    saved = session.apply(*commands)
    if getattr(saved, "pending", False):
        from ...core.sessions.offline import in_words

        return context.pending(saved, one_line(in_words(commands)))
    pitfalls = list(context.segue.pitfalls(errors)) if errors else []
    if context.json:
        return context.saved(saved, **({"pitfalls": pitfalls} if pitfalls else {}))
    from ...core.event_words import event_words

    own = session.log(after=saved.version - saved.events)
    lines = [shown(event_words(event)) for event in own if event.version <= saved.version]
    lines += [_remark(one) for one in _near_misses(before, commands)] if before is not None else []
    lines += [f"  {one_line(name)!r} was not in the plan: it is a new item" for name in saved.new]
    lines += [f"  pitfall: {one_line(one.line)}" for one in pitfalls]
    if saved.replaced_goal:
        lines.append(f"  the goal was: {one_line(saved.replaced_goal)}")
    return context.saved(saved, *(lines or [AS_BEFORE]), *tally_lines(context, session))


def _state_before(session: Session, commands: list[do.Command]) -> SessionState | None:
    """The state before commands that may be followed by a remark; None where the store cannot be asked."""
    if not any(isinstance(command, do.Add | do.Answer) for command in commands):
        return None
    try:
        return session.state
    except StoreUnavailable:
        return None


def _near_misses(before: SessionState, commands: list[do.Command]) -> list[NearMiss]:
    """Added items and answered questions that did not exist before, if they are worth a remark."""
    found = [closest(one.item, before.items.flat()) for one in commands if isinstance(one, do.Add)]
    asked = before.questions.flat()
    found += [closest(one.question, asked, question=True) for one in commands if isinstance(one, do.Answer)]
    return [miss for miss in found if miss is not None]


def _remark(miss: NearMiss) -> str:
    """A remark about a text that matched no item or question, and how to undo what was made of it."""
    new = "this question was not asked before" if miss.question else "this is a new item"
    if miss.number:
        meant = f"#{miss.number} ({one_line(miss.meant)})"
        return f"  {new}; if you meant {meant}, run `segue undo`"
    return f"  {new}; it was recorded with its answer"


def tally_lines(context: CommandContext, session: Session) -> list[str]:
    """How far the work is, in at most one line; none for JSON output."""
    if context.json:
        return []
    from .views.session import tally

    line = tally(session.status(), context.style)
    return [line] if line else []
