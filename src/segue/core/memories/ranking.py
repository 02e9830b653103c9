"""Which memories answer a query: full text and vectors put together, the same on every store.

A query is routed by its shape. One that names things (``parse_user_id``, ``E0308``, a path) is for full text:
what holds the exact name comes first. Prose is for vectors, with full text beside them; where the
embedder is only a hash of letters it is the other way round. Scores are added, not ranks (that hurts
prose). A memory without a vector gets what its words let expect. What stands beside a good answer in its
session is lent a part of its score: the answer to a question is often the next thing that was said.
Freshness, trust and votes move a memory a little, never past a much better answer. Word statistics are
taken from what the reader may see, and so say nothing of the rest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from ..base.values import Value
from .dates import MARK
from .model import Memory
from .words import EXACT

K1, B = 1.2, 0.75
TEXT_WEIGHT, TEXT_POWER = 0.2, 1.5
"""Of full text beside vectors that know meanings; times a power of how much of the query a memory holds: one
word in common with a question says little, most of its words say much."""
TEXT_WEIGHT_ALONE = 0.06
TEXT_WEIGHT_NAMES = 0.15
HASH_WEIGHT = 0.25
NEAR_UNKNOWN, NEAR_BY_TEXT = 0.25, 0.4
"""How near a memory without a vector is taken to be: about what those with vectors are that hold as much."""
EXACT_LIFT = 1.0
NEAR_LEAST, NEAR_LEAST_HASH = 0.18, 0.03
"""Below it a score says only that something must come first: texts that have nothing to do with a query get
as much."""
PRIOR = 0.06
LENDERS_MAX = 48
LENT = (0.25, 0.1)
"""What the neighbour in a session is lent of a score, and the one behind it."""
SESSION_BEST = 3
SESSION_TEXT_WEIGHT, SESSION_NEAR_WEIGHT = 0.2, 1.0


class Hit(Value):
    """A memory that holds words of a query."""

    no: int
    held: int
    """Which of the asked words, as bits."""
    length: int


class Texts(Value):
    """What full text found: complete where ``counts`` are exact, else the newest and best of it."""

    hits: Sequence[Hit] = ()
    counts: Sequence[int] = ()
    """How many memories hold each word."""
    total: int = 0
    """Of how many that the reader may see."""
    length_mean: float = 1.0


class SessionNeighbours(Value):
    """The session that a memory is of, and its neighbours there, as far as the reader may see them."""

    session: str
    beside: Sequence[Sequence[int]] = ()
    """The numbers of the nearest, before and behind; then of those behind them."""


class ScoredMemory(Value):
    """A place in the ranking, and what it is made of."""

    no: int
    score: float
    text: float
    near: float | None


def length_of(words: str) -> int:
    """How many words a text has; marks, as for its days, are none of it."""
    return words.count(" ") + 1 - words.count(MARK) if words else 0


def text_scores(asked: Sequence[str], found: Texts) -> dict[int, tuple[float, float]]:
    """BM25 with each word counted once a memory, and how much of the query that is, by weight. A day of
    which nothing is remembered is as if it had not been named."""
    total = max(found.total, len(found.hits), 1)
    weights = [
        math.log(1 + (total - min(n, total) + 0.5) / (n + 0.5)) if n or word[:1] != MARK else 0.0
        for word, n in zip(asked, found.counts, strict=False)
    ]
    mean = max(found.length_mean, 1.0)
    whole = sum(weights) or 1.0
    scores: dict[int, tuple[float, float]] = {}
    for hit in found.hits:
        norm = (K1 + 1) / (1 + K1 * (1 - B + B * hit.length / mean))
        held = sum(w for place, w in enumerate(weights) if hit.held >> place & 1)
        scores[hit.no] = (norm * held, held / whole)
    return scores


def rank(
    asked: Sequence[str], found: Texts, near: Mapping[int, float], *, semantic: bool, embedded: bool = True
) -> list[ScoredMemory]:
    """The candidates of both, the best first; ``semantic``: the vectors know what words mean."""
    texts = text_scores(asked, found)
    names = sum(1 << place for place, word in enumerate(asked) if word.startswith(EXACT))
    held = {hit.no: hit.held for hit in found.hits}
    best = max((text for text, _ in texts.values()), default=0.0) or 1.0
    scored = []
    for no in texts.keys() | near.keys():
        text, part = texts.get(no, (0.0, 0.0))
        close = near.get(no)
        weight = (
            TEXT_WEIGHT_NAMES if names else TEXT_WEIGHT * part**TEXT_POWER if semantic else TEXT_WEIGHT_ALONE
        )
        if close is None and not embedded:
            meaning = 0.0
        elif close is None:
            meaning = NEAR_UNKNOWN + NEAR_BY_TEXT * part if semantic else 0.8 * text / best
        else:
            meaning = close
        score = weight * text + (meaning if semantic else HASH_WEIGHT * meaning)
        if names:
            part = (held.get(no, 0) & names).bit_count() / names.bit_count()
            score += EXACT_LIFT * part
        scored.append(ScoredMemory(no, score, text, close))
    scored.sort(key=lambda one: (-one.score, -one.no))
    return scored


def with_priors(score: float, memory: Memory, age_days: float) -> float:
    """The score, a little higher for what is fresh, trusted and was of help."""
    fresh = 0.5 ** (max(0.0, age_days) / 30)
    trust = {"user": 1.0, "agent": 0.6, "imported": 0.3, "transcript": 0.2}.get(memory.trust, 0.0)
    lift = (fresh + trust) / 2 * 0.5 + 0.5 * memory.effectiveness
    return score * (1 + PRIOR * lift) if score > 0 else score


def lent(
    ranked: Sequence[ScoredMemory], places: Mapping[int, SessionNeighbours], least: float = 0.0
) -> list[ScoredMemory]:
    """The ranking with what neighbours lend; ``places`` of the best. Who is not ranked has ``least``."""
    gifts: dict[int, list[float]] = {}
    scores = {one.no: one.score for one in ranked}
    for no, place in places.items():
        for far, (part, numbers) in enumerate(zip(LENT, place.beside, strict=False)):
            for other in numbers:
                row = gifts.setdefault(other, [0.0] * len(LENT))
                row[far] = max(row[far], part * scores.get(no, 0.0))
    given = [
        ScoredMemory(one.no, one.score + sum(gifts[one.no]), one.text, one.near) if one.no in gifts else one
        for one in ranked
    ]
    given += [ScoredMemory(no, least + sum(row), 0.0, None) for no, row in gifts.items() if no not in scores]
    given.sort(key=lambda one: (-one.score, -one.no))
    return given


def by_session(
    ranked: Sequence[ScoredMemory], sessions: Mapping[int, str], found: Texts, most: int
) -> list[tuple[str, float]]:
    """Sessions by the best of their memories, by how much of the query all of them hold together, and by how
    near to it they are on the whole."""
    best: dict[str, list[float]] = {}
    near: dict[str, list[float]] = {}
    for one in ranked:
        name = sessions.get(one.no, "")
        if name:
            best.setdefault(name, []).append(one.score)
            if one.near is not None:
                near.setdefault(name, []).append(one.near)
    said = _said_by_session(sessions, found)
    scores = {
        name: mean(best.get(name, [])[:SESSION_BEST])
        + SESSION_TEXT_WEIGHT * said.get(name, 0.0)
        + SESSION_NEAR_WEIGHT * mean(near.get(name, []))
        for name in best.keys() | said.keys()
    }
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:most]


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def _said_by_session(sessions: Mapping[int, str], found: Texts) -> dict[str, float]:
    """BM25 with a session as one text, as long as it has memories."""
    counts: dict[str, list[int]] = {}
    sizes = Counter(sessions.values())
    usual = max(1.0, mean(list(sizes.values())))
    for hit in found.hits:
        name = sessions.get(hit.no, "")
        if name:
            row = counts.setdefault(name, [0] * len(found.counts))
            for place in range(len(row)):
                row[place] += hit.held >> place & 1
    total = len(sizes) or 1
    weights = []
    for place in range(len(found.counts)):
        holding = sum(1 for row in counts.values() if row[place])
        weights.append(math.log(1 + (total - holding + 0.5) / (holding + 0.5)))
    return {
        name: sum(
            w * n * (K1 + 1) / (n + K1 * (1 - B + B * sizes[name] / usual))
            for w, n in zip(weights, row, strict=True)
            if n
        )
        for name, row in counts.items()
    }
