"""What a command is: its name, its function, its arguments and how it is explained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from .table import TABLE

if TYPE_CHECKING:
    from .context import CommandContext
    from .parser import Declare, Parser


class CliCommand:
    """A command: what it takes, what it does, and how it is used."""

    __slots__ = ("declare", "examples", "json", "more", "name", "run", "session")

    def __init__(
        self, name: str, run: Callable[[CommandContext], int], declare: Declare | None = None, *, json: str,
        examples: Sequence[str], session: str = "", more: str = "",
    ) -> None:  # fmt: skip
        self.name = name
        self.run = run
        self.declare = declare
        self.json = json
        """What ``--json`` gives, in words."""
        self.examples = tuple(examples)
        self.session = session
        """``id``: an optional ID and --session; ``flag``: --session only."""
        self.more = more
        """What may follow ``--``, as the usage line shows it; empty if nothing may."""

    @property
    def about(self) -> str:
        """What it does, in a line; from the table."""
        return TABLE[self.name][1]

    def parser(self) -> Parser:
        """A parser of its command line."""
        from .parser import Parser  # argparse is slow to load, and not every command needs it

        return Parser(self.name, self.declare, session=self.session, more=self.more)


def find(name: str) -> CliCommand:
    """A command by its name, which is in the table."""
    module = import_module(f".commands.{TABLE[name][0]}", __package__)
    command: CliCommand = next(c for c in module.COMMANDS if c.name == name)
    return command
