"""Full text on SQLite: which memories hold which words of a query, without looking at more than it must.

A rare word gives all that hold it. Of a common one (in large stores, thousands hold it) only those count that
hold another word too, or else the newest; how many hold it is then told from how dense they lie. Below
``WORD_HITS_MAX`` everything is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ...core.recall import Hit, Texts

Row = tuple[Any, ...]
Fetch = Callable[[str, Row], list[Row]]
WORD_HITS_MAX = 700
WORDS_MAX = 24
_MATCH = "SELECT rowid FROM memory_words WHERE memory_words MATCH ? ORDER BY rowid DESC LIMIT ?"


def matched(
    fetch: Fetch, words: Sequence[str], marks: Sequence[Sequence[str]], limit: int, total: int, length: int
) -> Texts:
    """What holds any of the words and, of each group of marks, one."""
    words = words[:WORDS_MAX]
    only = "".join(f" AND ({' OR '.join(map(_quoted, group))})" for group in marks)
    postings: list[list[int]] = []
    counts: list[int] = []
    common: list[int] = []
    for place, word in enumerate(words):
        numbers = [row[0] for row in fetch(_MATCH, (_quoted(word) + only, WORD_HITS_MAX + 1))]
        postings.append(numbers)
        counts.append(len(numbers))
        if len(numbers) > WORD_HITS_MAX:
            common.append(place)
            counts[place] = _estimated(fetch, numbers, total)
    if common:
        _narrow(fetch, words, common, postings, only)
    return _gathered(fetch, postings, counts, limit, total, length)


def _estimated(fetch: Fetch, numbers: Sequence[int], total: int) -> int:
    """How many hold a word, told from the newest that do."""
    newest = fetch("SELECT max(no) FROM memories", ())[0][0] or numbers[0]
    density = len(numbers) / max(1, newest - numbers[-1] + 1)
    return max(len(numbers), min(total, round(density * newest)))


def _narrow(
    fetch: Fetch, words: Sequence[str], common: list[int], postings: list[list[int]], only: str
) -> None:
    """Of common words, those that hold another word of the query too."""
    rare = [_quoted(words[place]) for place in range(len(words)) if place not in common]
    for place in common:
        others = rare or [_quoted(words[other]) for other in common if other != place]
        if others:
            both = f"{_quoted(words[place])} AND ({' OR '.join(others)}){only}"
            numbers = [row[0] for row in fetch(_MATCH, (both, WORD_HITS_MAX))]
            postings[place] = numbers or postings[place][: WORD_HITS_MAX // 4]
        else:
            postings[place] = postings[place][:WORD_HITS_MAX]


def _gathered(
    fetch: Fetch, postings: list[list[int]], counts: list[int], limit: int, total: int, length: int
) -> Texts:
    held: dict[int, int] = {}
    for place, numbers in enumerate(postings):
        for no in numbers:
            held[no] = held.get(no, 0) | 1 << place
    chosen = list(held)
    if len(chosen) > limit:
        weights = [math.log(1 + (total - min(n, total) + 0.5) / (n + 0.5)) for n in counts]
        worth = {
            no: sum(w for place, w in enumerate(weights) if bits >> place & 1) for no, bits in held.items()
        }
        chosen = sorted(held, key=lambda no: (-worth[no], -no))[:limit]
    sql = "SELECT no, length FROM memories WHERE no IN (SELECT value FROM json_each(?))"
    rows = fetch(sql, (msgspec.json.encode(chosen).decode(),))
    lengths: dict[int, int] = {row[0]: row[1] for row in rows}
    hits = [Hit(no, held[no], lengths[no]) for no in chosen if no in lengths]
    return Texts(hits, counts, total, length / total if total else 1.0)


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'
