"""`segue status`: what is done, under way, next and blocked."""

from __future__ import annotations

from ....errors import StoreUnavailable
from ..command import CliCommand
from ..context import CommandContext


def status(context: CommandContext) -> int:
    """What is done, under way, next and blocked."""
    session = context.session()
    try:
        found = session.status()
    except StoreUnavailable as fault:
        return _last_status(context, session.id, fault)
    if context.json:
        context.emit(found)
        return 0
    from ..views.session import status_lines

    context.say(*status_lines(found, context.style, session.state))
    return 0


def _last_status(context: CommandContext, session: str, fault: StoreUnavailable) -> int:
    """As it was last seen, where the server cannot be reached."""
    last = context.segue.workspace.last_seen(session)
    if last is None:
        raise fault
    from ....core.sessions.status import status_of
    from ...render import ago, plain
    from ..views.session import status_lines

    found = status_of(last.state)
    waits = f"; {last.pending} pending on top" if last.pending else ""
    context.warn(f"the server cannot be reached; as last seen {ago(last.at)}{waits}")
    if context.json:
        context.emit({**plain(found), "as_of": last.at, "pending": last.pending})
        return 0
    context.say(*status_lines(found, context.style, last.state))
    return 0


COMMANDS = (
    CliCommand(
        "status", status, session="id", json="a SessionStatus",
        examples=("segue status", "segue status 2026-11-15-coding-shop-001", "segue status --json"),
    ),
)  # fmt: skip
