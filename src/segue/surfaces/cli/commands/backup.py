"""`segue backup`: make a backup of the store now, or list them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...render import bytes_words, count, one_line, table
from ..command import CliCommand
from ..context import CommandContext

if TYPE_CHECKING:
    from ..parser import Parser


def backup(context: CommandContext) -> int:
    """Make a backup now, or list the backups."""
    backups = context.segue.workspace.backups
    if context.args.action == "list":
        found = backups.list()
        context.emit(found)
        if not found:
            context.say("no backups yet; `segue backup` makes one")
        elif not context.json:
            rows = [(str(b.path), b.at, f"{b.events:,}", bytes_words(b.size)) for b in found]
            context.say(*table(("file", "made", "events", "size"), rows, context.style, stretch=0))
        return 0
    context.segue.workspace.pause_file.check()
    made = backups.make()
    context.say(
        f"backed up {count(made.events, 'event')} to {one_line(str(made.path))} ({bytes_words(made.size)})"
    )
    context.emit(made)
    return 0


def _arguments(parser: Parser) -> None:
    parser.add_argument("action", nargs="?", choices=("now", "list"), default="now", help="by default now")


COMMANDS = (
    CliCommand(
        "backup", backup, _arguments, json="a Backup `{path, at, events, size}`; list: an array",
        examples=("segue backup", "segue backup list"),
    ),
)  # fmt: skip
