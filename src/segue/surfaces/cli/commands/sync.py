"""`segue sync`: take in what is new of agents' transcripts."""

from __future__ import annotations

import os
from pathlib import Path

from ....errors import TranscriptUnreadable
from ....services.runs.sync import Synced, retention_notice
from ...render import bytes_words, count, one_line
from ..command import argument, command, flag
from ..context import CommandContext
from ..progress import ProgressBar

PROCESSES_MAX = 4
"""How many processes read transcripts: more would wait for the disk, and leave nothing for others."""


@command(
    "sync",
    argument("path", "PATH", "transcripts or folders of them; by default those of the project", nargs="*"),
    argument("--agent", "NAME", "only runs of this agent; with PATH, the agent that wrote it"),
    flag("--all", "also make the runs of every other project on this machine searchable"),
    session="flag",
    json="`{read, new, unchanged, unreadable, bytes_read, sessions, dropped, archive_bytes, retention, "
    "shared, unshared, first, searchable}`",
    shape="Synced",
    examples=("segue sync", "segue sync --all", "segue sync --json", "segue sync old-logs/rollout.jsonl"),
)  # fmt: skip
def sync(context: CommandContext) -> int:
    """Take in what is new, and keep copies."""
    args = context.args
    paths = [Path(path).expanduser().absolute() for path in args.path]
    try:
        with ProgressBar(context, bytes_words) as progress:
            done = context.segue.sync(
                agent=args.agent or "", paths=paths, session=args.session or "", progress=progress,
                workers=min(PROCESSES_MAX, os.cpu_count() or 1), everywhere=args.all,
            )  # fmt: skip
    except KeyboardInterrupt:
        context.warn("what was read so far is kept; `segue sync` reads the rest")
        raise
    context.emit(done)
    context.say(*_summary(done))
    for agent in done.first:  # once is enough; `segue doctor` says it again
        if agent in done.retention and not paths:
            kept = context.segue.workspace.settings["archive_bytes_max"] > 0
            context.warn(retention_notice(agent, done.retention[agent], kept=kept))
    for one in done.unreadable:
        named = "" if one.path and one.path in one.reason else f"{one_line(one.path or one.agent)}: "
        context.warn(f"not read: {named}{one_line(one.reason)}")
    for left in done.unshared:
        named = f"{one_line(left.path)}: " if left.path else ""
        context.warn(f"{named}{one_line(left.reason)}")
    nothing = done.unreadable and not done.read and not done.unchanged
    return TranscriptUnreadable.exit_code if paths and nothing else 0


def _summary(done: Synced) -> list[str]:
    read = f"{count(done.read, 'run')} read ({done.new} new, {bytes_words(done.bytes_read)})"
    lines = [f"{read}, {done.unchanged} unchanged, {len(done.unreadable)} unreadable"]
    if done.searchable:
        lines.append(f"{count(done.searchable, 'run')} of other projects can be searched")
    if done.sessions:
        lines.append(f"{count(len(done.sessions), 'session')} started for runs that had none")
    if done.dropped:
        lines.append(
            f"{count(done.dropped, 'old copy', 'old copies')} removed to keep the archive within its limits"
        )
    if done.shared:
        lines.append(f"{count(done.shared, 'transcript')} shared, as masked copies in the store")
    return lines
