"""`segue recover`: bring back what is readable of a damaged store. It works without a store."""

from __future__ import annotations

from typing import Any

from ....errors import UsageError
from ....services.upkeep.recover.aside import begin_anew
from ....services.upkeep.recover.ladder import recover as run
from ....services.upkeep.recover.result import KeptHistory, Recovery
from ...render import Style, count, finding_line, one_line
from ..command import argument, command, flag
from ..context import CommandContext
from ..progress import ProgressBar


@command(
    "recover",
    flag("--dry-run", "show what would be recovered, and change nothing"),
    flag("--new", "start a new store in place of a lost one; what is left of the old one is kept"),
    argument(
        "--memory-dir", "DIR", "where handovers write their notes; by default `memory`", default="memory",
    ),
    flag("--from-git", "also take sessions that only a handover's state in this repository knows"),
    json="`{rungs, sessions, events, missing, kept, changed, memories, doubt, backup, histories}`",
    shape="Recovery",
    examples=("segue recover --dry-run", "segue recover"),
)  # fmt: skip
def recover(context: CommandContext) -> int:
    """Recover what can be read, and list what is missing."""
    if not context.args.dry_run:
        context.check_paused()
    if context.args.new:
        return _begin_anew(context)
    with ProgressBar(context) as progress:
        found = run(
            context.data_folder(), context.own_settings(), dry_run=context.args.dry_run,
            progress=progress, folder=context.folder, memory_dir=context.args.memory_dir,
            from_git=context.args.from_git,
        )  # fmt: skip
    lines = [finding_line(context.style, rung) for rung in found.rungs]
    more = f", {count(found.memories, 'memory', 'memories')}" if found.doubt else ""
    lines.append(f"{count(found.sessions, 'session')}, {count(found.events, 'event')}{more}")
    lines += _missing(context.style, found.missing)
    lines += [context.style.paint(_other(one), "yellow") for one in found.histories]
    lines += [context.style.paint(found.doubt, "yellow")] if found.doubt else []
    lines += [f"the damaged original was kept: {one_line(found.kept)}"] if found.kept else []
    lines += [f"what was recovered was backed up: {one_line(found.backup)}"] if found.backup else []
    if not found.changed:
        dry = context.args.dry_run
        lines.append("this was a dry run: nothing was changed" if dry else "nothing had to be changed")
    return context.report(found, *lines)


def _begin_anew(context: CommandContext) -> int:
    home = context.data_folder().for_store(context.own_settings().text("store"))
    if context.args.dry_run or home.shared_store:
        raise UsageError(
            "--new starts a store in a file and has no dry run", hint="`segue recover --dry-run`"
        )
    kept = str(begin_anew(home))
    nothing = Recovery([], 0, 0, [], kept, True)
    return context.report(nothing, "started a new store", f"what was left was kept: {one_line(kept)}")


def _other(kept: KeptHistory) -> str:
    return (
        f"two histories: {one_line(kept.of)} is another one in {one_line(kept.source)} from version "
        f"{kept.version} on; that one is kept as {one_line(kept.session)}"
    )


def _missing(style: Style, missing: list[Any]) -> list[str]:
    lines = []
    for gap in missing:
        which = f"versions {gap.first}-{gap.last}" if gap.last > gap.first else f"version {gap.first}"
        text = f"missing: {one_line(gap.stream.removeprefix('session/'))}, {which}: {one_line(gap.reason)}"
        lines.append(style.paint(text if gap.last else text.replace(f", {which}", ""), "red"))
    return lines
