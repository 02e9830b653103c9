"""`segue checkpoints`: the named checkpoints of a session."""

from __future__ import annotations

from ..command import command
from ..context import CommandContext


@command(
    "checkpoints", session="id", json="an array of `{name, version, at, note}`",
    examples=("segue checkpoints", "segue checkpoints -s 2026-11-15-coding-shop-001 --json"),
)  # fmt: skip
def checkpoints(context: CommandContext) -> int:
    """The named checkpoints of a session."""
    from ...render import ago, table

    marks = context.session().state.marks
    found = sorted(marks.items(), key=lambda pair: pair[1].version)
    context.emit([{"name": n, "version": m.version, "at": m.at, "note": m.note} for n, m in found])
    if not found:
        context.say("no named checkpoints; `segue checkpoint --name NAME` makes one")
    elif not context.json:
        rows = [(name, str(mark.version), ago(mark.at), mark.note) for name, mark in found]
        context.say(*table(("name", "version", "made", "note"), rows, context.style))
    return 0
