"""`segue checkpoint`: any mix of changes, read from options in their order.

``--why`` belongs to the ``--decide`` before it, ``--reason`` to the ``--block`` or ``--drop``
before it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from ....core.base.text import clean_name
from ....core.sessions import commands as do
from ....core.sessions.state import SessionState, find_item
from ....errors import UsageError
from ..apply import apply_commands
from ..command import CliCommand
from ..context import CommandContext, text_or_stdin
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
            parser.error(f"--{self.dest} must follow {_OPENERS[self.dest]}")
        entry[1] = values


_LAST = {"decide": "last_why", "block": "last_reason", "drop": "last_reason"}
_OPENERS = {"why": "--decide", "reason": "--block or --drop"}


def _arguments(parser: Parser) -> None:
    item = "its text, or its number as in `#3`"
    add, many = parser.add_argument, parser.many
    many("--done", "ITEM", f"an item that is done: {item}")
    many("--begin", "ITEM", f"an item that is under way: {item}")
    many("--add", "ITEM", "an item to add to the plan")
    add("--block", metavar="ITEM[=REASON]", action=_Opens, help="an item that is blocked; repeatable")
    many("--unblock", "ITEM", "an item that is no longer blocked")
    add("--drop", metavar="ITEM", action=_Opens, help="an item that will not be done; repeatable")
    add("--reason", metavar="TEXT", action=_Adds, help="the reason, after --block or --drop")
    parser.flag("--stay", "do not begin the next item when one is blocked")
    add("--note", metavar="TEXT", help="what you have just done; `-` reads it from stdin")
    add("--decide", metavar="TEXT", action=_Opens, help="a decision; repeatable")
    add("--why", metavar="TEXT", action=_Adds, help="the reason, after --decide")
    many("--ask", "TEXT", "an open question")
    many("--answer", ("QUESTION", "ANSWER"), "a question and its answer")
    many("--thread", "TOPIC[=STATUS]", "a line of thought and how far it is")
    add("--focus", metavar="FILE[:POS]", help="the place that you are working on")
    many("--learn", "TEXT", "something you found out")
    many("--error", "TEXT", "an error that occurred")
    many("--solved", ("ERROR", "SOLUTION"), "an error and how it was solved")
    add("--summary", metavar="TEXT", help="where the work stands, in your own words")
    add("--goal", metavar="TEXT", help="a new goal")
    add("--name", metavar="NAME", help="name this state, so that you can rewind to it")


def checkpoint(context: CommandContext) -> int:
    """Any mix of changes, all or none."""
    return apply_commands(context, _commands(context.args, lambda: context.session().state))


def _commands(args: argparse.Namespace, state: Callable[[], SessionState]) -> list[do.Command]:
    """The commands that the options come to."""
    note = text_or_stdin(args.note) if args.note is not None else None
    made = [*_of_items(args, state, quiet=bool(args.done) or bool(note)), *_of_knowledge(args)]
    if args.focus is not None:
        file, position = _place(args.focus)
        made.append(do.Focus(file=file, position=position))
    if args.summary is not None or args.goal is not None:
        made.append(do.Describe(goal=_goal(args.goal), summary=args.summary))
    if note is not None:
        made.append(do.Note(note))
    if args.name is not None:
        made.append(do.Mark(clean_name(args.name, what="checkpoint's name"), note or ""))
    if not made:
        hint = "say what is done, begun, blocked or learnt, or give a name; see `segue checkpoint --help`"
        raise UsageError("the checkpoint is empty", hint=hint)
    return made


def _goal(goal: str | None) -> str | None:
    if goal is not None and not goal.strip():
        raise UsageError("the goal is empty", hint="say in a few words what you want to achieve")
    return goal


def _of_items(
    args: argparse.Namespace, state: Callable[[], SessionState], *, quiet: bool
) -> list[do.Command]:
    return [
        *(do.Add(item) for item in args.add),
        *(do.Done(item) for item in args.done),
        *(do.Unblock(item) for item in args.unblock),
        *(do.Block(*_blocked(entry, state), args.stay) for entry in args.block or ()),
        *(do.Drop(item, reason or "") for item, reason in args.drop or ()),
        *(do.Begin(item, quiet) for item in args.begin),
    ]


def _of_knowledge(args: argparse.Namespace) -> list[do.Command]:
    threads = (topic.partition("=") for topic in args.thread)
    return [
        *(do.Decide(text, why or "") for text, why in args.decide or ()),
        *(do.Ask(text) for text in args.ask),
        *(do.Answer(question, answer) for question, answer in args.answer),
        *(do.Thread(topic, status or "in_progress") for topic, _, status in threads),
        *(do.Learn(text) for text in args.learn),
        *(do.Fail(text) for text in args.error),
        *(do.Solve(error, solution) for error, solution in args.solved),
    ]


def _blocked(entry: Sequence[str | None], state: Callable[[], SessionState]) -> tuple[str, str]:
    """(item, reason) of ``ITEM=REASON``; an item of the plan may have a ``=`` in its own text."""
    text, reason = entry[0] or "", entry[1]
    if reason is not None or "=" not in text or find_item(state(), text) >= 0:
        return text, reason or ""
    item, _, why = text.partition("=")
    return item, why


def _place(text: str) -> tuple[str, str]:
    """(file, position) of ``FILE[:POS]``; a colon in the path itself is none."""
    file, colon, position = text.rpartition(":")
    return (file, position) if colon and file and not set(position) & set("/\\") else (text, "")


COMMANDS = (
    CliCommand(
        "checkpoint", checkpoint, _arguments, session="flag", json="Saved",
        examples=(
            'segue checkpoint --done "user model" --begin "auth middleware" '
            '--note "edited middleware.py 45-89"',
            'segue checkpoint --decide "HS256" --why "one issuer only" --learn "tokens expire after 15 min"',
            'segue checkpoint --block "oauth=waiting for credentials" --ask "Who owns the OAuth app?"',
            'segue checkpoint --name before-refactor --note "all green"',
        ),
    ),
)  # fmt: skip
