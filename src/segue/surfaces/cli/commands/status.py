"""`segue status`: what is done, under way, next and blocked."""

from __future__ import annotations

from ...render import ago, count, one_line, status_object
from ..command import command
from ..context import CommandContext


@command(
    "status", session="id",
    json="a SessionStatus; with `notices` if a handover was interrupted, or a change waits to be merged",
    examples=("segue status", "segue status 2026-11-15-coding-shop-001", "segue status --json"),
)  # fmt: skip
def status(context: CommandContext) -> int:
    """What is done, under way, next and blocked."""
    from ....services.brief.notices import notice_of_handover
    from ....services.resume.emergency import notices
    from ....services.runs.sessions_shown import known_status

    found = known_status(context.session())
    workspace = context.segue.workspace
    handover = notice_of_handover(workspace)
    said = [*([handover] if handover else []), *notices(workspace.home, found.status.id)]
    if found.as_of:
        waits = f", with {count(found.pending, 'pending change')}" if found.pending else ""
        context.warn(f"the server cannot be reached; it was last seen {ago(found.as_of)}{waits}")
    if context.json:
        return context.report(status_object(found) | ({"notices": said} if said else {}))
    from ..views.session import status_lines

    lines = status_lines(found.status, context.style, found.state)
    if said:
        lines += ["", *(context.style.paint(one_line(notice), "yellow") for notice in said)]
    return context.report(None, *lines)
