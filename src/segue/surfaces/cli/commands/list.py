"""`segue list` and `segue resumable`: sessions as a table, each with its newest runs below it."""

from __future__ import annotations

from ....core.sessions.state import OPEN
from ....core.sessions.status import Card
from ...render import Style, ago, count, cut, one_line, shown, table
from ..command import argument, command, flag
from ..context import CommandContext

RUNS_SHOWN = 3
SPLIT_LOOKED_AT = 12
"""How many sessions are looked into for the hint that some are one piece of work."""


LISTED = (
    flag("--all", "sessions of all projects"),
    argument("--status", None, "only sessions with this status", choices=(*OPEN, "completed", "abandoned")),
    argument("--project", "NAME", "only sessions of this project, by its key or its name"),
    argument("--org", "NAME", "only sessions of this organization"),
    argument("--limit", "N", "only the N most recently active", type=int),
    flag("--ids", "print ids only, one per line"),
)
"""The options of a list of sessions."""


@command(
    "list",
    *LISTED,
    json="an array of Cards; with `--ids` of ids",
    shape={"": "list[Card]", "--ids": "list[str]"},
    examples=("segue list", "segue list --all --status paused", "segue list --project shop --json"),
)  # fmt: skip
def listing(context: CommandContext) -> int:
    """The sessions of this project, or of all, each with its newest runs below it."""
    return list_sessions(context)


def list_sessions(context: CommandContext) -> int:
    """List sessions as the options say, and hint at those that look like one piece of work."""
    from ....services.runs.sync import take_in_newest

    args, segue = context.args, context.look_at_standby()
    take_in_newest(segue.workspace)
    cards = segue.list(
        everywhere=args.all, status=args.status or "", project=args.project or "", organization=args.org or ""
    )
    if args.limit is not None:
        cards = cards[: max(0, args.limit)]
    if args.ids:
        return context.report([card.id for card in cards], *(one_line(card.id) for card in cards))
    _cards(context, cards, 'no sessions here; start one with `segue start "…"`')
    if not context.json:
        context.say(*_split_hint(context, cards))
    return 0


@command(
    "resumable",
    flag("--all", "sessions of all projects"),
    argument("--project", "NAME", "only sessions of this project, by its key or its name"),
    argument("--org", "NAME", "only sessions of this organization"),
    json="an array of Cards",
    shape="list[Card]",
    examples=("segue resumable", "segue resumable --all --json", "segue resumable --org acme"),
)  # fmt: skip
def resumable(context: CommandContext) -> int:
    """Sessions that were paused or left in the middle."""
    from ....services.runs.sync import take_in_newest

    args, segue = context.args, context.look_at_standby()
    take_in_newest(segue.workspace)
    cards = segue.resumable(everywhere=args.all, project=args.project or "", organization=args.org or "")
    return _cards(context, cards, "nothing to resume; `segue list` shows all sessions")


def _split_hint(context: CommandContext, cards: list[Card]) -> list[str]:
    """A line if several of these sessions look like one piece of work; only those without a plan may."""
    undeclared = [card.id for card in cards if card.status in OPEN and card.runs and not card.total]
    if len(undeclared) < 2:
        return []
    from ....services.ledger.join_sessions import split_works

    works = split_works(context.segue.workspace, undeclared[:SPLIT_LOOKED_AT])
    number = sum(len(work.sessions) for work in works)
    if not works:
        return []
    hint = f"{number} sessions look like parts of the same work: `segue sessions join` shows which"
    return ["", context.style.paint(hint, "dim")]


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
    head = (" ", "session", "status", "done", "active", "goal [under way]")
    context.say(*table(head, rows, context.style, below=_run_lines(cards, context.style)))
    return 0


def _run_lines(cards: list[Card], style: Style) -> list[list[str]]:
    """The lines below each session: its newest runs, and how many more there are."""
    runs = [run for card in cards for run in card.runs[:RUNS_SHOWN]]
    if not runs:
        return []
    from ..views.runs import short_ids

    names = short_ids(run.id for run in runs)
    agent_cells = max(len(run.agent) for run in runs)
    below = []
    for card in cards:
        lines = [
            f"{one_line(run.agent):{agent_cells}}  {one_line(names[run.id])}  {ago(run.last)}"
            + (f", {run.ended}" if run.ended != "recent" else "")
            for run in card.runs[:RUNS_SHOWN]
        ]
        more = len(card.runs) - RUNS_SHOWN
        lines += [f"and {count(more, 'more run')}"] if more > 0 else []
        below.append([style.paint(cut(f"     {line}", style.width, style), "dim") for line in lines])
    return below
