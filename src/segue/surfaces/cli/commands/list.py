"""`segue list` and `segue resumable`: sessions as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..command import CliCommand
from ..context import CommandContext

if TYPE_CHECKING:
    from ....core.sessions.status import Card
    from ..parser import Parser


def listing(context: CommandContext) -> int:
    """The sessions of this project, or of all."""
    args, segue = context.args, context.segue
    cards = segue.list(
        everywhere=args.all, status=args.status or "", project=args.project or "", organization=args.org or ""
    )
    if args.ids:
        from ...render import one_line

        context.say(*(one_line(card.id) for card in cards))
        context.emit([card.id for card in cards])
        return 0
    return _cards(context, cards, 'no sessions here; start one with `segue start "…"`')


def resumable(context: CommandContext) -> int:
    """Sessions that were paused or left in the middle."""
    cards = context.segue.resumable(everywhere=context.args.all)
    return _cards(context, cards, "nothing to resume; `segue list` shows all sessions")


def _cards(context: CommandContext, cards: list[Card], empty: str) -> int:
    from ...render import ago, shown, table

    context.emit(cards)
    if not cards:
        context.say(empty)
    if context.json or not cards:
        return 0
    current = context.segue.workspace.working_tree.tree().current
    rows = [
        (
            "*" if card.id == current else "", card.id, card.status,
            f"{card.done}/{card.total}" if card.total else "-", ago(card.last_active),
            shown(card.goal) + (f" [{shown(card.active)}]" if card.active else ""),
        )
        for card in cards
    ]  # fmt: skip
    head = (" ", "session", "status", "done", "active", "goal [under way]")
    context.say(*table(head, rows, context.style))
    return 0


def _list_arguments(parser: Parser) -> None:
    from ....core.sessions.state import OPEN

    parser.flag("--all", "sessions of all projects")
    parser.add_argument(
        "--status", choices=(*OPEN, "completed", "abandoned"), help="only sessions with this status"
    )
    parser.add_argument(
        "--project", metavar="NAME", help="only sessions of this project, by its key or its name"
    )
    parser.add_argument("--org", metavar="NAME", help="only sessions of this organization")
    parser.flag("--ids", "print ids only, one per line")


def _resumable_arguments(parser: Parser) -> None:
    parser.flag("--all", "sessions of all projects")


COMMANDS = (
    CliCommand(
        "list", listing, _list_arguments, json="an array of Cards; with `--ids` of ids",
        examples=("segue list", "segue list --all --status paused", "segue list --project shop --json"),
    ),
    CliCommand(
        "resumable", resumable, _resumable_arguments, json="an array of Cards",
        examples=("segue resumable", "segue resumable --all --json"),
    ),
)  # fmt: skip
