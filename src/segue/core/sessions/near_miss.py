"""Names that are not in the plan although something close to them is: which item or question was meant.

An item that is finished, begun, blocked or dropped under a name that is near to a planned one is refused with
the candidates, because a slip of the pen would otherwise become a new item that is finished at once, while
the planned one stays open. Adding an item and answering a question stay possible; whoever typed is told what
is close.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..base.lazy import regex
from ..base.values import Value, parse_digits
from .state import Item, Question, SessionState, key, key_of

ALIKE = 0.8
"""From this share of common letters on two texts are taken for the same."""
OPEN_MAX, DONE_MAX = 2_000, 200
"""With how many open and how many finished items, the newest ones, a name is compared."""
CHARS_MAX = 300
CANDIDATES_MAX = 5
_NUMBER = regex(r"#\s*(\d+)(?![\d.])")
_TELLING_APART = regex(r"\d+|\b\w\b")


class Candidate(Value):
    """An item that was perhaps meant."""

    number: int
    item: str
    status: str


class NearMiss(Value):
    """A text that matched no row of a plan or a list of questions, and the number of its rows."""

    text: str
    rows: int
    number: int = 0
    """The number of the row that was probably meant; 0 if none is close."""
    meant: str = ""
    question: bool = False


def candidates(state: SessionState, name: str) -> list[Candidate]:
    """The items that a name which is not in the plan may stand for: open ones first, then the closest."""
    index = _numbered(name, len(state.items))
    found = [(index, 1.0)] if index >= 0 else _alike(name, _compared(state))
    ranked = sorted(found, key=lambda pair: (state.items[pair[0]].status == "done", -pair[1]))
    items = ((at, state.items[at]) for at, _ in ranked[:CANDIDATES_MAX])
    return [Candidate(at + 1, item.text, item.status) for at, item in items]


def closest(name: str, rows: Sequence[Item | Question], *, question: bool = False) -> NearMiss | None:
    """The remark about a name of an added item or an answered question that is not among the rows; None if
    it is there, or there is nothing to say."""
    keys = [key_of(row) for row in rows[: OPEN_MAX + 1]]
    if not name or name.startswith("#") or len(rows) > OPEN_MAX or key(name) in keys:
        return None
    index = _numbered(name, len(rows))
    alike = [(index, 1.0)] if index >= 0 else _alike(name, enumerate(keys))
    if alike:
        near = max(alike, key=lambda pair: pair[1])[0]
        return NearMiss(name, len(rows), near + 1, rows[near].text, question)
    return NearMiss(name, len(rows), question=True) if question else None


def _numbered(name: str, rows: int) -> int:
    """The index of the row whose number begins a name, as in ``#1=x``, or is all of it, as in ``3``."""
    match = _NUMBER.match(name)
    digits = match[1] if match else name.strip() if name.strip().isdecimal() else ""
    return parse_digits(digits) - 1 if digits and 0 < parse_digits(digits) <= rows else -1


def _compared(state: SessionState) -> Iterable[tuple[int, str]]:
    finished = state.done.flat()[-DONE_MAX:]
    for at in (*state.active, *state.blocked[:OPEN_MAX], *state.next[:OPEN_MAX], *reversed(finished)):
        yield at, key_of(state.items[at])


def _alike(name: str, rows: Iterable[tuple[int, str]]) -> list[tuple[int, float]]:
    """Rows that are near to a name, and how near.

    Numbers and single letters tell items apart: ``part 2`` is no misspelt ``part 1``."""
    from difflib import SequenceMatcher

    wanted = key(name)[:CHARS_MAX]
    apart, words = _TELLING_APART.findall(wanted), set(_words(wanted))
    matcher = SequenceMatcher(None, "", wanted, autojunk=False)
    found: list[tuple[int, float]] = []
    for at, row in rows:
        other = row[:CHARS_MAX]
        theirs = _TELLING_APART.findall(other)
        if apart and theirs and apart != theirs:
            continue
        if words and _abbreviates(words, set(_words(other))):
            found.append((at, ALIKE))
            continue
        matcher.set_seq1(other)
        if matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE:
            share = matcher.ratio()
            if share >= ALIKE:
                found.append((at, share))
    return found


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _abbreviates(words: set[str], others: set[str]) -> bool:
    """Whether a name has only words of an item, or all words of one and at most as many more."""
    return bool(others) and (words <= others or (others < words and len(words) <= 2 * len(others)))
