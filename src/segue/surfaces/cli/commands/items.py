"""Work on a session: checkpoint and its short forms, rewind, undo. Each is one commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ....core.base.values import parse_digits
from ....core.sessions import commands as do
from ....core.sessions.state import key, key_of
from ....errors import StoreUnavailable
from ...render import count, one_line, shown
from ..command import CliCommand
from ..context import CommandContext, text_or_stdin
from .checkpoint import checkpoint_arguments, commands_of

if TYPE_CHECKING:
    from ....api.session import Session
    from ....core.sessions.state import Item, Question, SessionState
    from ..parser import Parser

ROWS_MAX = 500
"""Items or questions that are compared with a new one."""
NEAR = 0.8
AS_BEFORE = "nothing changed: it was so already"
Build = Callable[[Any], list[do.Command]]


def _apply(context: CommandContext, commands: list[do.Command]) -> int:
    session = context.session()
    before = None if context.json else _plan_of(session, commands)
    saved = session.apply(*commands)
    if getattr(saved, "pending", False):
        from ....core.sessions.offline import in_words

        return context.pending(saved, one_line(in_words(commands)))
    if context.json:
        return context.saved(saved)
    from ....core.event_words import event_words
    from ..views.session import tally

    own = session.log(after=saved.version - saved.events)
    lines = [shown(event_words(event)) for event in own if event.version <= saved.version]
    if before is not None:
        lines += [line for command in commands if (line := _remark(before, command))]
    line = tally(session.status(), context.style)
    return context.saved(saved, *(lines or [AS_BEFORE]), *([line] if line else []))


def _plan_of(session: Session, commands: list[do.Command]) -> SessionState | None:
    """The state before commands that name items or questions; None where nobody can be asked."""
    if not any(hasattr(command, "item") or hasattr(command, "question") for command in commands):
        return None
    try:
        return session.state
    except StoreUnavailable:
        return None


def _remark(before: SessionState, command: do.Command) -> str:
    """A line for whoever named an item or a question that was not there: what was made of it, or meant."""
    rows: Sequence[Item | Question]
    if isinstance(command, do.Answer):
        text, rows, new = command.question, before.questions.flat(), "this was not asked before"
    else:
        text, rows, new = getattr(command, "item", ""), before.items.flat(), "it is a new item"
    if not text or text.startswith("#") or len(rows) > ROWS_MAX or key(text) in map(key_of, rows):
        return ""
    close = _meant(text, [key_of(row) for row in rows])
    if close:
        meant = one_line(rows[close - 1].text)
        return f"  {new}; if you meant #{close} ({meant}), take this back with `segue undo`"
    if isinstance(command, do.Answer):
        return f"  {new}: it is kept with its answer"
    if not text.isdecimal() or isinstance(command, do.Add):
        return ""
    return f"  {new}: the plan had {count(len(rows), 'item')}, no #{text[:20]}; `segue undo` takes it back"


def _meant(text: str, keys: list[str]) -> int:
    """The number of the row that a text without one of its own is for, or is much like; 0: of none."""
    if text.isdecimal():
        return parse_digits(text) if 0 < parse_digits(text) <= len(keys) else 0
    from difflib import get_close_matches

    near = get_close_matches(key(text), keys, n=1, cutoff=NEAR)
    return keys.index(near[0]) + 1 if near else 0


def _short(build: Build) -> Callable[[CommandContext], int]:
    return lambda context: _apply(context, build(context.args))


def checkpoint(context: CommandContext) -> int:
    """Any mix of changes, all or none."""
    return _apply(context, commands_of(context.args, lambda: context.session().state))


def rewind(context: CommandContext) -> int:
    """Back to a named checkpoint."""
    session = context.session()
    saved = session.rewind(context.args.name)
    name = one_line(context.args.name)
    line = f"back at checkpoint {name}; what came after stays in `segue log`" if saved.events else AS_BEFORE
    return context.saved(saved, line, *_tally(context))


def undo(context: CommandContext) -> int:
    """Take the last command back."""
    session = context.session()
    saved = session.undo()
    from ....services.handoff.undo import undone_of

    told = undone_of(session, saved)
    lines = [f"taken back: {shown(text)}" for text in told["undone"]]
    lines += [f"stays: {shown(text)}" for text in told["stays"]]
    return context.saved(saved, *lines, *_tally(context), **told)


def _tally(context: CommandContext) -> list[str]:
    from ..views.session import tally

    line = "" if context.json else tally(context.session().status(), context.style)
    return [line] if line else []


# -- arguments ---------------------------------------------------------------------------------


def _items(parser: Parser) -> None:
    parser.add_argument("items", nargs="+", metavar="ITEM", help="its text, or its number as in `#3`")


def _item(parser: Parser) -> None:
    parser.add_argument("item", metavar="ITEM", help="its text, or its number as in `#3`")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why")


def _block(parser: Parser) -> None:
    _item(parser)
    parser.add_argument("--stay", action="store_true", help="do not begin the next item instead")


def _text(parser: Parser) -> None:
    parser.add_argument("text", metavar="TEXT", help="`-` reads it from stdin")


def _decide(parser: Parser) -> None:
    _text(parser)
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason")


def _answer(parser: Parser) -> None:
    parser.add_argument("question", metavar="QUESTION", help="its text, or its number as in `#1`")
    parser.add_argument("text", metavar="ANSWER", help="`-` reads it from stdin")


def _name(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the checkpoint's name")


def _each(command: Callable[[str], do.Command]) -> Callable[[CommandContext], int]:
    return _short(lambda args: [command(item) for item in args.items])


def _of_text(command: Callable[[str], do.Command]) -> Callable[[CommandContext], int]:
    return _short(lambda args: [command(text_or_stdin(args.text))])


def _command(
    name: str, run: Callable[[CommandContext], int], declare: Callable[[Parser], None] | None, *examples: str
) -> CliCommand:
    return CliCommand(name, run, declare, session="flag", json="Saved", examples=examples)


COMMANDS = (
    _command(
        "checkpoint", checkpoint, checkpoint_arguments,
        'segue checkpoint --done "user model" --begin "auth middleware" --note "edited middleware.py 45-89"',
        'segue checkpoint --decide "HS256" --why "one issuer only" --learn "tokens expire after 15 min"',
        'segue checkpoint --block "oauth=waiting for credentials" --ask "Who owns the OAuth app?"',
        'segue checkpoint --name before-refactor --note "all green"',
    ),
    _command("done", _each(do.Done), _items, 'segue done "user model"', 'segue done "#2" "#3"'),
    _command("begin", _each(do.Begin), _items, 'segue begin "auth middleware"', 'segue begin "#3"'),
    _command("add", _each(do.Add), _items, 'segue add "token check" docs', "segue add docs -s leak-hunt"),
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
    _command("rewind", rewind, _name, "segue rewind before-refactor", "segue rewind before-refactor --json"),
    CliCommand(
        "undo", undo, session="flag",
        json="Saved with `undone` and `stays`: what was taken back and what was not",
        examples=("segue undo", "segue undo -s leak-hunt --json"),
    ),
)  # fmt: skip
