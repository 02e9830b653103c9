"""`segue checkpoints`: the named checkpoints of a session."""

from __future__ import annotations

from ...render import ago
from ..command import command
from ..context import CommandContext


@command(
    "checkpoints", session="id", json="an array of `{name, version, at, note}`",
    shape="list[NamedCheckpoint]",
    examples=("segue checkpoints", "segue checkpoints -s 2026-11-15-coding-shop-001 --json"),
)  # fmt: skip
def checkpoints(context: CommandContext) -> int:
    """The named checkpoints of a session."""
    marks = context.session().state.marks
    found = sorted(marks.items(), key=lambda pair: pair[1].version)
    objects = [{"name": n, "version": m.version, "at": m.at, "note": m.note} for n, m in found]
    rows = ((name, str(mark.version), ago(mark.at), mark.note) for name, mark in found)
    empty = "no named checkpoints; `segue checkpoint --name NAME` makes one"
    return context.listed(objects, ("name", "version", "made", "note"), rows, empty)
