"""`segue runs`: the runs that agents left on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....services.runs.listing import RunList, newest_runs, project_name_of
from ...render import ago, paint_word, table
from ..command import argument, command, flag
from ..context import CommandContext
from ..views.runs import ended_words, short_ids

if TYPE_CHECKING:
    from ....api.segue import Segue

_COLOURS = {"alive": "green", "crashed": "red", "interrupted": "yellow", "waiting": "cyan"}

_INSTEAD = "the agents' files"
NOTHING_HERE = "no runs here; `segue runs --all` lists those of every project"


@command(
    "runs",
    flag("--all", "runs of all projects"),
    argument("--agent", "NAME", "only runs of this agent"),
    argument("--limit", "N", "the newest N; by default 20, 0: all", type=int, default=20),
    json="an array of Runs",
    shape="list[Run]",
    examples=("segue runs", "segue runs --all --agent codex", "segue runs --limit 0 --json"),
)  # fmt: skip
def runs(context: CommandContext) -> int:
    """The runs that agents left in this project, or in all."""
    args, limit = context.args, max(0, context.args.limit)
    listed, names = context.looked(lambda segue: _listed(segue, args.agent or "", args.all, limit), _INSTEAD)
    found = listed.runs
    if context.json or not found:
        nothing = "no runs on this machine" if args.all else NOTHING_HERE
        return context.report(found, nothing)
    ids = short_ids([run.id for run in found])
    rows = [
        (
            ids[run.id] + (" (sub-agent)" if run.side else ""), run.agent, *([names[run.key]] * args.all),
            ago(run.last), ended_words(run), run.used, run.goal or "(no prompt)",
        )
        for run in found
    ]  # fmt: skip
    head = ("run", "agent", *(["project"] * args.all), "active", "ended", "window", "about")
    first, *lines = table(head, rows, context.style)
    if len(lines) == len(found):  # else rows take several lines
        lines = [
            paint_word(line, run.ended, _COLOURS.get(run.ended), context.style)
            for line, run in zip(lines, found, strict=True)
        ]
    if listed.total > len(found):
        rest = f"{len(found):,} of {listed.total:,}; --limit 0 shows all"
        lines += ["", context.style.paint(rest, "dim")]
    return context.report(found, first, *lines)


def _listed(segue: Segue, agent: str, everywhere: bool, limit: int) -> tuple[RunList, dict[str, str]]:
    """The runs, and the names of their projects by the keys of the runs."""
    listed = newest_runs(segue.workspace, agent=agent, everywhere=everywhere, limit=limit)
    return listed, {run.key: project_name_of(segue.workspace, run) for run in listed.runs}
