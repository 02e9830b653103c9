"""The declaration of a command: its name, its arguments, its help, and the function that carries it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from .table import TABLE

if TYPE_CHECKING:
    from .context import CommandContext
    from .parser import Parser

Run = Callable[["CommandContext"], int]
_DECLARED: dict[str, CliCommand] = {}


class Argument(NamedTuple):
    """An argument or an option of a command, as argparse takes it."""

    names: Sequence[str]
    settings: Mapping[str, Any]


def argument(names: str, metavar: str | None, help: str, **more: Any) -> Argument:
    """An argument, or an option with a value; ``names`` is one name or several, as in ``-o --output``."""
    return Argument(names.split(), {"metavar": metavar, "help": help, **more})


def optional(name: str, metavar: str | None, help: str, **more: Any) -> Argument:
    """An argument that may be left out."""
    return argument(name, metavar, help, nargs="?", **more)


def flag(names: str, help: str) -> Argument:
    """An option without a value; ``names`` as of an argument."""
    return Argument(names.split(), {"action": "store_true", "help": help})


def many(name: str, metavar: str | tuple[str, ...], help: str) -> Argument:
    """An option that may be given several times, each time with a value, or with several."""
    values = None if isinstance(metavar, str) else len(metavar)
    settings: dict[str, Any] = {"action": "append", "default": [], "nargs": values, "metavar": metavar}
    return Argument([name], {**settings, "help": f"{help}; repeatable"})


_ID = optional("id", "ID", "the session; by default the current one")
_SESSION = argument("-s --session", "ID", "the session; by default SEGUE_SESSION, or the current one")
OF_EVERY_COMMAND = (
    flag("--json", "print JSON instead of text"),
    argument("-C --folder", "DIR", "run as if started in this folder"),
    argument("--home", "DIR", "the data folder; overrides SEGUE_HOME"),
    argument("--store", "URL", "the store; overrides SEGUE_STORE"),
    argument("--actor", "NAME", "who is acting: `user` or an agent's name"),
    flag("--no-color", "no colours, even on a terminal"),
    Argument(["-h", "--help"], {"action": "help", "help": "show this help"}),
)


class CliCommand:
    """A command, declared as the decorator of the function that carries it out."""

    run: Run

    def __init__(
        self, name: str, *arguments: Argument, json: str, examples: Sequence[str], session: str = "",
        more: str = "", actions: Mapping[str, Run] | None = None, shape: str | Mapping[str, str] = "",
    ) -> None:  # fmt: skip
        """``json`` describes the output of ``--json``, and ``shape`` is its type: an expression of names that
        this module imports or that ``shapes.py`` declares, or one for each action or option that changes it;
        docs/reference/json is written from it. ``session`` is ``id`` for an optional ID and
        --session, ``flag`` for --session only. ``more`` is what may follow ``--``, as the usage line shows
        it. With ``actions``, the first argument names one of them, by default ``list`` if that is one."""
        self.name = name
        self.arguments = arguments
        self.json = json
        self.shape = shape
        self.examples = tuple(examples)
        self.session = session
        self.more = more
        if actions is not None:
            lists = {"nargs": "?", "default": "list"} if "list" in actions else {}
            what = "what to do; by default list" if lists else "what to do"
            self.arguments = (argument("action", None, what, choices=tuple(actions), **lists), *arguments)
            self.run = lambda context: actions[context.args.action](context)
        _DECLARED[name] = self

    def __call__(self, run: Run) -> CliCommand:
        """Declare that this function carries it out."""
        self.run = run
        return self

    @property
    def about(self) -> str:
        """What it does, in one line; from the table."""
        return TABLE[self.name][1]

    def parser(self) -> Parser:
        """A parser for its command line."""
        from .parser import Parser  # argparse is slow to load, and the overview of all commands needs none

        own = [*self.arguments, *({"id": [_ID, _SESSION], "flag": [_SESSION]}.get(self.session, ()))]
        return Parser(self.name, own, OF_EVERY_COMMAND, self.more)


command = CliCommand


def find(name: str) -> CliCommand:
    """A command by its name, which is in the table."""
    import_module(f".commands.{TABLE[name][0]}", __package__)
    return _DECLARED[name]
