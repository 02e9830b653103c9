"""The parser of a command; only the parser of the command that is run is made. Global options may come before
or after the command. Help is written here rather than by argparse, so that it is the same on every version of
Python and serves as the reference.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ...errors import UsageError

Declared = Sequence[tuple[Sequence[str], Mapping[str, Any]]]
"""Arguments and options: the names of each, and its settings for argparse."""


class _Formatter(argparse.HelpFormatter):
    """A formatter with a fixed width: argparse makes one for every argument, and would look at the terminal
    each time."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100)


def _whole(text: str) -> int:
    """A whole number that a store can hold."""
    number = int(text)
    if abs(number) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text[:40]} is too large a number")
    return number


_whole.__name__ = "int"  # for the words of argparse's own errors

_PLAIN: tuple[tuple[str, str], ...] = (
    (r"argument (?:\S+/)?(\S+): invalid int value: (.*)", r"\1: \2 is not a whole number"),
    (r"argument (?:\S+/)?(\S+): invalid float value: (.*)", r"\1: \2 is not a number"),
    (r"argument (?:\S+/)?(\S+): expected (?:at least )?\w+ arguments?", r"\1 needs a value"),
    (r"argument (?:\S+/)?(\S+): not allowed with argument (\S+)", r"\1 and \2 exclude each other"),
    (r"argument (?:\S+/)?(\S+): (.*)", r"\1: \2"),
    (r"unrecognized arguments: (.*)", r"unknown: \1"),
)
"""What argparse says, and how a person would."""
_CHOICE = r"argument (?:\S+/)?(\S+): invalid choice: (.*) \(choose from (.*)\)"


def _in_plain_words(message: str) -> str:
    import re

    if choice := re.fullmatch(_CHOICE, message, re.DOTALL):
        return f"{choice[1]}: {choice[2]} is not one of {choice[3].replace(chr(39), '')}"
    for pattern, words in _PLAIN:
        if re.fullmatch(pattern, message, re.DOTALL):
            return re.sub(pattern, words, message, count=1, flags=re.DOTALL)
    return message


class Parser(argparse.ArgumentParser):
    """The parser of one command; a bad command line is a UsageError."""

    def __init__(self, name: str, own: Declared, shared: Declared, more: str = "") -> None:
        """``own`` are the options of this command, ``shared`` those of every command; ``more`` is as in
        ``CliCommand``."""
        super().__init__(
            prog=f"segue {name}".strip(), add_help=False, allow_abbrev=False, formatter_class=_Formatter
        )
        self.name = name
        self.own = len(own)
        self.more = more
        self.register("type", int, _whole)
        taken = {name for names, _ in own for name in names}
        for names, settings in own:
            self.add_argument(*names, **settings)
        for names, settings in shared:  # a command may have another use for a short name
            self.add_argument(*(name for name in names if name not in taken), **settings)

    def error(self, message: str) -> NoReturn:
        _, _, names = message.partition("arguments are required: ")
        if names:
            missing = [one for one in self.positionals() if (one.metavar or one.dest) in names.split(", ")]
            wanted = [one for one in missing if one.nargs not in ("*", "?")]
            message = f"missing: {' '.join('|'.join(one.choices or [shown(one)]) for one in wanted)}"
        raise UsageError(_in_plain_words(message), hint=f"see `{self.prog} --help`")

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The values of a command line; options and arguments may be in any order."""
        if "--" in words or not any(a.nargs in ("+", "*", "?") for a in self.positionals()):
            return self.parse_args(words)
        return self.parse_intermixed_args(words)

    def positionals(self) -> list[argparse.Action]:
        """The arguments that are not options."""
        return [action for action in self._actions if not action.option_strings]

    def options(self, *, shared: bool = False) -> list[argparse.Action]:
        """The command's own options, or those that every command has."""
        actions = self._actions[self.own :] if shared else self._actions[: self.own]
        return [action for action in actions if action.option_strings]

    def format_usage(self) -> str:
        return usage(self) + "\n"


def usage(parser: Parser) -> str:
    """The usage line of a command."""
    words = [parser.prog]
    for action in parser.positionals():
        name = shown(action)
        many = action.nargs in ("+", "*")
        optional = action.nargs in ("?", "*")
        name = f"{name}..." if many else name
        words.append(f"[{name}]" if optional else name)
    return " ".join([*words, "[options]", *([parser.more] if parser.more else [])])


def shown(action: argparse.Action) -> str:
    """The name of an argument in usage lines."""
    if action.choices is not None and not action.metavar:
        return "|".join(str(choice) for choice in action.choices)
    metavar: Any = action.metavar or action.dest.upper()
    return " ".join(metavar) if isinstance(metavar, tuple) else str(metavar)


def flags(action: argparse.Action) -> str:
    """The names of an option with its value, as in ``-s, --session ID``."""
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {shown(action)}"
