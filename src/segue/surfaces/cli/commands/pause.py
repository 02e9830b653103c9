"""`segue pause`: pause a session, and say how to resume it."""

from __future__ import annotations

from ....core.sessions.commands import PAUSE_CAUSES
from ....errors import StoreUnavailable
from ....services.resume.interruptions import Interruption
from ...render import count, one_line
from ..apply import AS_BEFORE, tally_lines
from ..command import argument, command
from ..context import CommandContext, text_or_stdin


def _made(number: int, name: str) -> str:
    return f"{number} {name}" if number != 1 else "1 " + " ".join(w.removesuffix("s") for w in name.split())


@command(
    "pause",
    argument("--reason", "TEXT", "why", default=""),
    argument("--cause", "CAUSE", "one of " + ", ".join(PAUSE_CAUSES), choices=PAUSE_CAUSES, default="user"),
    session="id",
    json="Interruption: Saved with `status`, `session_id`, `summary`, `resume_command` and so on",
    shape="Interruption",
    examples=(
        "segue pause",
        'segue pause --reason "waiting for review"',
        "segue pause --cause error --reason 'the tests do not start'",
    ),
)  # fmt: skip
def pause(context: CommandContext) -> int:
    """Pause the session, and say what was done so far and what comes next."""
    session = context.session()
    done = session.pause(text_or_stdin(context.args.reason), cause=context.args.cause)
    if done.error:  # the store did not take it
        return _aside(context, done)
    line = f"paused: {session.id}; resume with `{done.resume_command}`" if done.events else AS_BEFORE
    lines = [line, *tally_lines(context, session)]
    summary = done.summary
    made = ", ".join(_made(number, name) for name, number in summary.made.items())
    if done.events:
        whole = int(summary.active_minutes)
        facts = [f"active for {count(whole, 'minute')}"] if whole else []
        facts += [f"so far: {made}"] if made else []
        lines += ["; ".join(facts)] if facts else []
        lines += [f"next: {one_line(action)}" for action in summary.next_actions[:3]]
        lines += [f"agent {name}: {what}" for name, what in done.agents.items()]
    return context.saved(done, *lines)


def _aside(context: CommandContext, done: Interruption) -> int:
    """Report that a pause is saved in an emergency file; it takes effect as soon as the store answers."""
    if done.status != "emergency":
        raise StoreUnavailable(
            done.error, hint="nothing was saved; run the command again when the store answers"
        )
    context.warn(done.error)
    return context.report(
        done,
        f"pending: paused {done.session_id}",
        f"it is saved in an emergency file, {one_line(done.manifest)}",
        "the next command on this session that reaches the store will merge it",
    )
