"""`segue resume`: continue a session, with the brief and what changed since, or its context within a
budget."""

from __future__ import annotations

from ....core.resume.changes_text import change_lines
from ....services.resume.resume import Resumed, resume as run
from ...render import resumed_object
from ..command import Argument, argument, command, flag, many
from ..context import CommandContext
from ..views.resumption import copied, over_line, resumed_lines


def budget_arguments(default: str) -> tuple[Argument, ...]:
    """The options of the context that is restored; ``default`` says what happens without a budget."""
    budget = f"minimal, balanced, full, or a number of tokens from 300 up; {default}"
    return (
        argument("--budget", "BUDGET", budget),
        many("--note", "ID", "a note to restore"),
        flag("--explain", "show what was loaded, what was not, and why"),
        flag("--copy", "also copy the context to the clipboard"),
    )


@command(
    "resume",
    *budget_arguments("without it, only the brief and the changes"),
    session="id",
    json="Saved with `status`, `brief`, `since`, `working`, `timeout`, with --budget `restoration`",
    shape="ResumedSession",
    examples=(
        "segue resume",
        "segue resume 2026-11-15-coding-shop-001 --budget balanced --explain",
        "segue resume --budget 12000 --note adr-004 --copy",
    ),
)  # fmt: skip
def resume(context: CommandContext) -> int:
    """Resume the session; one that is over stays over."""
    args = context.args
    done = run(
        context.session(), budget=args.budget, notes=args.note, look=context.json or args.budget is None
    )
    note = [copied(_whole(done))] if args.copy and not done.is_over else []
    context.warn_all(done.saved.warnings)
    if done.is_over:
        return context.report(resumed_object(done), over_line(context.session().state))
    lines = resumed_lines(done, context.style, explain=args.explain)
    return context.report(resumed_object(done), *lines, *note)


def _whole(done: Resumed) -> str:
    """The text for the clipboard: the restored context, or the brief with what changed."""
    if done.restoration is not None:
        return done.restoration.text
    return "\n".join([done.brief, *(change_lines(done.since) if done.since is not None else [])])
