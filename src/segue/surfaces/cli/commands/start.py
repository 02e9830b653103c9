"""Begin and end: start, pause, complete, abandon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import StoreUnavailable, UsageError
from ...render import count, one_line
from ..command import CliCommand
from ..context import CommandContext, text_or_stdin

if TYPE_CHECKING:
    from ....api.session import Session
    from ....services.resume.interruptions import Interruption
    from ..parser import Parser

AS_BEFORE = "nothing changed: it was so already"


def start(context: CommandContext) -> int:
    """Begin a session, or take up the one of this id."""
    from ....services.sessions.repository import Saved

    args, segue = context.args, context.segue
    try:
        exists = bool(args.id) and segue.workspace.repository.exists(args.id)
    except StoreUnavailable:
        exists = False  # nobody can be asked: `start` says whether it can wait
    left = _left_active(context)
    session = segue.start(
        text_or_stdin(args.goal or ""), items=args.item, id=args.id or "", type=args.type or "",
        organization=args.org or "", project=args.project or "",
    )  # fmt: skip
    if session.pending:
        from ....services.workspace.offline_queue import QueuedCommand

        told = {"id": session.id, "status": "pending"}
        return context.pending(QueuedCommand(session.id, 0, 0), f"started {session.id}", **told)
    state = session.state
    saved = segue.workspace.with_warnings(Saved(session.id, state.version, 0 if exists else state.version))
    word = f"taken up, {state.status}" if exists else "started"
    lines = [f"{word}: {context.style.paint(session.id, 'cyan')}"]
    if exists and args.goal and one_line(args.goal) != one_line(state.goal):
        context.warn(f"{session.id} exists and keeps its goal: {one_line(state.goal)}")
    lines += _tally(context, session)
    left = left if left != session.id else ""
    lines += [f"{left} stays active; `segue switch {left}` goes back"] if left else []
    return context.saved(saved, *lines, id=session.id, status=state.status, left_active=left)


def _left_active(context: CommandContext) -> str:
    """The session that was current here and goes on, if there is one."""
    from ....errors import SegueError

    try:
        current = context.segue.workspace.working_tree.tree().current
        return (
            current
            if current and context.segue.workspace.repository.state(current).status == "active"
            else ""
        )
    except SegueError:
        return ""


def _made(number: int, name: str) -> str:
    return f"{number} {name}" if number != 1 else "1 " + " ".join(w.removesuffix("s") for w in name.split())


def pause(context: CommandContext) -> int:
    """Stop for now."""
    session = context.session()
    done = session.pause(text_or_stdin(context.args.reason), cause=context.args.cause)
    if done.error:  # the store did not take it
        return _aside(context, done)
    line = f"paused: {session.id}; go on with `{done.resume_command}`" if done.events else AS_BEFORE
    lines = [line, *_tally(context, session)]
    summary = done.summary
    made = ", ".join(_made(number, name) for name, number in summary.made.items())
    if done.events:
        whole = int(summary.active_minutes)
        told = [f"active for {count(whole, 'minute')}"] if whole else []
        told += [f"so far: {made}"] if made else []
        lines += ["; ".join(told)] if told else []
        lines += [f"next: {one_line(action)}" for action in summary.next_actions[:3]]
        lines += [f"agent {name}: {what}" for name, what in done.agents.items()]
    return context.saved(done, *lines)


def _aside(context: CommandContext, done: Interruption) -> int:
    """Say that a pause is kept in an emergency file: it counts as soon as the store answers."""
    if done.status != "emergency":
        raise StoreUnavailable(done.error, hint="nothing was kept; run the command again when it answers")
    context.warn(done.error)
    context.say(
        f"pending: paused {done.session_id}",
        f"it is kept in an emergency file, {one_line(done.manifest)}",
        "the next command on the session that reaches the store merges it",
    )
    context.emit(done)
    return 0


def complete(context: CommandContext) -> int:
    """The goal is reached."""
    session = context.session()
    if context.args.force is not None and not context.args.force.strip():
        raise UsageError("--force needs a reason", hint="say why it is completed although it is not proven")
    gate = session.features.gate()
    summary = text_or_stdin(context.args.summary)
    if context.args.with_model and not summary:
        summary = _summed_up(context, session)
    saved = session.complete(summary, force=context.args.force or "")
    status = session.status()
    left = [*status.active, *status.next, *(blocked.item for blocked in status.blocked)]
    lines = [f"completed: {one_line(status.goal)}" if saved.events else AS_BEFORE]
    if left:
        names = ", ".join(one_line(item) for item in left[:5]) + (", …" if len(left) > 5 else "")
        verb = "is" if len(left) == 1 else "are"
        lines.append(f"{count(len(left), 'item')} {verb} left open: {names}")
    lines += [one_line(gate.text)] if gate.ok else ["forced, although:", *gate.text.splitlines()]
    lines += [f"changed on the way: {one_line(change)}" for change in gate.changes]
    unproven = [{"id": one.id, "status": one.status, "reason": one.reason} for one in gate.unproven]
    proven = gate.ok and bool(gate.counts.total)
    return context.saved(
        saved, *lines, left_open=left, proven=proven, unproven=unproven, changes=list(gate.changes)
    )


def _summed_up(context: CommandContext, session: Session) -> str:
    """A summary by the model that was set, of what its claims hold; empty without one."""
    from ....services.models import refine
    from .model import teller

    found = refine.summary(context.segue.workspace, session, say=teller(context))
    if found.fell_back:
        context.warn(f"no summary by a model: {found.fell_back}")
    return refine.summary_text(found)


def abandon(context: CommandContext) -> int:
    """The goal is given up."""
    session = context.session()
    saved = session.abandon(text_or_stdin(context.args.reason))
    goal = one_line(session.state.goal)
    return context.saved(saved, f"abandoned: {goal}" if saved.events else AS_BEFORE)


def _tally(context: CommandContext, session: Session) -> list[str]:
    from ..views.session import tally

    line = "" if context.json else tally(session.status(), context.style)
    return [line] if line else []


def _start_arguments(parser: Parser) -> None:
    from ....core.sessions.state import TYPES

    parser.add_argument("goal", metavar="GOAL", nargs="?", help="what is wanted; `-` reads it from stdin")
    parser.add_argument(
        "--item", action="append", default=[], metavar="TEXT", help="plan an item; repeatable"
    )
    parser.add_argument("--id", metavar="ID", help="its id; a session of this id is taken up again")
    parser.add_argument("--type", choices=TYPES, metavar="TYPE", help="one of " + ", ".join(TYPES))
    parser.add_argument("--project", metavar="NAME", help="its project; else found from git, else the path")
    parser.add_argument("--org", metavar="NAME", help="its organization")


def _abandon_arguments(parser: Parser) -> None:
    parser.add_argument("--reason", default="", metavar="TEXT", help="why")


def _pause_arguments(parser: Parser) -> None:
    from ....core.sessions.commands import PAUSE_CAUSES

    _abandon_arguments(parser)
    parser.add_argument(
        "--cause", choices=PAUSE_CAUSES, default="user", metavar="CAUSE",
        help="one of " + ", ".join(PAUSE_CAUSES),
    )  # fmt: skip


def _complete_arguments(parser: Parser) -> None:
    parser.add_argument("--summary", default="", metavar="TEXT", help="how it ended, in a sentence or two")
    parser.add_argument(
        "--with-model", action="store_true", help="without --summary, let the model that was set write one"
    )
    parser.add_argument("--force", metavar="REASON", help="although not every feature is proven; recorded")


_ID = "2026-11-15-coding-shop-001"
COMMANDS = (
    CliCommand(
        "start", start, _start_arguments,
        json="Saved with `id`, `status` and `left_active`: the session before, if it stays active",
        examples=(
            'segue start "Refactor authentication to JWT" --item "user model" --item "auth middleware"',
            'segue start "Find the leak" --id leak-hunt --type research',
            "segue start --id leak-hunt",
        ),
    ),
    CliCommand(
        "pause", pause, _pause_arguments, session="id",
        json="Interruption: Saved with `status`, `session_id`, `summary`, `resume_command` and so on",
        examples=(
            "segue pause",
            'segue pause --reason "waiting for review"',
            "segue pause --cause error --reason 'the tests do not start'",
        ),
    ),
    CliCommand(
        "complete", complete, _complete_arguments, session="id",
        json="Saved with `left_open` (items), `proven` (false without features), `unproven` and `changes`",
        examples=("segue complete", 'segue complete --summary "JWT everywhere, sessions gone"'),
    ),
    CliCommand(
        "abandon", abandon, _abandon_arguments, session="id", json="Saved",
        examples=("segue abandon", 'segue abandon --reason "the customer left"'),
    ),
)  # fmt: skip
