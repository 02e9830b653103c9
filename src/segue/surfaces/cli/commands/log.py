"""`segue log`: the journal as a timeline."""

from __future__ import annotations

from typing import Any

from ....core.event_words import event_object
from ....errors import UsageError
from ..command import argument, command
from ..context import CommandContext
from ..views.timeline import timeline


@command(
    "log",
    argument("--limit", "N", "only the newest N events; by default all", type=int, default=0),
    argument("--after", "VERSION", "only events after this version", type=int, default=0),
    session="id", json="an array of Events",
    examples=("segue log", "segue log --limit 20", "segue log --after 120 --json"),
)  # fmt: skip
def log(context: CommandContext) -> int:
    """Show the events of a session, the newest last."""
    if context.args.limit < 0 or context.args.after < 0:
        raise UsageError(
            "--limit and --after cannot be negative", hint="--limit 20 shows the newest 20, 0 shows all"
        )
    session = context.session()
    after = context.args.after
    if context.args.limit:
        after = max(after, session.state.version - context.args.limit)
    return show_events(context, session.log(after=after))


def show_events(context: CommandContext, events: list[Any]) -> int:
    """Events of a session as a timeline, or as objects."""
    if context.json:
        return context.report([event_object(event) for event in events])
    return context.report(None, *timeline(events, context.style))
