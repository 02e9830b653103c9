"""`segue sessions`: list them as `segue list` does, and join those that are one piece of work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import RefusedError, UsageError
from ...render import count, one_line, shown
from ..command import argument, command, flag
from ..context import CommandContext, can_ask, confirm
from .list import LISTED, list_sessions

if TYPE_CHECKING:
    from ....services.ledger.join_sessions import JoinedSession, SessionJoin, SplitWork

RUNS_NAMED = 6
_PARTS = (
    ("entries", "entry of the ledger", "entries of the ledger"), ("items", "item", "items"),
    ("decisions", "decision", "decisions"), ("questions", "question", "questions"),
    ("findings", "finding", "findings"),
)  # fmt: skip


def _list(context: CommandContext) -> int:
    if context.args.named:
        raise UsageError("`segue sessions list` takes no ids", hint="segue sessions join KEEP OTHER")
    return list_sessions(context)


def _join(context: CommandContext) -> int:
    """Show what a join does and, once that is agreed to, do it."""
    ids = context.args.named
    if not ids:
        return _suggest(context)
    workspace = context.segue.workspace
    from ....services.ledger.join_sessions import join_plan, join_sessions

    plan = join_plan(workspace, ids[0], ids[1:])
    if context.args.dry_run:
        return context.report(plan, *_plan_lines(plan), "nothing was changed")
    context.say(*_plan_lines(plan))
    if not context.args.yes:
        if not can_ask():
            raise RefusedError(
                "nothing was joined, because nobody can be asked here", hint="look at it, then add --yes"
            )
        if not confirm("Join them?"):
            return context.report(plan, "nothing was changed", code=1)
    done = join_sessions(workspace, ids[0], ids[1:])
    return context.report(done, f"joined: {one_line(done.keep)} has it all now; `segue ledger` shows it")


def _suggest(context: CommandContext) -> int:
    from ....services.ledger.join_sessions import split_works
    from ....services.runs.sync import take_in_newest

    segue = context.look()
    take_in_newest(segue.workspace)
    works = split_works(segue.workspace)
    lines = [line for work in works for line in _work_lines(work)]
    return context.report(works, *(lines or ["no open sessions here look like parts of the same work"]))


def _work_lines(work: SplitWork) -> list[str]:
    rows = zip(work.sessions, work.goals, strict=True)
    line = f"segue sessions join {' '.join(map(one_line, work.sessions))} --dry-run"
    return [
        f"{count(len(work.sessions), 'session')} that look like one piece of work:",
        *(f"  {one_line(id)}: {shown(goal)}" for id, goal in rows),
        f"what joining them would do: {line}",
    ]


def _plan_lines(plan: SessionJoin) -> list[str]:
    lines = [f"stays: {one_line(plan.keep)}: {shown(plan.goal)}"]
    for other in plan.others:
        lines += [
            f"joins: {one_line(other.id)}: {shown(other.goal)}",
            *(f"  {line}" for line in _brought(other)),
        ]
    return lines


def _brought(other: JoinedSession) -> list[str]:
    number = len(other.runs)
    names = ", ".join(map(one_line, other.runs[:RUNS_NAMED])) + (", …" if number > RUNS_NAMED else "")
    lines = [f"{count(number, 'run')} {'moves' if number == 1 else 'move'}: {names}"] if number else []
    brought = [count(n, one, several) for name, one, several in _PARTS if (n := getattr(other, name))]
    lines.append(f"{', '.join(brought)} added" if brought else "nothing is added that is not there")
    if other.stays_there:
        lines.append(f"stays there, to be read: {', '.join(other.stays_there)}")
    lines.append("it is then closed, not deleted" if other.closes else f"it is {other.status}, and stays so")
    return lines


command(
    "sessions",
    argument("named", "ID", "with join: the session that stays, and those that join it", nargs="*"),
    flag("--yes", "with join: do not ask"),
    flag("--dry-run", "with join: only show what it would do"),
    *LISTED,
    json="list: as `segue list`; join: what it did, or with `--dry-run` would do; "
    "join without ids: sessions that look like one piece of work",
    shape={
        "list": "list[Card]", "list --ids": "list[str]", "join": "list[SplitWork]",
        "join --dry-run": "SessionJoin", "join --yes": "SessionJoin",
    },
    examples=(
        "segue sessions", "segue sessions join", "segue sessions join login login-2 --dry-run",
        "segue sessions join login login-2 login-3 --yes",
    ),
    actions={"list": _list, "join": _join},
)  # fmt: skip
