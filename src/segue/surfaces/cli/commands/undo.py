"""`segue undo` and `segue rewind`: undo the last command, or go back to a named checkpoint."""

from __future__ import annotations

from ...render import one_line, shown
from ..apply import AS_BEFORE, tally_lines
from ..command import argument, command
from ..context import CommandContext


@command(
    "rewind",
    argument("name", "NAME", "the checkpoint's name"),
    session="flag", json="Saved",
    shape="Saved",
    examples=("segue rewind before-refactor", "segue rewind before-refactor --json"),
)  # fmt: skip
def rewind(context: CommandContext) -> int:
    """Go back to a named checkpoint."""
    session = context.session()
    saved = session.rewind(context.args.name)
    name = one_line(context.args.name)
    line = (
        f"back at checkpoint {name}; what came after it stays in `segue log`" if saved.events else AS_BEFORE
    )
    return context.saved(saved, line, *tally_lines(context, session))


@command(
    "undo", session="flag", json="Saved with `undone` and `stays`: what was undone and what was not",
    shape="UndoneCommand",
    examples=("segue undo", "segue undo -s leak-hunt --json"),
)  # fmt: skip
def undo(context: CommandContext) -> int:
    """Undo the last command, and say what was undone and what was not."""
    session = context.session()
    saved = session.undo()
    from ....services.handoff.undo import undone_of

    result = undone_of(session, saved)
    lines = [f"undone: {shown(text)}" for text in result["undone"]]
    lines += [f"not undone: {shown(text)}" for text in result["stays"]]
    return context.saved(saved, *lines, *tally_lines(context, session), **result)
