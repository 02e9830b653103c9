"""`segue scrub`: erase a text from journal, archive and backups."""

from __future__ import annotations

from typing import Any

from ....errors import UsageError
from ....services.upkeep.scrub import scrub as run
from ...render import count, one_line
from ..command import argument, command, flag
from ..context import CommandContext, confirm, stdin_text
from ..progress import ProgressBar


@command(
    "scrub",
    argument("text", "TEXT", "the text; `-` reads it from stdin, which keeps it out of the shell's history"),
    flag("--dry-run", "show where it is, and change nothing"),
    flag("--yes", "do not ask for confirmation"),
    json="`{events, pieces, files, sessions, stays, runs, originals, memories, beyond}`",
    shape="Scrubbed",
    examples=("segue scrub - --dry-run < secret.txt", "segue scrub - --yes < secret.txt"),
)  # fmt: skip
def scrub(context: CommandContext) -> int:
    """Erase a text from journal, archive and backups."""
    args = context.args
    text = stdin_text().rstrip("\r\n") if args.text == "-" else args.text
    if not args.dry_run and not args.yes:
        found = run(context.segue.workspace, text, dry_run=True)
        question = f"Erase it permanently from {_places(found)}?"
        if _found(found) and (context.json or args.text == "-" or not confirm(question)):
            hint = "`--dry-run` shows where it is; its owner has to confirm that it may be erased"
            raise UsageError(f"not erased: it is in {_places(found)}, and this was not confirmed", hint=hint)
    with ProgressBar(context) as progress:
        found = run(context.segue.workspace, text, dry_run=args.dry_run, progress=progress)
    verb = "would erase it from" if args.dry_run else "erased it from"
    lines = [f"{verb} {_places(found)}" if _found(found) else "this text was not found"]
    lines += [f"  session {one_line(id)}" for id in found.sessions]
    lines += [f"  file {one_line(str(name))}" for name in found.files]
    lines += [f"it remains in {one_line(name)}: names cannot be erased" for name in found.stays]
    lines += [f"it remains in {one_line(name)}, which belongs to an agent" for name in found.originals]
    lines += [f"it remains in {one_line(name)}" for name in found.beyond]
    return context.report(found, *lines)


def _found(found: Any) -> bool:
    return bool(found.events or found.pieces or found.files or found.runs or found.memories)


def _places(found: Any) -> str:
    parts = (
        (found.events, "event", ""), (found.pieces, "piece", ""), (found.runs, "run", ""),
        (found.memories, "memory", "memories"), (len(found.files), "file", ""),
    )  # fmt: skip
    return ", ".join(count(number, noun, plural) for number, noun, plural in parts if number)
