"""`segue switch`: pause the current session and take up another."""

from __future__ import annotations

from typing import Any

from ....errors import SessionOver
from ....services.resume.resume import Switched, switch as run
from ...render import delta_object, saved_object
from ..command import argument, command
from ..context import CommandContext
from ..views.resumption import context_lines, copied, explained, over_line, restored_words, working_lines
from .resume import budget_arguments

BUDGET = "balanced"
"""How much context is restored by default."""


@command(
    "switch",
    argument("id", "ID", "the session to switch to"),
    *budget_arguments(f"by default {BUDGET}"),
    json="Saved with `status`, `paused`, `from`, `to`, `since`, `restoration` and `working`",
    shape="SwitchedSession",
    examples=("segue switch 2026-11-15-coding-shop-001", "segue switch leak-hunt --json"),
)  # fmt: skip
def switch(context: CommandContext) -> int:
    """Pause the current session, take the other one up with its context."""
    args, target = context.args, context.segue.session(context.session_id())
    done = run(target, budget=args.budget or BUDGET, notes=args.note)
    note = [copied(done.restoration.text)] if args.copy and done.restoration is not None else []
    context.warn_all(done.saved.warnings)
    context.emit(_object(done))
    if done.is_over:
        context.say(over_line(target.state))
        return SessionOver.exit_code
    if not context.json:
        context.say(*_lines(context, done), *note)
    return 0


def _object(done: Switched) -> dict[str, Any]:
    since = delta_object(done.since) if done.since is not None else None
    ends = {"from": done.before, "to": "" if done.is_over else done.saved.session}
    return saved_object(
        done.saved, status=done.status, paused=done.paused, since=since,
        restoration=done.restoration, working=done.working, **ends,
    )  # fmt: skip


def _lines(context: CommandContext, done: Switched) -> list[str]:
    from ....services.brief.project_brief import brief_of_session

    session, restored = done.saved.session, done.restoration
    assert restored is not None  # it is there unless the session is over
    lines = [f"paused: {done.paused}"] if done.paused else []
    lines += [f"from: {done.before or 'nothing'}", f"to: {session}", ""]
    explain, around = context.args.explain, working_lines(done.working) if done.working is not None else []
    if context.args.budget:
        lines += context_lines(restored.text, context.style, restored=restored, explain=explain)
        return lines + around
    brief = brief_of_session(context.segue.workspace, session)
    lines += context_lines(brief, context.style, since=done.since)
    lines += ["", *explained(restored)] if explain else []
    return [*lines, *around, "", f"{restored_words(restored)}; `segue resume --budget {BUDGET}` prints it"]
