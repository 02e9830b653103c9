"""`segue checkpoint`: any mix of changes, read from options in their order.

``--why`` belongs to the ``--decide`` before it, ``--reason`` to the ``--block`` or ``--drop``
before it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from ....core.sessions import commands as do
from ....core.sessions.checkpoint import Checkpoint, commands
from ....core.sessions.state import SessionState, find_item
from ..context import text_or_stdin
from ..parser import Parser


class _Opens(argparse.Action):
    """An option that another one may add to: kept as [text, addition or None]."""

    def __call__(
        self, parser: argparse.ArgumentParser, space: argparse.Namespace, values: Any, flag: str | None = None
    ) -> None:
        entry: list[str | None] = [values, None]
        setattr(space, self.dest, [*(getattr(space, self.dest) or []), entry])
        setattr(space, _LAST[self.dest], entry)


class _Adds(argparse.Action):
    """An option that belongs to the one before it."""

    def __call__(
        self, parser: argparse.ArgumentParser, space: argparse.Namespace, values: Any, flag: str | None = None
    ) -> None:
        entry = getattr(space, f"last_{self.dest}", None)
        if entry is None or entry[1] is not None:
            parser.error(f"--{self.dest} belongs behind {_OPENERS[self.dest]}")
        entry[1] = values


_LAST = {"decide": "last_why", "block": "last_reason", "drop": "last_reason"}
_OPENERS = {"why": "--decide", "reason": "--block or --drop"}


def checkpoint_arguments(parser: Parser) -> None:
    """The options of `segue checkpoint`."""
    repeated: dict[str, Any] = {"action": "append", "default": []}
    item = "its text, or its number as in `#3`; repeatable"
    add = parser.add_argument
    add("--done", metavar="ITEM", help=f"finished: {item}", **repeated)
    add("--begin", metavar="ITEM", help=f"under way: {item}", **repeated)
    add("--add", metavar="ITEM", help="plan it; repeatable", **repeated)
    add("--block", metavar="ITEM[=REASON]", action=_Opens, help="it waits; repeatable")
    add("--unblock", metavar="ITEM", help="it waits no more; repeatable", **repeated)
    add("--drop", metavar="ITEM", action=_Opens, help="it will not be done; repeatable")
    add("--reason", metavar="TEXT", action=_Adds, help="why, behind --block or --drop")
    add("--stay", action="store_true", help="do not begin the next item instead of a blocked one")
    add("--note", metavar="TEXT", help="what was just done; `-` reads it from stdin")
    add("--decide", metavar="TEXT", action=_Opens, help="a choice was made; repeatable")
    add("--why", metavar="TEXT", action=_Adds, help="the reason, behind --decide")
    add("--ask", metavar="TEXT", help="a question is open; repeatable", **repeated)
    add("--answer", nargs=2, metavar=("QUESTION", "ANSWER"), help="a question is answered", **repeated)
    add("--thread", metavar="TOPIC[=STATUS]", help="a line of thought moved; repeatable", **repeated)
    add("--focus", metavar="FILE[:POS]", help="where the attention is")
    add("--learn", metavar="TEXT", help="something was found out; repeatable", **repeated)
    add("--error", metavar="TEXT", help="an error was seen; repeatable", **repeated)
    add("--solved", nargs=2, metavar=("ERROR", "SOLUTION"), help="an error was solved, and how", **repeated)
    add("--summary", metavar="TEXT", help="how far it is, in your words")
    add("--goal", metavar="TEXT", help="change the goal")
    add("--name", metavar="NAME", help="freeze the state under this name, to rewind to")


def commands_of(args: argparse.Namespace, state: Callable[[], SessionState]) -> list[do.Command]:
    """The commands that the options come to."""
    threads = (topic.partition("=") for topic in args.thread)
    made = Checkpoint(
        done=tuple(args.done), begin=tuple(args.begin), add=tuple(args.add),
        block=tuple(_blocked(entry, state) for entry in args.block or ()), unblock=tuple(args.unblock),
        drop=tuple((item, reason or "") for item, reason in args.drop or ()), stay=args.stay,
        note=text_or_stdin(args.note) if args.note is not None else None,
        decide=tuple((text, why or "") for text, why in args.decide or ()), ask=tuple(args.ask),
        answer=tuple(map(tuple, args.answer)), focus=args.focus, learn=tuple(args.learn),
        thread=tuple((topic, status) for topic, _, status in threads), error=tuple(args.error),
        solved=tuple(map(tuple, args.solved)), summary=args.summary, goal=args.goal, name=args.name,
    )  # fmt: skip
    return commands(made)


def _blocked(entry: Sequence[str | None], state: Callable[[], SessionState]) -> tuple[str, str]:
    """(item, reason) of ``ITEM=REASON``; an item of the plan may have a ``=`` in its own text."""
    text, reason = entry[0] or "", entry[1]
    if reason is not None or "=" not in text or find_item(state(), text) >= 0:
        return text, reason or ""
    item, _, why = text.partition("=")
    return item, why
