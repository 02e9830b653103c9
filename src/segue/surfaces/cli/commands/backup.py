"""Keep the store in order: backup, cleanup, rebuild."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...render import ago, bytes_words, count, one_line, table
from ..command import CliCommand
from ..context import CommandContext
from ..progress import ProgressBar

if TYPE_CHECKING:
    from ..parser import Parser

DIFFERENT = 70


def backup(context: CommandContext) -> int:
    """Make one now, or list them."""
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


def cleanup(context: CommandContext) -> int:
    """Archive what ended long ago, list archives, or bring one back."""
    from ....services.upkeep.archive_sessions import Cleanup

    args, service = context.args, Cleanup(context.segue.workspace)
    if args.restore:
        session = service.restore(args.restore)
        context.say(f"brought back: {session.id}")
        context.emit({"id": session.id, "status": session.state.status, "version": session.state.version})
        return 0
    if args.list:
        return _archived(context, service.list(), "nothing is archived")
    if args.dry_run:
        cards = service.candidates(args.days)
        context.emit(cards)
        context.say(*(f"would archive {one_line(c.id)}: {one_line(c.goal)} ({ago(c.ended)})" for c in cards))
        context.say(*([] if cards else ["nothing to archive"]))
        return 0
    with ProgressBar(context) as progress:
        done = service.run(args.days, progress)
    return _archived(context, done, "nothing to archive")


def _archived(context: CommandContext, found: list[Any], empty: str) -> int:
    context.emit(found)
    if not found:
        context.say(empty)
    elif not context.json:
        rows = [
            (a.id, f"{a.events:,}", bytes_words(a.size), ago(a.archived_at), a.damage or a.goal)
            for a in found
        ]
        context.say(*table(("archived", "events", "size", "when", "goal"), rows, context.style))
        context.say("", "`segue cleanup --restore ID` brings one back")
    return 0


def rebuild(context: CommandContext) -> int:
    """Make snapshots anew, or prove that they are right."""
    from ....services.upkeep.rebuild import rebuild as run

    check = context.args.check
    with ProgressBar(context) as progress:
        found = run(context.segue.workspace, check=check, progress=progress)
    context.emit(found)
    verb = "checked" if check else "rebuilt"
    context.say(
        f"{verb} {count(found.sessions, 'session')}: {found.same} the same, "
        f"{len(found.different)} different, {found.missing} without a snapshot"
    )
    context.say(*(f"  different: {one_line(id)}" for id in found.different))
    if found.runs:
        other = len(found.runs_different)
        context.say(f"{verb} {count(found.runs, 'run')}: {found.runs - other} the same, {other} different")
    context.say(*(f"  different: {one_line(id)}" for id in found.runs_different))
    if check and (found.different or found.runs_different):
        context.say("journal and transcripts are the truth: `segue rebuild` makes the rest anew")
        return DIFFERENT
    return 0


def _backup_arguments(parser: Parser) -> None:
    parser.add_argument("action", nargs="?", choices=("now", "list"), default="now", help="now, if not given")


def _cleanup_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--dry-run", action="store_true", help="say what would be archived, and do nothing")
    add("--days", type=int, metavar="N", help="ended over N days ago; else the setting cleanup_days")
    add("--list", action="store_true", help="what is archived")
    add("--restore", metavar="ID", help="bring an archived session back")


def _rebuild_arguments(parser: Parser) -> None:
    parser.add_argument("--check", action="store_true", help="change nothing; exit 70 if one is different")


COMMANDS = (
    CliCommand(
        "backup", backup, _backup_arguments, json="a Backup `{path, at, events, size}`; list: an array",
        examples=("segue backup", "segue backup list"),
    ),
    CliCommand(
        "cleanup", cleanup, _cleanup_arguments,
        json="an array of Archived; with `--dry-run` of Cards; with `--restore` `{id, status, version}`",
        examples=("segue cleanup --dry-run", "segue cleanup --days 90", "segue cleanup --restore leak-hunt"),
    ),
    CliCommand(
        "rebuild", rebuild, _rebuild_arguments,
        json="`{sessions, same, different, missing, runs, runs_different}`",
        examples=("segue rebuild --check", "segue rebuild"),
    ),
)  # fmt: skip
