"""`segue vote`: say whether a memory was helpful."""

from __future__ import annotations

from ..command import argument, command
from ..context import CommandContext


@command(
    "vote",
    argument("id", "MEMORY", "the id of the memory, or the beginning of it"),
    argument("vote", None, "whether it helped", choices=("helpful", "harmful")),
    argument("--why", "TEXT", "in what situation"),
    json="the Memory",
    shape="Memory",
    examples=("segue vote m3f9a1 helpful", 'segue vote m3f9a1 harmful --why "the flag is gone"'),
)  # fmt: skip
def vote(context: CommandContext) -> int:
    """Count a vote for or against a memory."""
    memory = context.segue.memories.vote(context.args.id, context.args.vote, context=context.args.why or "")
    return context.report(memory, f"{memory.id}: {memory.helpful} helpful, {memory.harmful} harmful")
