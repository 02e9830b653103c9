"""Full text for every store: which memories hold which words of a query, looking at no more than it must.

A rare word gives all that hold it. Of a common one (in large stores, thousands hold it) only those count that
hold another word too, or else the newest; how many hold it is then told from how dense they lie. Below
``WORD_HITS_MAX`` everything is exact. A store brings a ``SqlWords``, which leaves out what the reader
may not see and what was not asked for.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

from ..core.memories.ranking import Hit, Texts, weight_of
from .sql import SqlDatabase

WORD_HITS_MAX = 700
WORDS_MAX = 24


class SqlWords(ABC):
    """The words of those memories that hold, of each group of marks, one."""

    def __init__(self, sql: SqlDatabase, marks: Sequence[Sequence[str]]) -> None:
        self.sql = sql
        self.marks = marks

    @abstractmethod
    def holding(self, wanted: Sequence[tuple[str, Sequence[str]]], most: int) -> list[list[int]]:
        """For each (word, others): the newest that hold the word and, if there are any, one of the others."""

    def newest(self) -> int:
        """The highest number of any memory."""
        [(newest,)] = self.sql.rows("SELECT max(no) FROM segue.memories WHERE namespace = :namespace")
        return int(newest or 0)

    def lengths(self, numbers: Sequence[int]) -> dict[int, int]:
        """How many words these have."""
        sql = "SELECT no, length FROM segue.memories WHERE namespace = :namespace AND no = ANY(:numbers)"
        return dict(self.sql.rows(sql, numbers=list(numbers)))


def matched(index: SqlWords, words: Sequence[str], limit: int, total: int, length: int) -> Texts:
    """What holds any of the words; ``total`` memories of ``length`` words count."""
    words = words[:WORDS_MAX]
    postings = index.holding([(word, ()) for word in words], WORD_HITS_MAX + 1)
    counts = [len(numbers) for numbers in postings]
    common = [place for place, count in enumerate(counts) if count > WORD_HITS_MAX]
    if common:
        newest = index.newest()
        for place in common:
            counts[place] = _estimated(newest, postings[place], total)
        _narrow(index, words, common, postings)
    return _gathered(index, postings, counts, limit, total, length)


def _estimated(newest: int, numbers: Sequence[int], total: int) -> int:
    newest = newest or numbers[0]
    density = len(numbers) / max(1, newest - numbers[-1] + 1)
    return max(len(numbers), min(total, round(density * newest)))


def _narrow(index: SqlWords, words: Sequence[str], common: list[int], postings: list[list[int]]) -> None:
    rare = [words[place] for place in range(len(words)) if place not in common]
    others = {place: rare or [words[other] for other in common if other != place] for place in common}
    asked = [place for place in common if others[place]]
    both = index.holding([(words[place], others[place]) for place in asked], WORD_HITS_MAX)
    for place, numbers in zip(asked, both, strict=True):
        postings[place] = numbers or postings[place][: WORD_HITS_MAX // 4]
    for place in common:
        postings[place] = postings[place][:WORD_HITS_MAX]


def _gathered(
    index: SqlWords, postings: list[list[int]], counts: list[int], limit: int, total: int, length: int
) -> Texts:
    held: dict[int, int] = {}
    for place, numbers in enumerate(postings):
        for no in numbers:
            held[no] = held.get(no, 0) | 1 << place
    chosen = list(held)
    if len(chosen) > limit:
        weights = [math.log(1 + (total - min(n, total) + 0.5) / (n + 0.5)) for n in counts]
        worth = {bits: weight_of(bits, weights) for bits in set(held.values())}
        chosen = sorted(held, key=lambda no: (-worth[held[no]], -no))[:limit]
    lengths = index.lengths(chosen)
    hits = [Hit(no, held[no], lengths[no]) for no in chosen if no in lengths]
    return Texts(hits, counts, total, length / total if total else 1.0)
