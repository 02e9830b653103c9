"""`segue backup`: make a backup of the store now, or list them."""

from __future__ import annotations

from ...render import bytes_words, count, one_line
from ..command import command, optional
from ..context import CommandContext


@command(
    "backup",
    optional("action", None, "by default now", choices=("now", "list"), default="now"),
    json="a Backup `{path, at, events, bytes}`; list: an array",
    shape={"now": "Backup", "list": "list[Backup]"},
    examples=("segue backup", "segue backup list"),
)  # fmt: skip
def backup(context: CommandContext) -> int:
    """Make a backup now, or list the backups."""
    backups = context.segue.workspace.backups
    if context.args.action == "list":
        found = backups.list()
        rows = ((str(b.path), b.at, f"{b.events:,}", bytes_words(b.bytes)) for b in found)
        empty = "no backups yet; `segue backup` makes one"
        return context.listed(found, ("file", "made", "events", "size"), rows, empty, stretch=0)
    context.segue.workspace.pause_file.check()
    made = backups.make()
    return context.report(
        made,
        f"backed up {count(made.events, 'event')} to {one_line(str(made.path))} ({bytes_words(made.bytes)})",
    )
