"""`segue vote`: say whether a memory was of help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..command import CliCommand
from ..context import CommandContext

if TYPE_CHECKING:
    from ..parser import Parser


def vote(context: CommandContext) -> int:
    """Count a vote for or against a memory."""
    memory = context.segue.memories.vote(context.args.id, context.args.vote, context=context.args.why or "")
    context.emit(memory)
    context.say(f"{memory.id}: {memory.helpful} helpful, {memory.harmful} harmful")
    return 0


def _arguments(parser: Parser) -> None:
    parser.add_argument("id", metavar="MEMORY", help="the id of the memory, or the beginning of it")
    parser.add_argument("vote", choices=("helpful", "harmful"), help="whether it helped")
    parser.add_argument("--why", metavar="TEXT", help="in what situation")


COMMANDS = (
    CliCommand(
        "vote", vote, _arguments, json="the Memory",
        examples=("segue vote m3f9a1 helpful", 'segue vote m3f9a1 harmful --why "the flag is gone"'),
    ),
)  # fmt: skip
