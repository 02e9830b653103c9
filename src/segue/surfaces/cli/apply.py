"""Applying commands to a session, and reporting what changed and how far the work is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.sessions import commands as do
from ...core.sessions.near_miss import NearMiss, names_rows, near_misses
from ...core.sessions.state import SessionState
from ...errors import StoreUnavailable
from ..render import count, one_line, shown
from .context import CommandContext

if TYPE_CHECKING:
    from ...api.session import Session

AS_BEFORE = "nothing changed"


def apply_commands(context: CommandContext, commands: list[do.Command]) -> int:
    """Make commands durable, all or none, and say what changed."""
    session = context.session()
    before = None if context.json else _state_before(session, commands)
    saved = session.apply(*commands)
    if getattr(saved, "pending", False):
        from ...core.sessions.offline import in_words

        return context.pending(saved, one_line(in_words(commands)))
    if context.json:
        return context.saved(saved)
    from ...core.event_words import event_words

    own = session.log(after=saved.version - saved.events)
    lines = [shown(event_words(event)) for event in own if event.version <= saved.version]
    lines += [_remark(one) for one in near_misses(before, commands)] if before is not None else []
    return context.saved(saved, *(lines or [AS_BEFORE]), *tally_lines(context, session))


def _state_before(session: Session, commands: list[do.Command]) -> SessionState | None:
    """The state before commands that name items or questions; None where the store cannot be asked."""
    if not any(map(names_rows, commands)):
        return None
    try:
        return session.state
    except StoreUnavailable:
        return None


def _remark(miss: NearMiss) -> str:
    """A remark about a text that matched no item or question, and how to undo what was made of it."""
    new = "this question was not asked before" if miss.question else "this is a new item"
    if miss.number:
        meant = f"#{miss.number} ({one_line(miss.meant)})"
        return f"  {new}; if you meant {meant}, run `segue undo`"
    if miss.question:
        return f"  {new}; it was recorded with its answer"
    return (
        f"  {new}: the plan had {count(miss.rows, 'item')} and no #{miss.text[:20]}; `segue undo` removes it"
    )


def tally_lines(context: CommandContext, session: Session) -> list[str]:
    """How far the work is, in at most one line; none for JSON output."""
    if context.json:
        return []
    from .views.session import tally

    line = tally(session.status(), context.style)
    return [line] if line else []
