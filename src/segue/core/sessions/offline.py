"""Commands that may wait: which ones, spelt out so that they still mean the same later, and in words.

A command may wait if it can be decided again behind whatever others do meanwhile. Numbers of items and
questions are those of the state that was last seen, so they are replaced by the texts that they stand for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from . import commands as do
from .command import Command, Refusal
from .commands import resolve_item
from .state import SessionState

WAITING: tuple[type[Command], ...] = tuple(
    kind
    for kind in Command.__subclasses__()
    if kind.__module__ == do.__name__
    and kind.MERGES
    and not kind.WITNESSED
    and kind not in (do.SaveAgent, do.NoteAgent, do.DropAgent, do.Hand)
)
"""Commands that may wait until the store can be reached."""


def waiting_union() -> Any:
    """All of them, as a tagged union."""
    union: Any = WAITING[0]
    for kind in WAITING[1:]:
        union = union | kind
    return union


def may_wait(commands: Sequence[Command], state: SessionState | None) -> bool:
    """Whether these may wait; without a state that was seen, nothing that replaces or counts."""
    if not commands or not all(isinstance(command, WAITING) for command in commands):
        return False
    return state is not None or not any(command.LOOKS or _numbers(command) for command in commands)


def _numbers(command: Command) -> list[str]:
    named = ("item", "question")
    return [name for name in named if _is_number(str(getattr(command, name, "")))]


def _is_number(text: str) -> bool:
    return text.startswith("#") and text[1:].isdecimal()


def spelt_out(state: SessionState | None, command: Command) -> Command | Refusal:
    """The command with texts in the place of numbers."""
    for name in _numbers(command):
        wish = getattr(command, name)
        found: str | Refusal = wish
        if state is not None and name == "item":
            found = resolve_item(state, wish)
        elif state is not None:
            place = int(wish[1:]) - 1
            if not 0 <= place < len(state.questions):
                return Refusal("usage", f"there is no question {wish}", "see `segue status`")
            found = state.questions[place].text
        if isinstance(found, Refusal):
            return found
        command = replace(command, **{name: found})
    return command


def in_words(commands: Sequence[Command]) -> str:
    """What commands say, on one line."""
    told = []
    for command in commands:
        values = [str(value) for value in msgspec.structs.astuple(command) if value and value is not True]
        told.append(f"{type(command).__name__.lower()} {' · '.join(values)}".strip())
    return "; ".join(told)
