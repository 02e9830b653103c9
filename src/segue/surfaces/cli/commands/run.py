"""`segue run`: let agents work until the checks prove it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....errors import UsageError
from ...render import is_terminal
from ..command import argument, command, flag, many, optional
from ..context import CommandContext, text_or_stdin
from ..views.notices import NoticePrinter, terminal_writer

if TYPE_CHECKING:
    from ....core.supervision.decide import Policy
    from ....services.supervision.record import Options
    from ....services.workspace.session_handle import SessionHandle

EXITS = {"done": 0, "paused": 130, "budget": 65, "auth": 69, "gave up": 69, "blocked": 69}
JSON = "one object per line: Notices, and at the end a RunFinished with `kind` finished"
SHAPE = "Notice | EndOfRun"
"""The type of each line."""
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}

LIMITS = (
    argument("--max-runs", "N", "at most this many launches; 0: no limit", type=int, default=20),
    argument("--max-time", "TIME", "stop after this time, as in 90, 30m or 2h", default="0"),
    argument("--max-tokens", "N", "stop after this many tokens of input and output", type=int, default=0),
    argument(
        "--max-cost", "DOLLARS", "stop at this cost, as reported by the agents", type=float, default=0.0,
    ),
    argument(
        "--silent", "TIME", "how long an agent may write nothing before it counts as hung", default="10m",
    ),
    argument("--wait", "TIME", "the first wait at a rate limit; it doubles each time", default="30s"),
    argument(
        "--window", "PERCENT", "hand over to a fresh context window when this full; by default 80",
        type=float,
    ),
    flag("--full-access", "let the agent do everything without asking"),
    flag("--quiet", "do not show what the agent does"),
)  # fmt: skip
"""The options of every supervised run."""


@command(
    "run",
    optional("goal", "GOAL", "what you want to achieve; by default the current session is continued"),
    argument("--agent", "NAME", "claude, codex, opencode, gemini or cline"),
    argument("--agents", "A,B", "the first one works; the next takes over when it cannot continue"),
    many("--item", "TEXT", "an item of the plan"),
    many("--check", "COMMAND", "a command that must pass for the work to be done"),
    flag("--interactive", "use the agent's own screen"),
    *LIMITS,
    session="flag", json=JSON, more="[-- WORDS...]",
    shape=SHAPE,
    examples=(
        'segue run "Refactor auth to JWT" --agent claude --check "pytest -q" --max-cost 5',
        'segue run "Port it" --agents claude,codex --item "the parser" --max-time 2h --full-access',
        "segue run", "segue run --json -- --model opus",
    ),
)  # fmt: skip
def run(context: CommandContext) -> int:
    """Launch agents on a goal, or continue the current session, until it is done."""
    from ....services.supervision import begin

    args = context.args
    named = args.agents.split(",") if args.agents else [args.agent] if args.agent else []
    options = _options(context)
    policy = policy_of(context, named, options)
    checks = begin.checks_of(args.check)
    session = _session(context)
    begin.declare_checks(session, checks)
    begin.add_items(session, args.item)
    return supervise(context, session, policy, options)


def _session(context: CommandContext) -> SessionHandle:
    """The session to work on. Raises SessionOver if it has ended."""
    from ....services.supervision import begin

    args, goal = context.args, text_or_stdin(context.args.goal or "").strip()
    if goal and not args.session:
        session = begin.session_for(context.segue.workspace, goal)
    else:
        session = begin.session_to_continue(context.segue.workspace, args.session or "")
        begin.check_goal(session, goal)
        begin.take_over_plan(context.segue.workspace, session)
    begin.resume_if_paused(session)
    begin.refuse_if_over(session, 'give a goal: segue run "…"')
    return session


def supervise(context: CommandContext, session: SessionHandle, policy: Policy, options: Options) -> int:
    """Let agents work on a session until the policy ends it, and return the exit code."""
    if os.name != "posix":
        raise UsageError("agents cannot be supervised on Windows yet", hint="start the agent yourself")
    from ....services.stats.measured import learn_from_runs
    from ....services.supervision.notify import Notifier
    from ....services.supervision.supervisor import Notice, Supervisor

    supervisor = Supervisor(context.segue.workspace, session, policy, options)
    display = NoticePrinter(context, supervisor.spending, screen=options.screen)
    notifier = Notifier(
        session, threshold=policy.threshold, screen=options.screen, write=terminal_writer(context)
    )
    before = {}

    def tell(notice: Notice) -> None:
        display.tell(notice)
        notifier.hear(notice)

    supervisor.tell = tell

    def stop(number: int, frame: object) -> None:
        if not options.screen or number == signal.SIGTERM:
            supervisor.ask_to_stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, stop)
    try:
        finished = supervisor.run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        display.clear()
    display.finish(finished)
    notifier.finish(finished)
    learn_from_runs(context.segue.workspace)
    if notifier.fault:
        context.warn(f"a notice could not be sent: {notifier.fault}; see `segue config`")
    return EXITS[finished.outcome]


def policy_of(context: CommandContext, named: Sequence[str], options: Options) -> Policy:
    """The policy: the agents that were named, else those of the session, else those that are installed; and
    the limits. Raises UsageError for an agent that cannot work as the options say."""
    from ....core.supervision.decide import Policy
    from ....services.supervision.launchers import check_access, chosen

    args = context.args
    agents = chosen(context.segue.workspace, [name.strip() for name in named if name.strip()])
    check_access(agents, options)
    share = args.window / 100 if args.window is not None else 0.8
    if not 0 < share <= 1:
        raise UsageError(f"--window {args.window:g} is not a percentage", hint="for example --window 80")
    return Policy(
        agents, runs_max=args.max_runs, seconds_max=_seconds(args.max_time), tokens_max=args.max_tokens,
        cost_max=args.max_cost, silent_seconds=_seconds(args.silent),
        call_seconds=3 * _seconds(args.silent), threshold=share,
        wait_seconds=_seconds(args.wait),
    )  # fmt: skip


def _options(context: CommandContext) -> Options:
    from ....services.supervision.record import Options

    args = context.args
    if args.interactive and not is_terminal(sys.stdin):
        raise UsageError("--interactive needs a terminal", hint="leave it out")
    return Options(full_access=args.full_access, screen=args.interactive, more=tuple(context.behind))


def _seconds(text: str) -> float:
    """``90``, ``30m``, ``2h`` as seconds."""
    number, unit = (text[:-1], _UNITS[text[-1]]) if text[-1:] in _UNITS else (text, 1.0)
    try:
        found = float(number) * unit
    except ValueError:
        found = -1.0
    if not 0 <= found < 1e9:
        raise UsageError(f"{text} is not a time", hint="for example 90, 30m or 2h")
    return found
