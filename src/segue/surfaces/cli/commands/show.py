"""`segue show`: everything that is known of a session or a run."""

from __future__ import annotations

from shlex import quote
from typing import Any

from ....errors import UsageError
from ....services.brief.delivered import told_to_run
from ....services.runs.listing import run_named
from ....services.runs.run import Run
from ....services.search.found_step import found_step
from ...render import one_line, plain, steps_object
from ..command import argument, command, flag
from ..context import CommandContext
from ..views.runs import run_lines, step_lines, told_lines, whole_step_lines
from ..views.session import show_lines
from .log import show_events


@command(
    "show",
    flag("--timeline", "what happened, in order: a run's steps, a session's events"),
    argument(
        "--limit", "N", "with --timeline of a run: the newest N steps; by default all", type=int, default=0,
    ),
    argument("-C --context", "N", "with RUN#STEP: also N steps before and after it", type=int, default=0),
    flag("--full", "with RUN#STEP: show long texts in full"),
    flag("--told", "what Segue told a run: its brief, and what came later"),
    session="id",
    json="a SessionStatus with `end_reason`, `answered`, `solved`, `notes`, `context`, `marks`, `handed` "
    "and `unknown_events` beside it; of a run, a Run; with `--timeline` an array of steps with "
    "their numbers, or of Events; of RUN#STEP an array of steps; with `--told` an array of texts",
    shape={
        "": "ShownSession | Run", "--timeline": "list[ShownStep] | list[ShownEvent]",
        "RUN#STEP": "list[ShownStep]", "--told": "list[DeliveredBrief]",
    },
    examples=(
        "segue show", "segue show 2026-11-15-coding-shop-001", "segue show 56e8 --timeline",
        "segue show 56e8#214 -C 3 --full",
    ),
)  # fmt: skip
def show(context: CommandContext) -> int:
    """Everything that is known of a session, or of a run."""
    is_step = "#" in context.session_id()
    if is_step and not context.args.told:
        return _show_step(context, context.session_id())
    run = None if is_step else _run(context)
    if run is not None:
        return _show_run(context, run)
    if context.args.told:
        raise UsageError("--told is about a run", hint="`segue runs` lists the runs that are here")
    session = context.session()
    if context.args.timeline:
        return show_events(context, session.log())
    found, state = session.status(), session.state
    lines = show_lines(found, context.style, state)
    return context.report({**plain(found), **_beyond_status(state)}, *lines)


def _run(context: CommandContext) -> Run | None:
    """The run that is meant; None if a session is."""
    id, newest = context.session_id(), context.args.timeline or context.args.told
    if not id and not newest:
        return None
    return context.looked(lambda segue: run_named(segue.workspace, id), "the agents' files")


def _show_step(context: CommandContext, handle: str) -> int:
    """Show a step of a run as it was found by a search, with those around it."""
    around = max(0, context.args.context)
    found = found_step(context.segue.workspace, handle, around)
    style, full = context.style, context.args.full
    lines = [line for at, step in found.steps
             for line in whole_step_lines(at, step, at == found.step, style, full=full)]  # fmt: skip
    id = handle.partition("#")[0]
    there = "" if found.is_here or not found.cwd else f"--folder {quote(found.cwd)} "
    onward = [
        f"segue show {id}#{found.step} -C {around + 5}",
        f"segue {there}brief {id}",
        f"segue {there}continue {id}",
    ]
    return context.report(
        steps_object(found.steps),
        *lines,
        context.style.paint(f"next: {', '.join(map(one_line, onward))}", "dim"),
    )


def _show_run(context: CommandContext, run: Run) -> int:
    """Show the facts of a run, its steps, or what it was told."""
    if context.args.told:
        found = told_to_run(context.segue.workspace, run)
        lines = [line for one in found for line in told_lines(one, context.style)]
        return context.report(found, *(lines or ["Segue told this run nothing"]))
    if not context.args.timeline:
        return context.report(run, *run_lines(run, context.style))
    from ....services.runs.listing import steps_of

    steps = list(enumerate(steps_of(context.segue.workspace, run), 1))
    if context.args.limit > 0:
        steps = steps[-context.args.limit :]
    return context.report(steps_object(steps), *step_lines(steps, context.style))


def _beyond_status(state: Any) -> dict[str, Any]:
    return {
        "end_reason": state.end_reason,
        "answered": [q for q in state.questions if q.answer],
        "solved": [t for t in state.troubles if t.solution],
        "notes": state.notes,
        "context": state.context,
        "marks": state.marks,
        "handed": state.handed,
        "unknown_events": state.unknown,
    }
