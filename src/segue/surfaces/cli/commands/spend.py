"""`segue spend`: what models cost, and what is left."""

from __future__ import annotations

from ....services.models.ledger import Share
from ...render import one_line, table
from ..command import argument, command
from ..context import CommandContext
from ..views.models import dollars


@command(
    "spend",
    argument("--days", "N", "the last N days; by default 30", type=int, default=30),
    session="flag", json="`{days, sessions, purposes, models, caps, today, left_today, …}`",
    shape="SpendingReport",
    examples=("segue spend", "segue spend --days 7 --json"),
)  # fmt: skip
def spend(context: CommandContext) -> int:
    """Show what was spent, in tables by day, session, purpose and model."""
    segue = context.look()
    session = context.session_id() or segue.workspace.working_tree.tree().current
    found = segue.spend(session=session, days=context.args.days)
    if context.json:
        return context.report(found)
    for head, shares in (("day", found.days), ("session", found.sessions), ("purpose", found.purposes),
                         ("model", found.models)):  # fmt: skip
        if shares:
            context.say(*table((head, "calls", "cost", "tokens", "time"), _cells(shares), context.style), "")
    if not found.days:
        context.say("nothing was spent: no model has been asked")
    left, cap = dollars(found.left_today), dollars(found.caps.day)
    context.say(f"today: {dollars(found.today)}; {left} of {cap} left")
    if session:
        left, cap = dollars(found.left_session), dollars(found.caps.session)
        context.say(f"session {one_line(session)}: {left} of {cap} left")
    return 0


def _cells(shares: tuple[Share, ...]) -> list[tuple[str, ...]]:
    return [
        (one_line(one.name), f"{one.calls}", dollars(one.cost), f"{one.input:,} in, {one.output:,} out",
         f"{one.seconds:.1f} s")
        for one in shares
    ]  # fmt: skip
