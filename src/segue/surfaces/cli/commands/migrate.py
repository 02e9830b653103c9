"""`segue migrate`: copy a store into another."""

from __future__ import annotations

from typing import Any

from ....services.upkeep.migrate import migrate as run
from ....services.workspace.data_folder import DataFolder
from ....settings import data_folder, resolve, user_file
from ...render import count, one_line
from ..command import argument, command, flag
from ..context import CommandContext
from ..progress import ProgressBar

CONFLICT = 66


@command(
    "migrate",
    argument("--from", "URL", "the store to copy; by default the one in use", dest="source"),
    argument("--to", "URL", "the store to copy to", dest="target", required=True),
    flag("--dry-run", "show what would be copied, and change nothing"),
    json="`{source, target, sessions, events, events_there, pieces, runs, memories, verified, conflicts, "
    "kept, behind}`",
    shape="Migrated",
    examples=(
        "segue migrate --to postgresql://segue@db.example/segue",
        "segue migrate --from postgresql://segue@db.example/segue --to sqlite:///tmp/copy.db",
    ),
)  # fmt: skip
def migrate(context: CommandContext) -> int:
    """Copy a store into another; exit 66 if a session was skipped or somebody wrote in the meantime."""
    args, variables = context.args, context.environment
    settings = resolve(environment=variables, user_config=user_file(variables))
    source = args.source if args.source is not None else settings.text("store")
    home = DataFolder(data_folder(variables))
    if not args.dry_run:
        context.check_paused()
    with ProgressBar(context) as progress:
        found = run(source, args.target, home, settings, dry_run=args.dry_run, progress=progress)
    code = CONFLICT if found.conflicts or found.behind else 0
    return context.report(found, *_lines(found, args.dry_run), code=code)


def _lines(found: Any, dry_run: bool) -> list[str]:
    verb = "would copy" if dry_run else "copied"
    what = ", ".join(
        (count(found.events, "event"), count(found.pieces, "piece"), count(found.runs, "run"),
         f"{found.memories:,} memor{'y' if found.memories == 1 else 'ies'}")
    )  # fmt: skip
    lines = [f"{verb} {what}", f"  from {one_line(found.source)}", f"  to   {one_line(found.target)}"]
    if found.events_there:
        lines.append(f"{count(found.events_there, 'event')} were already there")
    if not dry_run:
        total = count(found.sessions, "session")
        lines.append(f"{found.verified} of {total} verified: rebuilt there, they are the same")
    lines += [f"skipped, the target has a different one: session {one_line(id)}" for id in found.conflicts]
    lines += [f"skipped, the target has its own: {one_line(name)}" for name in found.kept]
    lines += [f"changed in the meantime: session {one_line(id)}" for id in found.behind]
    if found.behind:
        lines.append("run it again to copy what is new")
    return lines
