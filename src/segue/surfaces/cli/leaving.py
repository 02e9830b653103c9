"""Leaving and coming back: prepare, since."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .command import Command
from .context import Context

if TYPE_CHECKING:
    from .parsing import Parser


def prepare(context: Context) -> int:
    """Write the manifest now."""
    args = context.args
    done = context.segue.prepare(
        context.session_id(), reason=args.reason, here=args.here, agent=args.agent or "",
        transcript=Path(args.transcript).expanduser().absolute() if args.transcript else None,
    )  # fmt: skip
    context.emit({name: getattr(done, name) for name in done.__struct_fields__ if name != "scene"})
    about = f"session {done.session}" if done.session else "no session"
    run = f", run {done.run[:8]}" if done.run else ", no run of an agent"
    context.say(
        f"prepared: {done.path}",
        f"{about}{run}; {done.bytes:,} bytes, about {done.tokens} tokens, in {done.seconds:.2f} s",
        "the next run starts with `segue bootstrap`",
    )
    return 0


def since(context: Context) -> int:
    """What changed since the work was left."""
    told = context.look().since(context.session_id(), start=context.args.start or "")
    if context.json:
        fields = {name: getattr(told, name) for name in told.__struct_fields__}
        context.emit({**fields, "away_seconds": round(told.away_seconds, 3), "nothing": told.nothing})
        return 0
    from .since_view import since_lines

    context.say(*since_lines(told, context.style))
    return 0


def _since_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--from", dest="start", metavar="WHEN", help="a time, an age such as 2h or 3d, or a commit"
    )


def _prepare_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--reason", default="user request", metavar="TEXT", help="why; stands in the manifest"
    )
    parser.add_argument(
        "--here", action="store_true", help="write session_recovery_latest.json into the project"
    )
    parser.add_argument("--transcript", metavar="FILE", help="the transcript of the run that it is about")
    parser.add_argument("--agent", metavar="NAME", help="the agent whose newest run it is about")


COMMANDS = (
    Command(
        "prepare", prepare, _prepare_arguments, session="id",
        json="path, reason, session, run, bytes, tokens, seconds",
        examples=("segue prepare", 'segue prepare --reason "before exit"', "segue prepare --here"),
    ),
    Command(
        "since", since, _since_arguments, session="id",
        json="Delta (docs/reference/library.md), with `away_seconds` and `nothing`",
        examples=("segue since", "segue since --from 2d", "segue since --from HEAD~3 --json"),
    ),
)  # fmt: skip
