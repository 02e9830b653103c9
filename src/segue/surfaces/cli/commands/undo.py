"""`segue undo` and `segue rewind`: take the last command back, or go back to a named checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...render import one_line, shown
from ..apply import AS_BEFORE, tally_lines
from ..command import CliCommand
from ..context import CommandContext

if TYPE_CHECKING:
    from ..parser import Parser


def rewind(context: CommandContext) -> int:
    """Back to a named checkpoint."""
    session = context.session()
    saved = session.rewind(context.args.name)
    name = one_line(context.args.name)
    line = f"back at checkpoint {name}; what came after stays in `segue log`" if saved.events else AS_BEFORE
    return context.saved(saved, line, *tally_lines(context, session))


def undo(context: CommandContext) -> int:
    """Take the last command back."""
    session = context.session()
    saved = session.undo()
    from ....services.handoff.undo import undone_of

    told = undone_of(session, saved)
    lines = [f"taken back: {shown(text)}" for text in told["undone"]]
    lines += [f"stays: {shown(text)}" for text in told["stays"]]
    return context.saved(saved, *lines, *tally_lines(context, session), **told)


def _rewind_arguments(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the checkpoint's name")


COMMANDS = (
    CliCommand(
        "rewind", rewind, _rewind_arguments, session="flag", json="Saved",
        examples=("segue rewind before-refactor", "segue rewind before-refactor --json"),
    ),
    CliCommand(
        "undo", undo, session="flag",
        json="Saved with `undone` and `stays`: what was taken back and what was not",
        examples=("segue undo", "segue undo -s leak-hunt --json"),
    ),
)  # fmt: skip
