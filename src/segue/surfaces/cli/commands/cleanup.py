"""`segue cleanup`: archive sessions that ended long ago, list archives, bring one back."""

from __future__ import annotations

from typing import Any

from ....services.upkeep.archive_sessions import Cleanup
from ...render import ago, bytes_words, one_line
from ..command import argument, command, flag
from ..context import CommandContext
from ..progress import ProgressBar


@command(
    "cleanup",
    flag("--dry-run", "show what would be archived, and change nothing"),
    argument(
        "--days", "N", "sessions that ended over N days ago; by default the setting cleanup_days", type=int,
    ),
    flag("--list", "list what is archived"),
    argument("--restore", "ID", "bring back an archived session"),
    json="an array of Archived; with `--dry-run` of Cards; with `--restore` `{session, status, version}`",
    shape={
        "": "list[Archived]", "--list": "list[Archived]", "--dry-run": "list[Card]",
        "--restore": "RestoredSession",
    },
    examples=("segue cleanup --dry-run", "segue cleanup --days 90", "segue cleanup --restore leak-hunt"),
)  # fmt: skip
def cleanup(context: CommandContext) -> int:
    """Archive what ended long ago, list archives, or bring one back."""
    args, service = context.args, Cleanup(context.segue.workspace)
    if args.restore:
        session = service.restore(args.restore)
        return context.report(
            {"session": session.id, "status": session.state.status, "version": session.state.version},
            f"restored: {session.id}",
        )
    if args.list:
        return _archived(context, service.list(), "no sessions are archived")
    if args.dry_run:
        cards = service.candidates(args.days)
        lines = [f"would archive {one_line(c.id)}: {one_line(c.goal)} ({ago(c.ended)})" for c in cards]
        return context.report(cards, *(lines or ["nothing to archive"]))
    with ProgressBar(context) as progress:
        done = service.run(args.days, progress)
    return _archived(context, done, "nothing to archive")


def _archived(context: CommandContext, found: list[Any], empty: str) -> int:
    rows = (
        (a.id, f"{a.events:,}", bytes_words(a.bytes), ago(a.archived_at), a.damage or a.goal) for a in found
    )
    context.listed(found, ("archived", "events", "size", "when", "goal"), rows, empty)
    context.say(*(["", "`segue cleanup --restore ID` brings one back"] if found else []))
    return 0
