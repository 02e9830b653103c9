"""`segue log`: the journal as a timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....core.event_words import event_object, is_bookkeeping
from ....errors import SegueError, UsageError
from ...render import count, json_line
from ..command import argument, command, flag
from ..context import CommandContext, write
from ..views.timeline import Timeline, timeline

if TYPE_CHECKING:
    from ....api.session import Session

LOOK_SECONDS = 0.5
FOLLOWED_AT_FIRST = 10


@command(
    "log",
    argument(
        "--limit", "N", "only the newest N events; by default all, with --follow the newest 10",
        type=int,
    ),
    argument("--after", "VERSION", "only events after this version", type=int),
    flag("--all", "also what Segue counts and keeps for itself; `--json` always has it"),
    flag("-f --follow", "keep showing new events, from any process, until Ctrl-C"),
    session="id", json="an array of Events; with `--follow` an Event on each line",
    shape={"": "list[ShownEvent]", "--follow": "ShownEvent"},
    examples=(
        "segue log", "segue log --limit 20", "segue log --follow", "segue log --after 120 --json",
    ),
)  # fmt: skip
def log(context: CommandContext) -> int:
    """Show the events of a session, the newest last."""
    limit, after = context.args.limit, context.args.after
    if (limit or 0) < 0 or (after or 0) < 0:
        raise UsageError(
            "--limit and --after cannot be negative", hint="--limit 20 shows the newest 20, 0 shows all"
        )
    if context.args.follow and limit is None and after is None:
        limit = FOLLOWED_AT_FIRST
    if not context.args.follow:
        context.look_at_standby()
    session = context.session()
    first = after or 0
    if context.json or context.args.all:
        first = max(first, session.state.version - limit) if limit else first
        shown, left_out = session.log(after=first), 0
    else:
        shown, left_out = _for_people(session, first, limit or 0)
        first = shown[0].version - 1 if shown else session.state.version
    if context.args.follow:
        return _follow(context, session, first)
    show_events(context, shown)
    if left_out:
        own = f"left out: {count(left_out, 'event')} that Segue keeps for itself (`--all` shows them)"
        context.say(context.style.paint(own, "dim"))
    return 0


def _for_people(session: Session, after: int, limit: int) -> tuple[list[Any], int]:
    """The newest events without what Segue keeps for itself, and how many of that were left out."""
    size = limit
    while True:
        first = max(after, session.state.version - size) if limit else after
        events = session.log(after=first)
        shown = [event for event in events if not is_bookkeeping(event)][-limit:]
        if first == after or len(shown) == limit:
            break
        size *= 4
    if limit and shown:
        events = [event for event in events if event.version >= shown[0].version]
    return shown, len(events) - len(shown)


def show_events(context: CommandContext, events: list[Any]) -> int:
    """Events of a session as a timeline, or as objects."""
    if context.json:
        return context.report([event_object(event) for event in events])
    return context.report(None, *timeline(events, context.style))


def _follow(context: CommandContext, session: Session, after: int) -> int:
    """Print events as they come until somebody ends it. What is in the way of reading is said once."""
    from ....services.workspace.followed_events import FollowedEvents
    from ..screen import wait_for_reader

    followed = FollowedEvents(context.segue.workspace, session.id, after)
    shown = Timeline(context.style)
    fault = ""
    try:
        while True:
            try:
                events = followed.new()
                if fault:
                    context.warn("the store can be read again")
                fault = ""
            except SegueError as error:
                events = []
                if error.message != fault:
                    context.warn(f"waiting: {error.message}")
                fault = error.message
            if followed.lost:
                context.warn(f"{count(followed.lost, 'event')} shown above are no longer in the store")
                followed.lost = 0
            for event in events:
                if not context.json and not context.args.all and is_bookkeeping(event):
                    continue
                if context.json:
                    write(context.out, json_line(event_object(event)))
                else:
                    context.say(*shown.lines(event))
            context.out.flush()
            if not events:
                wait_for_reader(context.out, LOOK_SECONDS)
    except KeyboardInterrupt:
        return 0
