"""The short forms of `segue checkpoint`: done, begin, add, block, unblock, drop, note, decide, ask, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.sessions import commands as do
from ..apply import apply_commands
from ..command import Argument, argument, command, flag
from ..context import CommandContext, text_or_stdin
from .checkpoint import NEW, planned_before

Build = Callable[[Any], list[do.Command]]
_ITEMS = argument("items", "ITEM", "its text, or its number as in `#3`", nargs="+")
_NEW_ITEMS = argument("items", "ITEM", "its text", nargs="+")
_ITEM = argument("item", "ITEM", "its text, or its number as in `#3`")
_REASON = argument("--reason", "TEXT", "why", default="")
_NEW = flag("--new", NEW)
_TEXT = argument("text", "TEXT", "the text; `-` reads it from stdin")


def _short(name: str, build: Build, arguments: list[Argument], *examples: str) -> None:
    """Declare a short command, which applies these commands to a session."""
    declared = command(name, *arguments, session="flag", json="Saved", shape="Saved", examples=examples)
    declared(lambda context: apply_commands(context, build(context.args)))


def _block(context: CommandContext) -> int:
    args, reason = context.args, text_or_stdin(context.args.reason)
    item = args.item
    if not reason and "=" in item:
        item, reason = planned_before(item, context.session().state)
    return apply_commands(context, [do.Block(item, reason, args.stay, args.new)])


def _each(kind: Callable[[str], do.Command]) -> Build:
    return lambda args: [kind(item) for item in args.items]


def _each_planned(kind: Callable[..., do.Command]) -> Build:
    return lambda args: [kind(item, new=args.new) for item in args.items]


def _of_text(kind: Callable[[str], do.Command]) -> Build:
    return lambda args: [kind(text_or_stdin(args.text))]


_short("done", _each_planned(do.Done), [_ITEMS, _NEW], 'segue done "user model"', 'segue done "#2" "#3"')
_short("begin", _each_planned(do.Begin), [_ITEMS, _NEW], 'segue begin "auth middleware"', 'segue begin "#3"')
_short("add", _each(do.Add), [_NEW_ITEMS], 'segue add "token check" docs', "segue add docs -s leak-hunt")
command(
    "block", argument("item", "ITEM[=REASON]", "its text, or its number as in `#3`"), _REASON,
    flag("--stay", "do not begin the next item"), _NEW, session="flag", json="Saved", shape="Saved",
    examples=(
        'segue block "oauth integration" --reason "waiting for API credentials"',
        'segue block "#4=CI is down" --stay',
    ),
)(_block)  # fmt: skip
_short("unblock", _each(do.Unblock), [_ITEMS], 'segue unblock "oauth integration"', 'segue unblock "#4"')
_short(
    "drop", lambda args: [do.Drop(args.item, text_or_stdin(args.reason), args.new)],
    [_ITEM, _REASON, _NEW],
    'segue drop "SAML" --reason "nobody asked for it"', 'segue drop "#7"',
)  # fmt: skip
_short("note", _of_text(do.Note), [_TEXT], 'segue note "edited a.py 45-89"', "git log -1 | segue note -")
_short(
    "decide", lambda args: [do.Decide(text_or_stdin(args.text), args.why)],
    [_TEXT, argument("--why", "TEXT", "the reason", default="")],
    'segue decide "HS256" --why "one issuer only"', 'segue decide "no refresh tokens"',
)  # fmt: skip
_short("ask", _of_text(do.Ask), [_TEXT], 'segue ask "Who owns the OAuth app?"', "segue ask - < q.txt")
_short(
    "answer", lambda args: [do.Answer(args.question, text_or_stdin(args.text))],
    [
        argument("question", "QUESTION", "its text, or its number as in `#1`"),
        argument("text", "ANSWER", "the answer; `-` reads it from stdin"),
    ],
    'segue answer "Who owns the OAuth app?" "the platform team"', 'segue answer "#1" "the platform team"',
)  # fmt: skip
_short("learn", _of_text(do.Learn), [_TEXT], 'segue learn "tokens last 15 min"', "segue learn - < x.txt")
