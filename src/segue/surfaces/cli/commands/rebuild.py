"""`segue rebuild`: rebuild snapshots from the journal, or check that they are right."""

from __future__ import annotations

from ....services.upkeep.rebuild import rebuild as run
from ...render import count, one_line
from ..command import command, flag
from ..context import CommandContext
from ..progress import ProgressBar

DIFFERENT = 70


@command(
    "rebuild",
    flag("--check", "change nothing; exit 70 if something is different"),
    json="`{sessions, same, different, missing, runs, runs_different}`",
    shape="Rebuilt",
    examples=("segue rebuild --check", "segue rebuild"),
)  # fmt: skip
def rebuild(context: CommandContext) -> int:
    """Rebuild snapshots, or check that they are right."""
    check = context.args.check
    with ProgressBar(context) as progress:
        found = run(context.segue.workspace, check=check, progress=progress)
    verb = "checked" if check else "rebuilt"
    lines = [
        f"{verb} {count(found.sessions, 'session')}: {found.same} the same, "
        f"{len(found.different)} different, {found.missing} without a snapshot",
        *(f"  different: {one_line(id)}" for id in found.different),
    ]
    if found.runs:
        other = len(found.runs_different)
        lines.append(f"{verb} {count(found.runs, 'run')}: {found.runs - other} the same, {other} different")
    lines += [f"  different: {one_line(id)}" for id in found.runs_different]
    if not check or not (found.different or found.runs_different):
        return context.report(found, *lines)
    last = "the journal and the transcripts are right: `segue rebuild` makes the rest from them"
    return context.report(found, *lines, last, code=DIFFERENT)
