"""The short forms of `segue checkpoint`: done, begin, add, block, unblock, drop, note, decide, ask, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....core.sessions import commands as do
from ..apply import apply_commands
from ..command import CliCommand
from ..context import CommandContext, text_or_stdin

if TYPE_CHECKING:
    from ..parser import Parser

Build = Callable[[Any], list[do.Command]]


def _short(build: Build) -> Callable[[CommandContext], int]:
    return lambda context: apply_commands(context, build(context.args))


def _items(parser: Parser) -> None:
    parser.add_argument("items", nargs="+", metavar="ITEM", help="its text, or its number as in `#3`")


def _new_items(parser: Parser) -> None:
    parser.add_argument("items", nargs="+", metavar="ITEM", help="its text")


def _item(parser: Parser) -> None:
    parser.add_argument("item", metavar="ITEM", help="its text, or its number as in `#3`")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why")


def _block(parser: Parser) -> None:
    _item(parser)
    parser.flag("--stay", "do not begin the next item")


def _text(parser: Parser) -> None:
    parser.add_argument("text", metavar="TEXT", help="the text; `-` reads it from stdin")


def _decide(parser: Parser) -> None:
    _text(parser)
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason")


def _answer(parser: Parser) -> None:
    parser.add_argument("question", metavar="QUESTION", help="its text, or its number as in `#1`")
    parser.add_argument("text", metavar="ANSWER", help="the answer; `-` reads it from stdin")


def _each(command: Callable[[str], do.Command]) -> Callable[[CommandContext], int]:
    return _short(lambda args: [command(item) for item in args.items])


def _of_text(command: Callable[[str], do.Command]) -> Callable[[CommandContext], int]:
    return _short(lambda args: [command(text_or_stdin(args.text))])


def _command(
    name: str, run: Callable[[CommandContext], int], declare: Callable[[Parser], None] | None, *examples: str
) -> CliCommand:
    return CliCommand(name, run, declare, session="flag", json="Saved", examples=examples)


COMMANDS = (
    _command("done", _each(do.Done), _items, 'segue done "user model"', 'segue done "#2" "#3"'),
    _command("begin", _each(do.Begin), _items, 'segue begin "auth middleware"', 'segue begin "#3"'),
    _command("add", _each(do.Add), _new_items, 'segue add "token check" docs', "segue add docs -s leak-hunt"),
    _command(
        "block", _short(lambda a: [do.Block(a.item, text_or_stdin(a.reason), a.stay)]), _block,
        'segue block "oauth integration" --reason "waiting for API credentials"',
        'segue block "#4" --reason "CI is down" --stay',
    ),
    _command("unblock", _each(do.Unblock), _items, 'segue unblock "oauth integration"', 'segue unblock "#4"'),
    _command(
        "drop", _short(lambda a: [do.Drop(a.item, text_or_stdin(a.reason))]), _item,
        'segue drop "SAML" --reason "nobody asked for it"', 'segue drop "#7"',
    ),
    _command("note", _of_text(do.Note), _text, 'segue note "edited a.py 45-89"', "git log -1 | segue note -"),
    _command(
        "decide", _short(lambda a: [do.Decide(text_or_stdin(a.text), a.why)]), _decide,
        'segue decide "HS256" --why "one issuer only"', 'segue decide "no refresh tokens"',
    ),
    _command("ask", _of_text(do.Ask), _text, 'segue ask "Who owns the OAuth app?"', "segue ask - < q.txt"),
    _command(
        "answer", _short(lambda a: [do.Answer(a.question, text_or_stdin(a.text))]), _answer,
        'segue answer "Who owns the OAuth app?" "the platform team"', 'segue answer "#1" "the platform team"',
    ),
    _command("learn", _of_text(do.Learn), _text, 'segue learn "tokens last 15 min"', "segue learn - < x.txt"),
)  # fmt: skip
