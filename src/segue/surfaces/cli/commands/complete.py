"""`segue complete`: the goal is reached."""

from __future__ import annotations

from ....api.session import Session
from ....errors import UsageError
from ....services.features.complete import complete as run
from ....services.resume.activity import note_activity
from ...render import count, one_line
from ..apply import AS_BEFORE
from ..command import argument, command, flag
from ..context import CommandContext, text_or_stdin


@command(
    "complete",
    argument("--summary", "TEXT", "the result, in a sentence or two", default=""),
    flag("--with-model", "without --summary, let the configured model write one"),
    argument("--force", "REASON", "complete it although not every feature is proven; the reason is recorded"),
    session="id",
    json="Saved with `left_open` (items), `proven` (false without features), `unproven` and `changes`",
    shape="CompletedSession",
    examples=("segue complete", 'segue complete --summary "JWT everywhere, sessions gone"'),
)  # fmt: skip
def complete(context: CommandContext) -> int:
    """Complete the session, and say what is left open or unproven."""
    session = context.session()
    if context.args.force is not None and not context.args.force.strip():
        raise UsageError(
            "--force needs a reason", hint="say why it is complete although not everything is proven"
        )
    summary = text_or_stdin(context.args.summary)
    if context.args.with_model and not summary:
        summary = _summed_up(context, session)
    note_activity(session)
    done = run(session, summary, force=context.args.force or "")
    gate, left = done.gate, done.left_open
    lines = [f"completed: {one_line(done.goal)}" if done.saved.events else AS_BEFORE]
    if left:
        names = ", ".join(one_line(item) for item in left[:5]) + (", …" if len(left) > 5 else "")
        verb = "is" if len(left) == 1 else "are"
        lines.append(f"{count(len(left), 'item')} {verb} left open: {names}")
    forced = ["forced, although not everything is proven:", *gate.text.splitlines()]
    lines += [one_line(gate.text)] if gate.ok else forced
    lines += [f"changed on the way: {one_line(change)}" for change in gate.changes]
    unproven = [{"id": one.id, "status": one.status, "reason": one.reason} for one in gate.unproven]
    return context.saved(
        done.saved, *lines, left_open=left, proven=done.proven, unproven=unproven, changes=list(gate.changes)
    )


def _summed_up(context: CommandContext, session: Session) -> str:
    """A summary by the configured model, made of those of its claims that hold; empty if there is none."""
    from ....services.models import refine
    from ..progress import model_progress

    found = refine.summary(context.segue.workspace, session, say=model_progress(context))
    if found.fell_back:
        context.warn(f"no summary from a model: {found.fell_back}")
    return refine.summary_text(found)
