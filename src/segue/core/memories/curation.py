"""Curation of memories without a model: near duplicates, contradictions, and summaries.

Nothing here merges or removes anything: it names candidates, and a person or an agent decides. A summary
consists of extracted lines only, so that each of them was written by somebody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..base.lazy import regex
from ..base.stem import stem
from ..base.values import Value, count
from .model import Memory, audience_of
from .words import query_words

NEAR = 0.8
ABOUT_THE_SAME = 0.5
_NOT = frozenset(
    "not no never none without cannot don doesn isn aren won shouldn mustn avoid stop instead".split()
)
_OPPOSITES = (
    ("use", "avoid"), ("enable", "disable"), ("always", "never"), ("pass", "fail"), ("works", "broken"),
    ("required", "optional"), ("true", "false"), ("add", "remove"), ("sync", "async"), ("allow", "forbid"),
    ("safe", "unsafe"), ("supported", "unsupported"),
)  # fmt: skip
_NUMBER = regex(r"(?<![\w.])\d[\w.]*")
_RAW = regex(r"[a-z']+")


class Pair(Value):
    """The ids of two memories that say the same or contradict each other."""

    one: str
    other: str
    why: str
    likeness: float


class Junk(Value):
    """The result of an audit: memories that might be removed or corrected."""

    total: int
    duplicates: list[Pair]
    contradictions: list[Pair]
    never_recalled: list[str]
    harmful: list[str]
    expired: list[str]
    flagged: list[str]


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """The Jaccard similarity of two sets of words."""
    return len(one & other) / len(one | other) if one and other else 0.0


def pairs(memories: Sequence[Memory]) -> tuple[list[Pair], list[Pair]]:
    """The near duplicates and the contradictions among memories that have the same audience."""
    sets = [frozenset(query_words(memory.content)) for memory in memories]
    duplicates: list[Pair] = []
    contradictions: list[Pair] = []
    for first, second in _candidates(memories, sets):
        alike = likeness(sets[first], sets[second])
        one, other = memories[first], memories[second]
        why = opposed(one.content, other.content) if alike >= ABOUT_THE_SAME * 0.6 else ""
        if why:
            contradictions.append(Pair(one.id, other.id, why, round(alike, 3)))
        elif alike >= NEAR:
            duplicates.append(Pair(one.id, other.id, "they say nearly the same", round(alike, 3)))
    return sorted(duplicates, key=_order), sorted(contradictions, key=_order)


def _order(pair: Pair) -> tuple[float, str, str]:
    return (-pair.likeness, pair.one, pair.other)


def _candidates(memories: Sequence[Memory], sets: Sequence[frozenset[str]]) -> list[tuple[int, int]]:
    """The indexes of all pairs that share an audience and a rare word; other pairs are not compared."""
    counts = Counter(word for words in sets for word in words)
    rare = max(8, len(memories) // 20)
    by_word: dict[tuple[object, str], list[int]] = {}
    found: set[tuple[int, int]] = set()
    for index, words in enumerate(sets):
        audience = audience_of(memories[index])
        chosen = [word for word in sorted(words, key=lambda w: (counts[w], w))[:6] if counts[word] <= rare]
        for word in chosen:
            others = by_word.setdefault((audience, word), [])
            found.update((other, index) for other in others)
            others.append(index)
    return sorted(found)


def opposed(one: str, other: str) -> str:
    """Why two texts may contradict each other, in words; empty if they do not seem to."""
    plain_one, plain_other = set(_RAW.findall(one.lower())), set(_RAW.findall(other.lower()))
    words_one, words_other = set(query_words(one)), set(query_words(other))
    negations = (
        {word.split("'")[0] for word in plain_one} & _NOT,
        {word.split("'")[0] for word in plain_other} & _NOT,
    )
    alike = likeness(frozenset(words_one - _NOT), frozenset(words_other - _NOT))
    if bool(negations[0]) != bool(negations[1]) and alike >= ABOUT_THE_SAME:
        return "one of them negates what the other says"
    for yes, no in _OPPOSITES:
        stems = {stem(yes), stem(no)}
        in_one, in_other = stems & words_one, stems & words_other
        if len(in_one) == len(in_other) == 1 and in_one != in_other:
            return f"one says {yes}, the other {no}"
    numbers = set(_NUMBER.findall(one)), set(_NUMBER.findall(other))
    if numbers[0] and numbers[1] and numbers[0] != numbers[1]:
        texts = frozenset(words_one - _digits(words_one)), frozenset(words_other - _digits(words_other))
        if likeness(*texts) >= NEAR:
            return "they say the same with different numbers"
    return ""


def _digits(words: set[str]) -> set[str]:
    return {word for word in words if any(c.isdigit() for c in word)}


def summary(memories: Sequence[Memory]) -> str:
    """A heading and a line for each memory, in their order and whole; what says the same is said once."""
    lines = dict.fromkeys(" ".join(memory.content.split()) for memory in memories)
    head = f"{count(len(memories), 'older memory', 'older memories')} in short:"
    return "\n".join([head, *(f"- {line}" for line in lines)])
