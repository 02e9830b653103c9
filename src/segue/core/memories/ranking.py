"""The ranking of memories for a query, from full-text and vector search; the same for every store.

A query that contains names (``parse_user_id``, ``E0308``, a path) relies on full text, and memories with the
exact name come first. Prose relies on vectors, supported by full text; with an embedder that only hashes
letters it is the other way round. Scores are added, not ranks, because fusing ranks made prose worse. A
memory without a vector gets the similarity that its words suggest. The neighbours of a good result in its
session get a part of its score, because the answer to a question is often the next thing that was said.
Freshness, trust and votes move a memory a little, but never past a much better result. Word statistics come
only from what the reader may see, so they reveal nothing about the rest.
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
TEXT_WEIGHT, TEXT_POWER = 0.3, 1.5
"""The weight of full text next to semantic vectors, and the power to which the matched share of the query is
raised: few words in common with a question mean little, most of its words mean much."""
CHANCE_WORDS = 1
"""So many words in common with a question of more than two mean nothing next to semantic vectors: a text that
says the same in other words has often no more in common with it than any other text."""
TEXT_WEIGHT_ALONE = 0.06
TEXT_WEIGHT_NAMES = 0.15
HASH_WEIGHT = 0.25
NEAR_UNKNOWN, NEAR_BY_TEXT = 0.25, 0.4
"""The assumed similarity of a memory without a vector: about that of memories with one and as many words."""
EXACT_LIFT = 1.0
NEAR_LEAST, NEAR_LEAST_HASH = 0.18, 0.03
"""Below this similarity a score means nothing: texts that are unrelated to a query reach it, too."""
PRIOR = 0.06
LENDERS_MAX = 48
LENT = (0.25, 0.1)
"""The share of a score that the next neighbours in the session get, and the share for the ones after them."""
SESSION_BEST = 3
SESSION_TEXT_WEIGHT, SESSION_NEAR_WEIGHT = 0.2, 1.0


class Hit(Value):
    """A memory that contains words of a query."""

    no: int
    held: int
    """Which of the query's words it contains, as a bit mask."""
    length: int


class Texts(Value):
    """The result of a full-text search: all hits if there are few, otherwise the newest and best of them."""

    hits: Sequence[Hit] = ()
    counts: Sequence[int] = ()
    """How many memories contain each word of the query."""
    total: int = 0
    """How many memories the reader may see."""
    length_mean: float = 1.0


class SessionNeighbours(Value):
    """The session of a memory, and its neighbours there that the reader may see."""

    session: str
    beside: Sequence[Sequence[int]] = ()
    """The direct neighbours before and after it, then those at distance two, and so on."""


Neighbours = dict[int, SessionNeighbours]
"""By the numbers of memories."""
Pairs = list[tuple[int, float]]
"""(number, cosine) of memories, the nearest first."""


class ScoredMemory(Value):
    """A memory's score in the ranking, and its parts."""

    no: int
    score: float
    text: float
    near: float | None


def length_of(words: str) -> int:
    """How many words an indexed text has, without those for dates."""
    return words.count(" ") + 1 - words.count(MARK) if words else 0


def text_scores(asked: Sequence[str], found: Texts) -> dict[int, tuple[float, float]]:
    """For each hit, its BM25 score with every word counted once, and the share of the query that it contains.

    The share is weighted by how rare the words are. A date without any memory is ignored.
    """
    total = max(found.total, len(found.hits))
    weights = [
        math.log(1 + (total - min(n, total) + 0.5) / (n + 0.5)) if n or word[:1] != MARK else 0.0
        for word, n in zip(asked, found.counts, strict=False)
    ]
    mean = max(found.length_mean, 1.0)
    weight_total = sum(weights) or 1.0
    weighed = {held: weight_of(held, weights) for held in {hit.held for hit in found.hits}}
    scores: dict[int, tuple[float, float]] = {}
    for hit in found.hits:
        norm = (K1 + 1) / (1 + K1 * (1 - B + B * hit.length / mean))
        weight = weighed[hit.held]
        scores[hit.no] = (norm * weight, weight / weight_total)
    return scores


def weight_of(held: int, weights: Sequence[float]) -> float:
    """What the words are worth together whose bits are set."""
    return sum(weight for index, weight in enumerate(weights) if held >> index & 1)


def rank(
    asked: Sequence[str], found: Texts, near: Mapping[int, float], *, semantic: bool, embedded: bool = True
) -> list[ScoredMemory]:
    """The candidates of full-text and vector search, the best first.

    ``semantic`` says that the vectors represent meaning, ``embedded`` that there are vectors at all.
    """
    texts = text_scores(asked, found)
    names = sum(1 << index for index, word in enumerate(asked) if word.startswith(EXACT))
    held = {hit.no: hit.held for hit in found.hits}
    best = max((text for text, _ in texts.values()), default=0.0) or 1.0
    scored = []
    for no in texts.keys() | near.keys():
        text, share = texts.get(no, (0.0, 0.0))
        similarity = near.get(no)
        if names or not semantic:
            weight = TEXT_WEIGHT_NAMES if names else TEXT_WEIGHT_ALONE
        elif embedded and len(asked) > 2 and held.get(no, 0).bit_count() <= CHANCE_WORDS:
            weight = 0.0
        else:
            weight = TEXT_WEIGHT * share**TEXT_POWER
        if similarity is None and not embedded:
            meaning = 0.0
        elif similarity is None:
            meaning = NEAR_UNKNOWN + NEAR_BY_TEXT * share if semantic else 0.8 * text / best
        else:
            meaning = similarity
        score = weight * text + (meaning if semantic else HASH_WEIGHT * meaning)
        if names:
            share = (held.get(no, 0) & names).bit_count() / names.bit_count()
            score += EXACT_LIFT * share
        scored.append(ScoredMemory(no, score, text, similarity))
    return _best_first(scored)


def _best_first(scored: list[ScoredMemory]) -> list[ScoredMemory]:
    return sorted(scored, key=lambda memory: (-memory.score, -memory.no))


def with_priors(score: float, memory: Memory, age_days: float) -> float:
    """The score, raised a little for memories that are fresh, trusted and were helpful."""
    fresh = 0.5 ** (max(0.0, age_days) / 30)
    trust = {"user": 1.0, "agent": 0.6, "imported": 0.3, "transcript": 0.2}.get(memory.trust, 0.0)
    lift = (fresh + trust) / 2 * 0.5 + 0.5 * memory.effectiveness
    return score * (1 + PRIOR * lift) if score > 0 else score


def with_neighbours(
    ranked: Sequence[ScoredMemory], places: Mapping[int, SessionNeighbours], least: float = 0.0
) -> list[ScoredMemory]:
    """The ranking after the best memories, those in ``places``, raised the scores of their neighbours.

    A neighbour that was not ranked before starts with the score ``least``.
    """
    bonuses: dict[int, list[float]] = {}
    scores = {memory.no: memory.score for memory in ranked}
    for no, place in places.items():
        for distance, (share, numbers) in enumerate(zip(LENT, place.beside, strict=False)):
            for neighbour in numbers:
                row = bonuses.setdefault(neighbour, [0.0] * len(LENT))
                row[distance] = max(row[distance], share * scores.get(no, 0.0))
    raised = [
        ScoredMemory(memory.no, memory.score + sum(bonuses[memory.no]), memory.text, memory.near)
        if memory.no in bonuses
        else memory
        for memory in ranked
    ]
    new = [no for no in bonuses if no not in scores]
    raised += [ScoredMemory(no, least + sum(bonuses[no]), 0.0, None) for no in new]
    return _best_first(raised)


def by_session(
    ranked: Sequence[ScoredMemory], sessions: Mapping[int, str], found: Texts, most: int
) -> list[tuple[str, float]]:
    """At most ``most`` sessions with their scores, the best first.

    A score combines the best memories of a session, how much of the query all of its memories contain
    together, and how similar they are to it on average.
    """
    best: dict[str, list[float]] = {}
    near: dict[str, list[float]] = {}
    for memory in ranked:
        name = sessions.get(memory.no, "")
        if name:
            best.setdefault(name, []).append(memory.score)
            if memory.near is not None:
                near.setdefault(name, []).append(memory.near)
    texts = _session_text_scores(sessions, found)
    scores = {
        name: mean(best.get(name, [])[:SESSION_BEST])
        + SESSION_TEXT_WEIGHT * texts.get(name, 0.0)
        + SESSION_NEAR_WEIGHT * mean(near.get(name, []))
        for name in best.keys() | texts.keys()
    }
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:most]


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean; 0 if there are no values."""
    return sum(values) / len(values) if values else 0.0


def _session_text_scores(sessions: Mapping[int, str], found: Texts) -> dict[str, float]:
    """BM25 scores with each session as one text, whose length is the number of its memories."""
    counts: dict[str, list[int]] = {}
    sizes = Counter(sessions.values())
    mean_size = max(1.0, mean(list(sizes.values())))
    for hit in found.hits:
        name = sessions.get(hit.no, "")
        if name:
            row = counts.setdefault(name, [0] * len(found.counts))
            for index in range(len(row)):
                row[index] += hit.held >> index & 1
    total = len(sizes) or 1
    weights = []
    for index in range(len(found.counts)):
        holding = sum(1 for row in counts.values() if row[index])
        weights.append(math.log(1 + (total - holding + 0.5) / (holding + 0.5)))
    return {
        name: sum(
            w * n * (K1 + 1) / (n + K1 * (1 - B + B * sizes[name] / mean_size))
            for w, n in zip(weights, row, strict=True)
            if n
        )
        for name, row in counts.items()
    }
