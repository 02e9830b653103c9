"""`segue list` and `segue resumable`: sessions as a table."""

from __future__ import annotations

from ....core.sessions.state import OPEN
from ....core.sessions.status import Card
from ...render import ago, one_line, shown
from ..command import argument, command, flag
from ..context import CommandContext


@command(
    "list",
    flag("--all", "sessions of all projects"),
    argument("--status", None, "only sessions with this status", choices=(*OPEN, "completed", "abandoned")),
    argument("--project", "NAME", "only sessions of this project, by its key or its name"),
    argument("--org", "NAME", "only sessions of this organization"),
    flag("--ids", "print ids only, one per line"),
    json="an array of Cards; with `--ids` of ids",
    examples=("segue list", "segue list --all --status paused", "segue list --project shop --json"),
)  # fmt: skip
def listing(context: CommandContext) -> int:
    """The sessions of this project, or of all."""
    args, segue = context.args, context.segue
    cards = segue.list(
        everywhere=args.all, status=args.status or "", project=args.project or "", organization=args.org or ""
    )
    if args.ids:
        return context.report([card.id for card in cards], *(one_line(card.id) for card in cards))
    return _cards(context, cards, 'no sessions here; start one with `segue start "…"`')


@command(
    "resumable",
    flag("--all", "sessions of all projects"),
    json="an array of Cards",
    examples=("segue resumable", "segue resumable --all --json"),
)  # fmt: skip
def resumable(context: CommandContext) -> int:
    """Sessions that were paused or left in the middle."""
    cards = context.segue.resumable(everywhere=context.args.all)
    return _cards(context, cards, "nothing to resume; `segue list` shows all sessions")


def _cards(context: CommandContext, cards: list[Card], empty: str) -> int:
    if context.json or not cards:
        return context.report(cards, empty)
    current = context.segue.workspace.working_tree.tree().current
    rows = (
        (
            "*" if card.id == current else "", card.id, card.status,
            f"{card.done}/{card.total}" if card.total else "-", ago(card.last_active),
            shown(card.goal) + (f" [{shown(card.active)}]" if card.active else ""),
        )
        for card in cards
    )  # fmt: skip
    return context.listed(
        cards, (" ", "session", "status", "done", "active", "goal [under way]"), rows, empty
    )
