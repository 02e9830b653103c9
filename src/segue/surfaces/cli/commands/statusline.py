"""`segue statusline`: a line for the status line of Claude Code."""

from __future__ import annotations

from ..command import command
from ..context import CommandContext


@command(
    "statusline",
    json="the line itself: Claude Code shows what is printed",
    shape="NoJson",
    examples=("segue statusline < status.json", "segue statusline --folder shop < status.json"),
)
def statusline(context: CommandContext) -> int:
    """Print a line for what Claude Code says of itself on standard input; nothing if nothing is known."""
    import os
    import sys

    from ....settings import data_folder
    from ...hook import answered

    try:
        os.chdir(context.folder)
        payload = sys.stdin.buffer.read() if not sys.stdin.isatty() else b""
        line = answered(str(data_folder(context.environment)), "claude-code", "StatusLine", payload)
        sys.stdout.flush()
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    except Exception:
        pass  # a status line must never disturb the agent
    return 0
