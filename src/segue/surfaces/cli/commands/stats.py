"""`segue stats`: how well it does."""

from __future__ import annotations

from ..command import argument, command, flag
from ..context import CommandContext
from ..views.stats import month_report, stats_lines


@command(
    "stats",
    argument("--month", "MONTH", "the figures of a month (UTC), as in 2026-11"),
    argument("--days", "N", "of the last so many days; 0: of all; by default 90", type=int, default=90),
    flag("--all", "of all projects"),
    flag("--report", "a report in Markdown, to keep or to send"),
    json="`{since, until, total, months}`; a row is `{name, restarts, survived, brief_score, …}`",
    examples=("segue stats", "segue stats --month 2026-11 --report", "segue stats --days 0 --json"),
)  # fmt: skip
def stats(context: CommandContext) -> int:
    """How well recovery, briefs, handovers, memories and habits do here."""
    args = context.args
    found = context.looked(
        lambda segue: segue.stats(month=args.month or "", days=args.days, everywhere=args.all),
        "the agents' files",
    )
    lines = month_report(found) if args.report else stats_lines(found, context.style)
    return context.report(found, *lines)
