"""`segue continue`: go on with the same work in this or another agent."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ...render import is_terminal
from ..command import CliCommand
from ..context import CommandContext
from .run import JSON, declare_limits, policy_of, supervise

if TYPE_CHECKING:
    from ..parser import Parser


def continue_(context: CommandContext) -> int:
    """The same work, in this or another agent: with its own screen on a terminal."""
    from ....services.supervision import begin
    from ....services.supervision.record import Options

    args = context.args
    session = context.session()
    begin.refuse_if_over(session, "`segue list` shows what is open")
    policy = policy_of(context, [args.in_agent] if args.in_agent else [])
    screen = is_terminal(sys.stdin) and is_terminal(sys.stdout) and not args.headless
    begin.resume_if_paused(session)
    options = Options(full_access=args.full_access, screen=screen, more=tuple(context.behind))
    return supervise(context, session, policy, options)


def _arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--in", dest="in_agent", metavar="NAME", help="the agent; by default the one that worked last")
    parser.flag("--headless", "without the agent's own screen, even on a terminal")
    declare_limits(parser)


COMMANDS = (
    CliCommand(
        "continue", continue_, _arguments, session="id", json=JSON,
        more="[-- WORDS...]",
        examples=("segue continue", "segue continue --in codex", "segue continue --in gemini --headless"),
    ),
)  # fmt: skip
