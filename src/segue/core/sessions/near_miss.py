"""Items and questions that a command names and that are not there: which one was probably meant.

A command that names an unknown item adds it, so that no work is lost over a typing error. Whoever typed it is
told so, with the row that is closest to what was typed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..base.values import Value, parse_digits
from . import commands as do
from .state import Item, Question, SessionState, key, key_of

ROWS_MAX = 500
"""With more rows than this nothing is compared."""
ALIKE = 0.8
"""From this share of common letters on two texts are taken for the same."""


class NearMiss(Value):
    """A text that matched no row of a plan or a list of questions, and the number of its rows."""

    text: str
    rows: int
    number: int = 0
    """The number of the row that was probably meant; 0 if none is close."""
    meant: str = ""
    question: bool = False


def near_misses(before: SessionState, commands: Sequence[do.Command]) -> list[NearMiss]:
    """What these commands name that did not exist before, if it is worth a remark."""
    return [found for command in commands if (found := _near_miss(before, command)) is not None]


def names_rows(command: do.Command) -> bool:
    """Whether a command names an item or a question."""
    return hasattr(command, "item") or hasattr(command, "question")


def _near_miss(before: SessionState, command: do.Command) -> NearMiss | None:
    rows: Sequence[Item | Question]
    is_question = isinstance(command, do.Answer)
    if isinstance(command, do.Answer):
        text, rows = command.question, before.questions.flat()
    else:
        text, rows = getattr(command, "item", ""), before.items.flat()
    keys = [key_of(row) for row in rows[: ROWS_MAX + 1]]
    if not text or text.startswith("#") or len(rows) > ROWS_MAX or key(text) in keys:
        return None
    number = _closest(text, keys)
    if number:
        return NearMiss(text, len(rows), number, rows[number - 1].text, is_question)
    is_plain_addition = not is_question and (not text.isdecimal() or isinstance(command, do.Add))
    return None if is_plain_addition else NearMiss(text, len(rows), question=is_question)


def _closest(text: str, keys: list[str]) -> int:
    """The number of the row that a text gives as a number or closely resembles; 0 if there is none."""
    if text.isdecimal():
        return parse_digits(text) if 0 < parse_digits(text) <= len(keys) else 0
    from difflib import get_close_matches

    near = get_close_matches(key(text), keys, n=1, cutoff=ALIKE)
    return keys.index(near[0]) + 1 if near else 0
