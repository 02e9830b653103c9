"""`segue usage`: what agents used, as a table with small bars."""

from __future__ import annotations

from ....services.usage.report import SINCE_DEFAULT, WAYS
from ...render import bytes_words
from ..command import argument, command, flag
from ..context import CommandContext
from ..progress import ProgressBar
from ..views.usage import usage_lines


@command(
    "usage",
    argument("--by", None, "what each row is about; by default a day", choices=WAYS, default="day"),
    argument(
        "--since", "DAY", "from this day on (UTC): 2026-11-01, 7d or all; by default 30d",
        default=SINCE_DEFAULT,
    ),
    argument("--until", "DAY", "up to this day"),
    argument("--agent", "NAME", "only runs of this agent"),
    flag("--all", "runs of all projects"),
    json="`{by, since, until, rows, total, today, week, unpriced, prices_as_of, not_read, last}`",
    shape="UsageReport",
    examples=(
        "segue usage", "segue usage --by model --since 7d", "segue usage --all --by project",
        "segue usage --by run --agent codex --json",
    ),
)  # fmt: skip
def usage(context: CommandContext) -> int:
    """What agents used in this project, or in all."""
    args = context.args
    with ProgressBar(context, bytes_words) as progress:
        found = context.looked(
            lambda segue: segue.usage(
                by=args.by, since=args.since, until=args.until or "", agent=args.agent or "",
                everywhere=args.all, progress=progress,
            ),
            "the agents' files",
        )  # fmt: skip
    return context.report(found, *usage_lines(found, context.style, everywhere=args.all))
