"""Which of the texts that match come first: those with all the words, close together, of people, of late."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from unicodedata import normalize

from ..base.lazy import regex
from ..base.stem import stem
from ..base.values import Value
from .kinds import Kind
from .query import SearchQuery
from .texts import CJK_LETTER

WEIGHTS: dict[Kind, float] = {
    "prompt": 1.35, "goal": 1.3, "decision": 1.5, "note": 1.3, "memory": 1.4, "handover": 1.2, "item": 1.1,
    "answer": 1.25, "thought": 0.9, "command": 1.0, "file": 0.95, "output": 0.75,
}  # fmt: skip
"""How much a text of a kind is worth: what somebody said tells more than what a program printed."""
HALF_LIFE_DAYS = 60.0
RECENCY = 0.35
"""How much more a text of now is worth than one of long ago."""
NEAR_WORDS = 12
SNIPPET_CHARS = 280
_WORD = regex(r"[^\W_]+")
_ACCENTED = regex("[\u00c0-\u024f\u1e00-\u1eff]")
_UNSPACED = regex(f"{CJK_LETTER}+")
_PART = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class Span(NamedTuple):
    """Where a word of the question stands in a text."""

    start: int
    stop: int
    term: int
    """Which of the terms it belongs to."""


class Snippet(Value):
    """A part of a text, with the places of the words that were asked for."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


def spans(text: str, query: SearchQuery) -> list[Span]:
    """Where words of the question stand in a text: whole words, and parts of names such as
    ``parseUserId``."""
    wanted = _wanted(query)
    low = _folded(text)
    found = {span for begin in wanted.begins for span in _spans_from(begin, text, low, wanted)}
    for word, number in wanted.unspaced:
        found |= {Span(at, at + len(word), number) for at in _places(word, low)}
    return sorted(found)


def _places(word: str, text: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _folded(text: str) -> str:
    """A text in small letters without accents, as the index compares them, in which everything has the same
    place."""
    low = text.lower()
    if len(low) != len(text):  # a few letters become two
        low = text
    return low if low.isascii() else _ACCENTED.sub(lambda letter: _plain(letter.group()), low)


@lru_cache(maxsize=1_024)
def _plain(letter: str) -> str:
    return normalize("NFD", letter)[0]


def _spans_from(begin: str, text: str, low: str, wanted: _Wanted) -> Iterator[Span]:
    at = low.find(begin)
    while at >= 0:
        before = text[at - 1] if at else " "
        if not before.isalnum() or (text[at].isupper() and not before.isupper()):
            match = _WORD.match(text, at)
            stop = match.end() if match else at + len(begin)
            number = wanted.number_of(low[at:stop])
            if number < 0 and not text[at:stop].islower() and (part := _PART.match(text, at, stop)):
                stop = part.end()  # the part of a name that begins here
                number = wanted.number_of(low[at:stop])
            if number >= 0:
                yield Span(at, stop, number)
        at = low.find(begin, at + len(begin))


class _Wanted(NamedTuple):
    """What is looked for in a text."""

    stems: dict[str, int]
    """Stems, with the numbers of their terms."""
    prefixes: tuple[tuple[str, int], ...]
    begins: tuple[str, ...]
    """What all words that may be meant begin with."""
    unspaced: tuple[tuple[str, int], ...] = ()
    """Words of scripts without spaces, which are looked for anywhere."""

    def number_of(self, word: str) -> int:
        """The number of the term that a word belongs to, or -1."""
        number = self.stems.get(_stemmed(word), -1)
        if number >= 0 or not self.prefixes:
            return number
        return next((n for prefix, n in self.prefixes if word.startswith(prefix)), -1)


@lru_cache(maxsize=8)
def _wanted(query: SearchQuery) -> _Wanted:
    stems: dict[str, int] = {}
    prefixes: list[tuple[str, int]] = []
    unspaced: dict[str, int] = {}
    for number, term in enumerate(query.terms):
        spaced = term.text.isascii()  # without looking for letters of scripts without spaces
        for word in () if spaced else _UNSPACED.findall(term.text):
            unspaced.setdefault(word, number)
        for form in term.forms:
            for word in _WORD.findall(_folded(form) if spaced else _UNSPACED.sub(" ", _folded(form))):
                if term.is_prefix:
                    prefixes.append((word, number))
                stems.setdefault(stem(word), number)
    begins = {*map(_beginning, stems), *(prefix for prefix, _ in prefixes)}
    return _Wanted(stems, tuple(prefixes), tuple(begins), tuple(unspaced.items()))


def _beginning(stemmed: str) -> str:
    """What every word with this stem begins with: ``reliab`` for ``reliabl`` of "reliability"."""
    if stemmed.endswith("bl"):
        return stemmed[:-1]
    return stemmed[:-1] if len(stemmed) > 2 and stemmed[-1] in "ie" else stemmed


@lru_cache(maxsize=65_536)
def _stemmed(word: str) -> str:
    return stem(word)


def worth(
    rank: float, kind: Kind, at: float, found: Sequence[Span], query: SearchQuery, *, now: float
) -> float:
    """How well a text answers: the index's rank, weighed by what share of the terms it has, how close they
    stand, what kind of text it is and how old."""
    share = len({span.term for span in found}) / len(query.terms)
    days = max(0.0, now - at) / 86_400 if at else 365.0
    recent: float = 1 + RECENCY * 0.5 ** (days / HALF_LIFE_DAYS)
    return max(-rank, 0.1) * (0.25 + 0.75 * share**2) * (1 + 0.3 * _nearness(found)) * WEIGHTS[kind] * recent


def _nearness(found: Sequence[Span]) -> float:
    """How close different terms stand at their closest: 1 next to each other, 0 far away."""
    best = 0.0
    for one, other in pairwise(found):
        if one.term != other.term:
            best = max(best, 1 - min(1.0, (other.start - one.stop) / (NEAR_WORDS * 6)))
    return best


def snippet(text: str, found: Sequence[Span], chars: int = SNIPPET_CHARS) -> Snippet:
    """The part of a text where most of the terms stand together."""
    first = _best(found, chars)
    start = max(0, min(first.start - chars // 5, len(text) - chars))
    line = 1 + text.rfind("\n", 0, min(start + chars // 5, first.start))  # where the line begins
    if start - chars // 4 <= line and first.stop <= line + chars:
        start = line
    stop = min(len(text), start + chars)
    cut = text[start:stop]
    marks = tuple(
        (one.start - start, one.stop - start) for one in found if start <= one.start and one.stop <= stop
    )
    return Snippet(cut, _joined(marks))


def _best(found: Sequence[Span], chars: int) -> Span:
    """The word behind which most of the terms stand together."""
    best, most = Span(0, 0, 0), -1.0
    for index, one in enumerate(found):
        near = [span for span in found[index : index + 40] if span.stop <= one.start + chars]
        score = 10 * len({span.term for span in near}) + min(9, len(near))
        if score > most:
            best, most = one, score
    return best


def _joined(marks: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The marks without those inside others."""
    kept: list[tuple[int, int]] = []
    for start, stop in sorted(set(marks), key=lambda mark: (mark[0], -mark[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, stop))
    return tuple(kept)
