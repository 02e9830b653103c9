"""Looking: status, list, show, log, resumable, checkpoints. Nothing here writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....errors import StoreUnavailable, UsageError
from ..command import CliCommand
from ..context import CommandContext

if TYPE_CHECKING:
    from ....core.sessions.status import Card
    from ..parser import Parser


def status(context: CommandContext) -> int:
    """What is done, under way, next and blocked."""
    session = context.session()
    try:
        found = session.status()
    except StoreUnavailable as fault:
        return _last_status(context, session.id, fault)
    if context.json:
        context.emit(found)
        return 0
    from ..views.session import status_lines

    context.say(*status_lines(found, context.style, session.state))
    return 0


def _last_status(context: CommandContext, session: str, fault: StoreUnavailable) -> int:
    """As it was last seen, where the server cannot be reached."""
    last = context.segue.workspace.last_seen(session)
    if last is None:
        raise fault
    from ....core.sessions.status import status_of
    from ...render import ago, plain
    from ..views.session import status_lines

    found = status_of(last.state)
    waits = f"; {last.pending} pending on top" if last.pending else ""
    context.warn(f"the server cannot be reached; as last seen {ago(last.at)}{waits}")
    if context.json:
        context.emit({**plain(found), "as_of": last.at, "pending": last.pending})
        return 0
    context.say(*status_lines(found, context.style, last.state))
    return 0


def show(context: CommandContext) -> int:
    """Everything that is known of a session, or of a run."""
    from .runs import show_run, wanted_run

    run = wanted_run(context)
    if run is not None:
        return show_run(context, run)
    session = context.session()
    if context.args.timeline:
        return _timeline(context, session.log())
    found, state = session.status(), session.state
    if context.json:
        from ...render import plain

        context.emit({**plain(found), **_beyond_status(state)})
        return 0
    from ..views.session import show_lines

    context.say(*show_lines(found, context.style, state))
    return 0


def _beyond_status(state: Any) -> dict[str, Any]:
    return {
        "end_reason": state.end_reason,
        "answered": [q for q in state.questions if q.answer],
        "solved": [t for t in state.troubles if t.solution],
        "notes": state.notes,
        "context": state.context,
        "marks": state.marks,
        "handed": state.handed,
        "unknown_events": state.unknown,
    }


def listing(context: CommandContext) -> int:
    """The sessions of this project, or of all."""
    args, segue = context.args, context.segue
    cards = segue.list(
        everywhere=args.all,
        status=args.status or "",
        project=args.project or "",
        organization=args.org or "",
    )
    if args.ids:
        from ...render import one_line

        context.say(*(one_line(card.id) for card in cards))
        context.emit([card.id for card in cards])
        return 0
    return _cards(context, cards, 'no sessions here; begin one with `segue start "…"`')


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


def log(context: CommandContext) -> int:
    """The journal as a timeline."""
    if context.args.limit < 0 or context.args.after < 0:
        raise UsageError("a number below 0", hint="--limit 20 gives the newest 20; 0 gives all")
    session = context.session()
    after = context.args.after
    if context.args.limit:
        after = max(after, session.state.version - context.args.limit)
    return _timeline(context, session.log(after=after))


def _timeline(context: CommandContext, events: list[Any]) -> int:
    from ....core.event_words import event_object
    from ..views.timeline import timeline

    if context.json:
        context.emit([event_object(event) for event in events])
        return 0
    context.say(*timeline(events, context.style))
    return 0


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


def _list_arguments(parser: Parser) -> None:
    from ....core.sessions.state import OPEN

    parser.add_argument("--all", action="store_true", help="of all projects")
    parser.add_argument("--status", choices=(*OPEN, "completed", "abandoned"), help="only in this status")
    parser.add_argument("--project", metavar="NAME", help="of this project: its key or its name")
    parser.add_argument("--org", metavar="NAME", help="of this organization")
    parser.add_argument("--ids", action="store_true", help="ids only, one a line")


def _show_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--timeline", action="store_true", help="what happened, in order: a run's steps, a session's events")
    add("--limit", type=int, default=0, metavar="N", help="of a run's timeline, the newest N steps; 0: all")


def _log_arguments(parser: Parser) -> None:
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="only the newest N events; 0: all")
    parser.add_argument("--after", type=int, default=0, metavar="VERSION", help="only events behind this one")


def _resumable_arguments(parser: Parser) -> None:
    parser.add_argument("--all", action="store_true", help="of all projects")


COMMANDS = (
    CliCommand(
        "status", status, session="id", json="a SessionStatus",
        examples=("segue status", "segue status 2026-11-15-coding-shop-001", "segue status --json"),
    ),
    CliCommand(
        "show", show, _show_arguments, session="id",
        json="a SessionStatus with `end_reason`, `answered`, `solved`, `notes`, `context`, `marks`, `handed` "
        "and `unknown_events` beside it; of a run, a Run; with `--timeline` an array of steps or Events",
        examples=("segue show", "segue show 2026-11-15-coding-shop-001", "segue show 56e8 --timeline"),
    ),
    CliCommand(
        "list", listing, _list_arguments, json="an array of Cards; with `--ids` of ids",
        examples=("segue list", "segue list --all --status paused", "segue list --project shop --json"),
    ),
    CliCommand(
        "log", log, _log_arguments, session="id", json="an array of Events",
        examples=("segue log", "segue log --limit 20", "segue log --after 120 --json"),
    ),
    CliCommand(
        "resumable", resumable, _resumable_arguments, json="an array of Cards",
        examples=("segue resumable", "segue resumable --all --json"),
    ),
    CliCommand(
        "checkpoints", checkpoints, session="id", json="an array of `{name, version, at, note}`",
        examples=("segue checkpoints", "segue checkpoints -s 2026-11-15-coding-shop-001 --json"),
    ),
)  # fmt: skip
