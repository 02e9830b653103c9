"""`segue start`: begin a session and make it the current one here."""

from __future__ import annotations

from ....core.sessions.state import TYPES
from ....services.workspace.begin_session import begin_session
from ...render import one_line, started_object
from ..apply import tally_lines
from ..command import argument, command, many, optional
from ..context import CommandContext, text_or_stdin


@command(
    "start",
    optional("goal", "GOAL", "what you want to achieve; `-` reads it from stdin"),
    many("--item", "TEXT", "an item of the plan"),
    argument("--id", "ID", "its id; an existing session with this id is continued"),
    argument("--type", "TYPE", "one of " + ", ".join(TYPES), choices=TYPES),
    argument("--project", "NAME", "its project; by default found from git, or the path"),
    argument("--org", "NAME", "its organization"),
    json="Saved with `status` and `left_active`: the session before, if it stays active",
    shape="StartedSession",
    examples=(
        'segue start "Refactor authentication to JWT" --item "user model" --item "auth middleware"',
        'segue start "Find the leak" --id leak-hunt --type research',
        "segue start --id leak-hunt",
    ),
)  # fmt: skip
def start(context: CommandContext) -> int:
    """Begin a session, or take up the one of this id."""
    args, segue = context.args, context.segue
    done = begin_session(
        segue.workspace, text_or_stdin(args.goal or ""), items=args.item, id=args.id or "",
        type=args.type or "", organization=args.org or "", project=args.project or "",
    )  # fmt: skip
    id = done.saved.session
    if done.is_pending:
        return context.pending(done.saved, f"started {id}", status=done.status, left_active=done.left_active)
    if done.kept_goal:
        context.warn(f"{id} already exists and keeps its goal: {one_line(done.kept_goal)}")
    word = f"continued, {done.status}" if done.existed else "started"
    lines = [f"{word}: {context.style.paint(id, 'cyan')}", *tally_lines(context, segue.session(id))]
    left = done.left_active
    lines += [f"{left} stays active; `segue switch {left}` returns to it"] if left else []
    context.warn_all(done.saved.warnings)
    return context.report(started_object(done), *lines)
