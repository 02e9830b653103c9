"""`segue status`: what is done, under way, next and blocked."""

from __future__ import annotations

from ...render import ago, count, status_object
from ..command import command
from ..context import CommandContext


@command(
    "status", session="id", json="a SessionStatus",
    examples=("segue status", "segue status 2026-11-15-coding-shop-001", "segue status --json"),
)  # fmt: skip
def status(context: CommandContext) -> int:
    """What is done, under way, next and blocked."""
    from ....services.runs.sessions_shown import known_status

    found = known_status(context.session())
    if found.as_of:
        waits = f", with {count(found.pending, 'pending change')}" if found.pending else ""
        context.warn(f"the server cannot be reached; it was last seen {ago(found.as_of)}{waits}")
    if context.json:
        return context.report(status_object(found))
    from ..views.session import status_lines

    return context.report(None, *status_lines(found.status, context.style, found.state))
