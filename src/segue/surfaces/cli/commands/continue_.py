"""`segue continue`: continue the same work in this or another agent."""

from __future__ import annotations

import sys

from ...render import is_terminal
from ..command import argument, command, flag
from ..context import CommandContext
from .run import JSON, LIMITS, SHAPE, policy_of, supervise


@command(
    "continue",
    argument("--in", "NAME", "the agent; by default the one that worked last", dest="in_agent"),
    flag("--headless", "do not show the agent's own screen, even on a terminal"),
    *LIMITS,
    session="id", json=JSON, more="[-- WORDS...]",
    shape=SHAPE,
    examples=(
        "segue continue", "segue continue --in codex", "segue continue 5b05c7 --in opencode",
        "segue continue --in gemini --headless",
    ),
)  # fmt: skip
def continue_(context: CommandContext) -> int:
    """The same work, in this or another agent: with its own screen on a terminal.

    From a session or from any run, whether it was killed or has ended, and whether or not Segue knew of it:
    the agent starts with the brief and the plan."""
    from ....services.supervision import begin
    from ....services.supervision.record import Options

    args, workspace = context.args, context.segue.workspace
    screen = is_terminal(sys.stdin) and is_terminal(sys.stdout) and not args.headless
    id = context.session_id()
    options = Options(args.full_access, screen, tuple(context.behind), named=bool(id))
    session = begin.session_to_continue(workspace, id)
    begin.refuse_if_over(session, "`segue list` shows what is open")
    policy = policy_of(context, [args.in_agent] if args.in_agent else [], options)
    at_work = begin.run_at_work(workspace, session)
    if at_work is not None:
        who = f"{at_work.agent} (pid {at_work.pid})"
        context.warn(f"{who} is still at work on it; two agents may get in each other's way")
    begin.resume_if_paused(session)
    begin.take_over_plan(workspace, session)
    return supervise(context, session, policy, options)
