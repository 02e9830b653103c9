"""Curation of memories without a model: near duplicates, contradictions, and summaries.

Nothing here merges or removes anything: it names candidates, and a person or an agent decides. Two texts are
compared by their words and, where vectors know meanings, by these. What changes a number, a name or a
negation is a candidate for a contradiction, however near it is. A summary consists of extracted lines only,
so that each of them was written by somebody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ..base.lazy import regex
from ..base.stem import stem
from ..base.values import Value, count
from .model import Memory, audience_of
from .words import exact_words, query_words

NEAR = 0.8
ABOUT_THE_SAME = 0.5
SAME_MEANING, SAME_SUBJECT = 0.8, 0.6
"""The least cosines of two texts that seem to mean the same, and of two that are near enough to contradict
each other. Among the 220 memories of the benchmark, all about different things, no two reach the first."""
_NOT = frozenset(
    "not no never none without cannot don doesn isn aren won shouldn mustn avoid stop instead".split()
)
_OPPOSITES = (
    ("use", "avoid"), ("enable", "disable"), ("always", "never"), ("pass", "fail"), ("works", "broken"),
    ("required", "optional"), ("true", "false"), ("add", "remove"), ("sync", "async"), ("allow", "forbid"),
    ("safe", "unsafe"), ("supported", "unsupported"),
)  # fmt: skip
_NUMBER = regex(r"(?<![\w.])\d(?:[\w.]*\w)?")
_NUMERALS = {
    word: str(number)
    for number, word in enumerate("two three four five six seven eight nine ten eleven twelve".split(), 2)
}
_CAPITALISED = regex(r"(?<=[\w,;:] )[A-Z][a-z]\w*")
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


class Verdict(Value):
    """What two texts are to each other, if they are about the same."""

    why: str
    likeness: float
    contradicts: bool = False


def compare(one: str, other: str, near: float = 0.0) -> Verdict | None:
    """Whether two texts say nearly the same or may contradict each other; ``near`` is the cosine of vectors
    that know meanings, if there are such. None if they are about different things."""
    return _verdict(one, other, likeness(frozenset(query_words(one)), frozenset(query_words(other))), near)


def _verdict(one: str, other: str, alike: float, near: float) -> Verdict | None:
    if alike < ABOUT_THE_SAME * 0.6 and near < SAME_SUBJECT:
        return None
    why = opposed(one, other, near)
    if why:
        return Verdict(why, round(max(alike, near), 3), contradicts=True)
    if alike >= NEAR:
        return Verdict("they say nearly the same", round(alike, 3))
    return Verdict("they seem to mean the same", round(near, 3)) if near >= SAME_MEANING else None


def pairs(
    memories: Sequence[Memory], near: Mapping[tuple[str, str], float] | None = None
) -> tuple[list[Pair], list[Pair]]:
    """The near duplicates and the contradictions among memories that have the same audience. ``near`` has the
    cosines of pairs, by their ids, that vectors found; without it only words count."""
    sets = [frozenset(query_words(memory.content)) for memory in memories]
    cosines = {tuple(sorted(ids)): cosine for ids, cosine in (near or {}).items()}
    places = {memory.id: place for place, memory in enumerate(memories)}
    found = {
        (min(places[one], places[other]), max(places[one], places[other]))
        for one, other in cosines
        if one in places and other in places
    }
    duplicates: list[Pair] = []
    contradictions: list[Pair] = []
    for first, second in sorted(found.union(_candidates(memories, sets))):
        one, other = memories[first], memories[second]
        if audience_of(one) != audience_of(other):
            continue
        alike, cosine = (
            likeness(sets[first], sets[second]),
            cosines.get(tuple(sorted((one.id, other.id))), 0.0),
        )
        verdict = _verdict(one.content, other.content, alike, cosine)
        if verdict is not None:
            pair = Pair(one.id, other.id, verdict.why, verdict.likeness)
            (contradictions if verdict.contradicts else duplicates).append(pair)
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


def opposed(one: str, other: str, near: float = 0.0) -> str:
    """Why two texts may contradict each other, in words; empty if they do not seem to. ``near`` is the cosine
    of vectors that know meanings, if there are such."""
    plain_one, plain_other = set(_RAW.findall(one.lower())), set(_RAW.findall(other.lower()))
    words_one, words_other = set(query_words(one)), set(query_words(other))
    means_same = near >= SAME_SUBJECT
    negations = (
        {word.split("'")[0] for word in plain_one} & _NOT,
        {word.split("'")[0] for word in plain_other} & _NOT,
    )
    alike = likeness(frozenset(words_one - _NOT), frozenset(words_other - _NOT))
    if bool(negations[0]) != bool(negations[1]) and (alike >= ABOUT_THE_SAME or means_same):
        return "one of them negates what the other says"
    for yes, no in _OPPOSITES:
        stems = {stem(yes), stem(no)}
        in_one, in_other = stems & words_one, stems & words_other
        if len(in_one) == len(in_other) == 1 and in_one != in_other:
            return f"one says {yes}, the other {no}"
    if _differ(_numbers(one, plain_one), _numbers(other, plain_other)):
        texts = frozenset(words_one - _digits(words_one)), frozenset(words_other - _digits(words_other))
        if means_same or likeness(*texts) >= NEAR:
            return "they say the same with different numbers"
    return _renamed(one, other, words_one, words_other, means_same)


def _renamed(one: str, other: str, words_one: set[str], words_other: set[str], means_same: bool) -> str:
    """Why two texts may be about different names: each has one that the other lacks, or one word stands for
    another in texts that are otherwise the same."""
    about_same = means_same or likeness(frozenset(words_one), frozenset(words_other)) >= NEAR
    names = _names(one) - words_other, _names(other) - words_one
    if about_same and _differ(*names):
        return "they say the same about different names"
    only = words_one - words_other, words_other - words_one
    if about_same and len(only[0]) == len(only[1]) == 1 and len(words_one) > 2:
        return "they say the same except for one word"
    return ""


def _differ(one: set[str], other: set[str]) -> bool:
    """Whether each has something that the other lacks: what one text only adds contradicts nothing."""
    return bool(one - other and other - one)


def _numbers(text: str, plain: set[str]) -> set[str]:
    """The numbers in a text, in digits; ``plain`` are its words."""
    return {*_NUMBER.findall(text), *(_NUMERALS[word] for word in plain & _NUMERALS.keys())}


def _names(text: str) -> set[str]:
    """The identifiers, and the words that are capitalised within a sentence, as words of a query."""
    capitalised = (word for name in _CAPITALISED.findall(text) for word in query_words(name))
    return {*exact_words(text), *capitalised}


def _digits(words: set[str]) -> set[str]:
    return {word for word in words if any(c.isdigit() for c in word)}


def summary(memories: Sequence[Memory]) -> str:
    """A heading and a line for each memory, in their order and whole; what says the same is said once."""
    lines = dict.fromkeys(" ".join(memory.content.split()) for memory in memories)
    head = f"{count(len(memories), 'older memory', 'older memories')} in short:"
    return "\n".join([head, *(f"- {line}" for line in lines)])
