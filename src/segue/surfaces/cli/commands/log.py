"""`segue log`: the journal as a timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....core.event_words import event_object
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
    if limit:
        first = max(first, session.state.version - limit)
    if context.args.follow:
        return _follow(context, session, first)
    return show_events(context, session.log(after=first))


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
                if context.json:
                    write(context.out, json_line(event_object(event)))
                else:
                    context.say(*shown.lines(event))
            context.out.flush()
            if not events:
                wait_for_reader(context.out, LOOK_SECONDS)
    except KeyboardInterrupt:
        return 0
