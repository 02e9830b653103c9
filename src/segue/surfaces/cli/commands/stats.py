"""`segue stats`: how well it does."""

from __future__ import annotations

from ..command import argument, command, flag
from ..context import CommandContext
from ..views.stats import month_report, stats_lines


@command(
    "stats",
    argument("--month", "MONTH", "for this month (UTC), as in 2026-11"),
    argument("--days", "N", "for the last N days; 0: all; by default 90", type=int, default=90),
    flag("--all", "for all projects"),
    flag("--report", "print a report in Markdown, to keep or send"),
    json="`{since, until, total, months}`; a row is `{name, restarts, survived, brief_score, …}`",
    shape="StatsReport",
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
