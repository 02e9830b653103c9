"""`segue status`: what is done, under way, next and blocked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....errors import UsageError
from ...render import ago, count, fitted, is_terminal, json_line, one_line, status_object, style_for
from ..command import argument, command, flag
from ..context import CommandContext, write

if TYPE_CHECKING:
    from ....services.runs.sessions_shown import KnownStatus
    from ...render import Style

EVERY_SECONDS = 2.0
EVERY_SECONDS_MIN = 0.1
EVERY_SECONDS_MAX = 86_400.0


@command(
    "status",
    flag("--watch", "show it again whenever something changes, until Ctrl-C or `q`"),
    argument(
        "--every", "SECONDS", "how often --watch looks for changes; by default every 2 seconds", type=float,
    ),
    session="id",
    json="a SessionStatus with `notices` (an interrupted handover, a change that waits to be merged) and, "
    "while the server cannot be reached, `as_of` and `pending`; with `--watch` one on a line for every "
    "change, with `fault`: why the store cannot be read",
    shape={"": "ShownStatus", "--watch": "WatchedStatus"},
    examples=(
        "segue status", "segue status 2026-11-15-coding-shop-001", "segue status --watch --every 5",
        "segue status --json",
    ),
)  # fmt: skip
def status(context: CommandContext) -> int:
    """What is done, under way, next and blocked."""
    every = context.args.every
    if every is not None and not context.args.watch:
        raise UsageError("--every needs --watch", hint="segue status --watch --every 5")
    if context.args.watch:
        return _watch(context, EVERY_SECONDS if every is None else every)
    from ....services.resume.watched_status import notices_of_session
    from ....services.runs.sessions_shown import known_status

    found = known_status(context.session())
    said = notices_of_session(context.segue.workspace, found.status.id)
    if found.as_of:
        context.warn(_last_seen(found))
    if context.json:
        return context.report(status_object(found, said))
    return context.report(None, *_lines(found, said, context.style))


def _lines(found: KnownStatus, said: Sequence[str], style: Style) -> list[str]:
    from ..views.session import status_lines

    lines = status_lines(found.status, style, found.state)
    return [*lines, *([""] if said else []), *(style.paint(one_line(notice), "yellow") for notice in said)]


def _last_seen(found: KnownStatus) -> str:
    waits = f", with {count(found.pending, 'pending change')}" if found.pending else ""
    return f"the server cannot be reached; it was last seen {ago(found.as_of)}{waits}"


# -- watching ----------------------------------------------------------------------------------


def _watch(context: CommandContext, every: float) -> int:
    """Show the status whenever it changes: in place on a terminal, else block by block or line by line."""
    if not EVERY_SECONDS_MIN <= every <= EVERY_SECONDS_MAX:
        raise UsageError(
            f"--every {every:g} is not possible",
            hint=f"give {EVERY_SECONDS_MIN:g} seconds or more, for example --every 5",
        )
    from ....services.resume.watched_status import StatusWatch

    watch = StatusWatch(context.segue.workspace, context.session_id())
    watch.look()
    try:
        if context.json or not is_terminal(context.out) or context.environment.get("TERM") == "dumb":
            _print_changes(context, watch, every)
        else:
            _redraw(context, watch, every)
    except KeyboardInterrupt:
        pass
    return 0


def _print_changes(context: CommandContext, watch: Any, every: float) -> None:
    from ..screen import wait_for_reader

    before = None
    while True:
        now = watch.look()
        changed = {**status_object(now.known, now.notices), "fault": now.fault}
        if changed != before:
            before = changed
            if context.json:
                write(context.out, json_line(changed))
            else:
                context.say(*_block(now, context.style))
            context.out.flush()
        wait_for_reader(context.out, every)


def _block(now: Any, style: Style) -> list[str]:
    import time

    lines = [style.paint(f"--- {time.strftime('%Y-%m-%d %H:%M:%S')}", "dim"), *_watched_lines(now, style)]
    return [*lines, ""]


def _watched_lines(now: Any, style: Style) -> list[str]:
    lines = _lines(now.known, now.notices, style)
    faults = [_last_seen(now.known)] if now.known.as_of else []
    faults += [f"as it was when it could last be read: {one_line(now.fault)}"] if now.fault else []
    return [*lines, *([""] if faults else []), *(style.paint(text, "yellow") for text in faults)]


def _redraw(context: CommandContext, watch: Any, every: float) -> None:
    from ..screen import Screen

    with Screen(context.out) as screen:
        while True:
            style = style_for(context.out, context.environment, no_color=context.args.no_color)
            lines = [*_watched_lines(watch.look(), style), "", style.paint("q ends", "dim")]
            screen.draw([part for line in lines for part in fitted(line, style)], style)
            if not screen.wait(every):
                return
