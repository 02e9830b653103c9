"""`segue runs`: the runs that agents left on this machine."""

from __future__ import annotations

from ...render import ago, paint_word, table
from ..command import argument, command, flag
from ..context import CommandContext
from ..views.runs import ended_words, short_ids

_COLOURS = {"alive": "green", "crashed": "red", "interrupted": "yellow", "waiting": "cyan"}


@command(
    "runs",
    flag("--all", "runs of all projects"),
    argument("--agent", "NAME", "only runs of this agent"),
    argument("--limit", "N", "the newest N; by default 20, 0: all", type=int, default=20),
    json="an array of Runs",
    examples=("segue runs", "segue runs --all --agent codex", "segue runs --limit 0 --json"),
)  # fmt: skip
def runs(context: CommandContext) -> int:
    """The runs that agents left in this project, or in all."""
    args = context.args
    found = context.looked(
        lambda segue: segue.runs(agent=args.agent or "", everywhere=args.all, limit=max(0, args.limit)),
        "the agents' files",
    )
    if context.json or not found:
        return context.report(found, "no runs here; `segue runs --all` lists those of every project")
    names = short_ids([run.id for run in found])
    rows = [
        (
            names[run.id] + (" (sub-agent)" if run.side else ""), run.agent, ago(run.last),
            ended_words(run), run.used, run.goal or "(no prompt)",
        )
        for run in found
    ]  # fmt: skip
    head = ("run", "agent", "active", "ended", "window", "prompt")
    first, *lines = table(head, rows, context.style)
    painted = (
        paint_word(line, run.ended, _COLOURS.get(run.ended), context.style)
        for line, run in zip(lines, found, strict=True)
    )
    return context.report(found, first, *painted)
