"""A command run for somebody else in this process: with writers of its own, and maybe a Segue that is lent.

Nothing of the process is touched, so several may run at once. There is no standard input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from .command import find
from .context import NO_INPUT, CommandContext
from .main import _behind_dashes, _split, _unknown
from .table import TABLE

if TYPE_CHECKING:
    from ...api.segue import Segue


def run(words: Sequence[str], *, out: TextIO, err: TextIO, segue: Segue | None = None) -> int:
    """Run a command of the table; its exit code. Raises what goes wrong."""
    before, command, rest = _split(list(words))
    if command not in TABLE:
        raise _unknown(command)
    found = find(command)
    options, dashed = _behind_dashes(rest)
    own, behind = (options, dashed) if found.more else (rest, [])
    reset = NO_INPUT.set(True)
    try:
        args = found.parser().read([*before, *own])
        with CommandContext(command, args, behind, segue=segue, out=out, err=err) as context:
            return found.run(context)
    finally:
        NO_INPUT.reset(reset)
