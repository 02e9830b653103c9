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
from ..apply import apply_commands
from ..command import argument, command, flag, many
from ..context import CommandContext, text_or_stdin


class _Opens(argparse.Action):
    """An option that another one may add to; stored as [text, addition or None]."""

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
            parser.error(f"--{self.dest} must follow {_OPENERS[self.dest]}")
        entry[1] = values


_LAST = {"decide": "last_why", "block": "last_reason", "drop": "last_reason"}
_OPENERS = {"why": "--decide", "reason": "--block or --drop"}


_ITEM = "its text, or its number as in `#3`"
NEW = "add a new item even if a planned one has a similar name"


@command(
    "checkpoint",
    many("--done", "ITEM", f"an item that is done: {_ITEM}"),
    many("--begin", "ITEM", f"an item that is under way: {_ITEM}"),
    many("--add", "ITEM", "an item to add to the plan"),
    argument("--block", "ITEM[=REASON]", "an item that is blocked; repeatable", action=_Opens),
    many("--unblock", "ITEM", "an item that is no longer blocked"),
    argument("--drop", "ITEM", "an item that will not be done; repeatable", action=_Opens),
    argument("--reason", "TEXT", "the reason, after --block or --drop", action=_Adds),
    flag("--stay", "do not begin the next item when one is blocked"),
    flag("--new", NEW),
    argument("--note", "TEXT", "what you have just done; `-` reads it from stdin"),
    argument("--decide", "TEXT", "a decision; repeatable", action=_Opens),
    argument("--why", "TEXT", "the reason, after --decide", action=_Adds),
    many("--ask", "TEXT", "an open question"),
    many("--answer", ("QUESTION", "ANSWER"), "a question and its answer"),
    many("--thread", "TOPIC[=STATUS]", "a line of thought and its status"),
    argument("--focus", "FILE[:POS]", "the place in the code you are working on"),
    many("--learn", "TEXT", "something you found out"),
    many("--error", "TEXT", "an error that occurred"),
    many("--solved", ("ERROR", "SOLUTION"), "an error and how it was solved"),
    argument("--summary", "TEXT", "where the work stands, in your own words"),
    argument("--goal", "TEXT", "a new goal"),
    argument("--name", "NAME", "name this state so that you can go back to it"),
    session="flag", json="Saved",
    shape="Saved",
    examples=(
        'segue checkpoint --done "user model" --begin "auth middleware" '
        '--note "edited middleware.py 45-89"',
        'segue checkpoint --decide "HS256" --why "one issuer only" --learn "tokens expire after 15 min"',
        'segue checkpoint --block "oauth=waiting for credentials" --ask "Who owns the OAuth app?"',
        'segue checkpoint --name before-refactor --note "all green"',
    ),
)  # fmt: skip
def checkpoint(context: CommandContext) -> int:
    """Any mix of changes, all or none."""
    commands = commands_of(context.args, lambda: context.session().state)
    return apply_commands(context, commands, context.args.error)


def commands_of(args: argparse.Namespace, state: Callable[[], SessionState]) -> list[do.Command]:
    """The commands for the options."""
    threads = (topic.partition("=") for topic in args.thread)
    made = Checkpoint(
        done=tuple(args.done), begin=tuple(args.begin), add=tuple(args.add),
        block=tuple(_blocked(entry, state) for entry in args.block or ()), unblock=tuple(args.unblock),
        drop=tuple((item, reason or "") for item, reason in args.drop or ()), stay=args.stay,
        new=args.new,
        note=text_or_stdin(args.note) if args.note is not None else None,
        decide=tuple((text, why or "") for text, why in args.decide or ()), ask=tuple(args.ask),
        answer=tuple(map(tuple, args.answer)), focus=args.focus, learn=tuple(args.learn),
        thread=tuple((topic, status) for topic, _, status in threads), error=tuple(args.error),
        solved=tuple(map(tuple, args.solved)), summary=args.summary, goal=args.goal, name=args.name,
    )  # fmt: skip
    return commands(made)


def planned_before(text: str, state: SessionState) -> tuple[str, str]:
    """The item and the reason in ``ITEM=REASON``, if that item is in the plan; else the whole text."""
    item, _, why = text.partition("=")
    if find_item(state, text) >= 0 or not why:
        return text, ""
    resolved = do.resolve_item(state, item.strip())
    is_planned = isinstance(resolved, str) and find_item(state, resolved) >= 0
    return (item.strip(), why.strip()) if is_planned else (text, "")


def _blocked(entry: Sequence[str | None], state: Callable[[], SessionState]) -> tuple[str, str]:
    """The item and the reason in ``ITEM=REASON``; an item of the plan may contain ``=`` itself."""
    text, reason = entry[0] or "", entry[1]
    if reason is not None or "=" not in text or find_item(state(), text) >= 0:
        return text, reason or ""
    item, _, why = text.partition("=")
    return item, why
