"""Supervised work: `segue run` and `segue continue`.

On a terminal one line shows what goes on and is written anew; elsewhere there are plain lines, with
``--json`` an object a line. Ctrl-C ends the agent gently and pauses the session; the same command goes on
later.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from ....errors import SessionOver, UsageError
from ...render import count, cut, is_terminal, one_line, style_for
from ..command import CliCommand
from ..context import CommandContext, text_or_stdin, write

if TYPE_CHECKING:
    from ....api.session import Session
    from ....core.supervision.decide import Policy
    from ....services.supervision.record import Options
    from ....services.supervision.supervisor import Notice, RunFinished
    from ..parser import Parser

EXITS = {"done": 0, "paused": 130, "budget": 65, "auth": 69, "gave up": 69, "blocked": 69}
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def run(context: CommandContext) -> int:
    """Launch agents on a goal, or go on with the current session, until it is done."""
    args = context.args
    names = _agents(context, args.agents.split(",") if args.agents else [args.agent] if args.agent else [])
    session = _session(context)
    for number, check in enumerate(args.check, 1):
        _declare(session, check, number)
    if args.item and session.state.status in ("active", "created"):
        session.add(*args.item)
    return _supervise(context, session, _policy(args, names), _options(context))


def go_on(context: CommandContext) -> int:
    """The same work, in this or another agent: with its own screen on a terminal."""
    from ....services.supervision.record import Options

    args = context.args
    session = context.session()
    if session.state.status in ("completed", "abandoned"):
        raise SessionOver(f"{session.id} is {session.state.status}", hint="`segue list` shows what is open")
    names = _agents(context, [args.in_agent] if args.in_agent else [])
    screen = is_terminal(sys.stdin) and is_terminal(sys.stdout) and not args.headless
    if session.state.status == "paused":
        session.resume()
    options = Options(full_access=args.full_access, screen=screen, more=tuple(context.behind))
    return _supervise(context, session, _policy(args, names), options)


def _supervise(context: CommandContext, session: Session, policy: Policy, options: Options) -> int:
    if os.name != "posix":
        raise UsageError("agents cannot be supervised on Windows yet", hint="start the agent yourself")
    from ....services.supervision.supervisor import Supervisor

    display = NoticePrinter(context)
    supervisor = Supervisor(context.segue.workspace, session, policy, options, display.tell)
    before = {}

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
    return EXITS[finished.outcome]


# -- what is meant -----------------------------------------------------------------------------


def _session(context: CommandContext) -> Session:
    from ....services.supervision import record as supervision

    args, segue = context.args, context.segue
    goal = text_or_stdin(args.goal or "").strip()
    if not goal or args.session:
        session = segue.session(args.session or "")
        if goal and one_line(goal) != one_line(session.state.goal):
            raise UsageError(f"{session.id} has another goal", hint="leave --session out for a new one")
    else:
        current = segue.workspace.working_tree.tree(fresh=True).current
        held = segue.attach(current) if current and segue.workspace.repository.exists(current) else None
        kept = supervision.load(held) if held is not None else None
        same = held is not None and one_line(held.state.goal) == one_line(goal)
        if held is not None and kept is not None and same and not kept.outcome:
            session = held  # the supervisor was killed, or paused: go on
        else:
            return segue.start(goal)
    if session.state.status == "paused":
        session.resume()
    if session.state.status in ("completed", "abandoned"):
        raise SessionOver(f"{session.id} is {session.state.status}", hint='give a goal: segue run "…"')
    return session


def _declare(session: Session, check: str, number: int) -> None:
    from ....services.features.features import parsed

    known = {one.text for feature in session.state.features.values() for one in feature.checks}
    made = parsed(check)
    if made.text not in known:
        taken = session.state.features
        id = next(name for name in (f"check-{n}" for n in range(number, 10_000)) if name not in taken)
        session.features.add(id, f"{check} passes", checks=[made])


def _agents(context: CommandContext, names: list[str]) -> tuple[str, ...]:
    """Agents by their names or commands; the ones of the session, or that are installed, if none is named."""
    from ....services.supervision.launchers import chosen

    return chosen(context.segue.workspace, [name.strip() for name in names if name.strip()])


def _policy(args: Any, agents: tuple[str, ...]) -> Policy:
    from ....core.supervision.decide import Policy

    share = args.window / 100 if args.window is not None else 0.8
    if not 0 < share <= 1:
        raise UsageError(f"--window {args.window:g} is no percentage", hint="for example --window 80")
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
        raise UsageError(f"{text} is no time", hint="for example 90, 30m or 2h")
    return found


# -- what is shown -----------------------------------------------------------------------------


class NoticePrinter:
    """Notices as lines for people or for programs."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context
        self._style = style_for(sys.stdout, context.environment, no_color=context.args.no_color)
        self._live = is_terminal(sys.stdout) and not context.json
        self._drawn = False

    def tell(self, notice: Notice) -> None:
        if self._context.json:
            self._object(notice)
        elif notice.kind == "working":
            self._working(notice)
        else:
            self.clear()
            colour = {"left behind": "yellow", "waiting": "yellow", "stopped": "bold"}.get(notice.kind, "")
            text = one_line(notice.text)
            dot = self._style.mark("dot")
            head = f"run {notice.run} {dot} {notice.agent} {dot} "
            write(sys.stdout, head + (self._style.paint(text, colour) if colour else text))
            sys.stdout.flush()

    def _working(self, notice: Notice) -> None:
        if not self._live:
            return
        self._drawn = True
        dot = self._style.mark("dot")
        full = f" {dot} window {100 * notice.share:.0f} %" if notice.share else ""
        cost = f" {dot} ${notice.cost:.2f}" if notice.cost else ""
        line = f"run {notice.run} {dot} {notice.agent} {dot} {notice.seconds:.0f} s{full}{cost}  "
        room = max(20, (self._style.width or 80) - 2)
        print(f"\r\x1b[2K{cut(line + one_line(notice.text), room, self._style)}", end="", flush=True)

    def clear(self) -> None:
        if self._drawn:
            print("\r\x1b[2K", end="", flush=True)
            self._drawn = False

    def finish(self, finished: RunFinished) -> None:
        if self._context.json:
            self._object(finished, kind="finished")
            return
        words = {"done": "done", "paused": "paused; `segue run` goes on", "budget": "stopped"}
        runs = count(finished.runs, "run")
        proven = (
            "" if finished.proven or finished.outcome != "done" else "; nothing was declared that proves it"
        )
        head = words.get(finished.outcome, finished.outcome)
        self._context.say(f"{head}: {one_line(finished.why)} ({runs}, {finished.seconds:.0f} s{proven})")

    def _object(self, value: Any, **more: Any) -> None:
        import json

        from ...render import plain

        write(sys.stdout, json.dumps({**more, **plain(value)}, ensure_ascii=False))
        sys.stdout.flush()


# -- arguments ---------------------------------------------------------------------------------


def _limits(parser: Parser) -> None:
    add = parser.add_argument
    add("--max-runs", type=int, default=20, metavar="N", help="at most so many launches; 0: no limit")
    add("--max-time", default="0", metavar="TIME", help="stop after this long, as in 90, 30m or 2h")
    add("--max-tokens", type=int, default=0, metavar="N", help="stop at so many tokens of windows and output")
    add("--max-cost", type=float, default=0.0, metavar="DOLLARS", help="stop at this cost, as agents tell it")
    add("--silent", default="10m", metavar="TIME", help="without a record for so long it hangs")
    add("--wait", default="30s", metavar="TIME", help="the first wait at a rate limit; it doubles")
    add("--window", type=float, metavar="PERCENT", help="hand over to a fresh window at this; else 80")
    add("--full-access", action="store_true", help="let the agent do everything without asking")


def _run_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("goal", nargs="?", metavar="GOAL", help="what is wanted; else the current session goes on")
    add("--agent", metavar="NAME", help="claude, codex, opencode or gemini")
    add("--agents", metavar="A,B", help="the first works; the next takes over when it cannot go on")
    add("--item", action="append", default=[], metavar="TEXT", help="plan an item; repeatable")
    add("--check", action="append", default=[], metavar="COMMAND", help="done when this passes; repeatable")
    add("--interactive", action="store_true", help="with the agent's own screen")
    _limits(parser)


def _continue_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--in", dest="in_agent", metavar="NAME", help="the agent; else the last one's")
    add("--headless", action="store_true", help="without the agent's screen, also on a terminal")
    _limits(parser)


_JSON = "an object a line: Notice each, at last a Finished with `kind` finished"
COMMANDS = (
    CliCommand(
        "run", run, _run_arguments, session="flag", json=_JSON, more="words for the agent's command line",
        examples=(
            'segue run "Refactor auth to JWT" --agent claude --check "pytest -q" --max-cost 5',
            'segue run "Port it" --agents claude,codex --item "the parser" --max-time 2h --full-access',
            "segue run", "segue run --json -- --model opus",
        ),
    ),
    CliCommand(
        "continue", go_on, _continue_arguments, session="id", json=_JSON,
        more="words for the agent's command line",
        examples=("segue continue", "segue continue --in codex", "segue continue --in gemini --headless"),
    ),
)  # fmt: skip
