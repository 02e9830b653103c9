"""Commands that may wait on this machine while the server cannot be reached.

A command may wait if it can be decided later, whatever others did in the meantime. Numbers such as ``#3``
and handles of entries refer to the state that was last seen, so they are replaced by the texts of their items
and questions, and by the ids of the entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

import msgspec
from msgspec.structs import replace

from . import commands as do
from .command import Command, Refusal
from .commands import resolve_item
from .declared_choices import ledger_entries
from .ledger_commands import AddEntry, CorrectEntry, entry_named
from .state import SessionState

WAITING: tuple[type[Command], ...] = (
    *(
        kind
        for kind in Command.__subclasses__()
        if kind.__module__ == do.__name__
        and kind.MERGES
        and not kind.WITNESSED
        and kind not in (do.SaveAgent, do.NoteAgent, do.DropAgent, do.Hand)
    ),
    AddEntry,
    CorrectEntry,
)
"""The types of commands that may wait until the store can be reached."""


def waiting_union() -> Any:
    """All types of ``WAITING`` as one tagged union, for decoding."""
    return reduce(or_, WAITING)


def may_wait(commands: Sequence[Command], state: SessionState | None) -> bool:
    """Whether all these commands may wait.

    If no state was ever seen (``state`` is None), commands that replace something or use numbers may not.
    """
    if not commands or not all(isinstance(command, WAITING) for command in commands):
        return False
    return state is not None or not any(command.LOOKS or _numbered(command) for command in commands)


def _numbered(command: Command) -> list[str]:
    """The fields of a command that contain a number instead of a text."""
    texts = {name: str(getattr(command, name, "")) for name in ("item", "question")}
    return [name for name, text in texts.items() if text[:1] == "#" and text[1:].isdecimal()]


def spelt_out(state: SessionState | None, command: Command) -> Command | Refusal:
    """The command with numbers and handles replaced by what they refer to in this state."""
    if state is not None and isinstance(command, CorrectEntry):
        entry = entry_named(ledger_entries(state), command.id)
        return entry if isinstance(entry, Refusal) else replace(command, id=entry.id)
    for name in _numbered(command):
        number = getattr(command, name)
        text: str | Refusal = number
        if state is not None and name == "item":
            text = resolve_item(state, number)
        elif state is not None:
            index = int(number[1:]) - 1
            if not 0 <= index < len(state.questions):
                return Refusal("usage", f"there is no question {number}", "see `segue status`")
            text = state.questions[index].text
        if isinstance(text, Refusal):
            return text
        command = replace(command, **{name: text})
    return command


_NAMES: dict[type[Command], str] = {AddEntry: "ledger add", CorrectEntry: "ledger"}


def in_words(commands: Sequence[Command]) -> str:
    """Commands as one line of text, each with its name and its values."""
    words = []
    for command in commands:
        values = [str(value) for value in msgspec.structs.astuple(command) if value and value is not True]
        name = _NAMES.get(type(command)) or type(command).__name__.lower()
        words.append(f"{name} {' · '.join(values)}".strip())
    return "; ".join(words)
