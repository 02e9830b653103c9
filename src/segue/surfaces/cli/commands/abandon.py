"""`segue abandon`: give up the goal of a session."""

from __future__ import annotations

from ...render import one_line
from ..apply import AS_BEFORE
from ..command import argument, command
from ..context import CommandContext, text_or_stdin


@command(
    "abandon",
    argument("--reason", "TEXT", "why", default=""),
    session="id", json="Saved",
    shape="Saved",
    examples=("segue abandon", 'segue abandon --reason "the customer left"'),
)  # fmt: skip
def abandon(context: CommandContext) -> int:
    """End the session without its goal."""
    session = context.session()
    saved = session.abandon(text_or_stdin(context.args.reason))
    goal = one_line(session.state.goal)
    return context.saved(saved, f"abandoned: {goal}" if saved.events else AS_BEFORE)
