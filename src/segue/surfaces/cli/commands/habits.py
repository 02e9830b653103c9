"""`segue habits`: what runs and commits of this project do again and again."""

from __future__ import annotations

from ..command import Argument, argument, command
from ..context import CommandContext
from ..views.habits import habit_lines


@command(
    "habits",
    argument("--off", "ID", "switch a habit off, or `all` of them"),
    argument("--on", "ID", "switch a habit on again, or `all` of them"),
    argument("--accept", "ID", "make an offered rule a standing rule of this project"),
    Argument(["--correct"], {"nargs": 2, "metavar": ("ID", "TEXT"), "help": "what it should be instead"}),
    json="`{on, runs, commits, habits, checks, next_commands, next_files}`; a habit is "
    "`{id, kind, text, held, of, share, state, …}`",
    examples=(
        "segue habits", "segue habits --off h3f9a1c2", "segue habits --accept h77a0b1c",
        'segue habits --correct h3f9a1c2 "pnpm test"',
    ),
)  # fmt: skip
def habits(context: CommandContext) -> int:
    """Show the habits of this project, correct them, or switch them off."""
    args = context.args
    if args.off or args.on or args.accept or args.correct:
        id, text = args.correct or ("", "")
        found = context.segue.change_habits(
            off=args.off or "", on=args.on or "", accept=args.accept or "", correct=(id, text)
        )
    else:
        found = context.looked(lambda segue: segue.habits(), "the agents' files")
    return context.report(found, *habit_lines(found, context.style))
