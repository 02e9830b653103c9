"""Keeping memories few and true, without a model: what says the same, what speaks against each other, what
many say in short.

Nothing here merges or drops anything: it names candidates, and a person or an agent decides. A summary
is made by extraction alone, so each of its lines is one that somebody wrote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..base.lazy import regex
from ..base.values import Value, count
from .model import Memory, audience_of
from .words import asked

NEAR = 0.8
ABOUT_THE_SAME = 0.5
SUMMARY_LINES_MAX = 12
LINE_CHARS_MAX = 240
_NOT = frozenset(
    "not no never none without cannot don doesn isn aren won shouldn mustn avoid stop instead".split()
)
_OPPOSITES = (
    ("use", "avoid"), ("enabl", "disabl"), ("alwai", "never"), ("pass", "fail"), ("works", "broken"),
    ("requir", "option"), ("true", "fals"), ("on", "off"), ("add", "remov"), ("sync", "async"),
    ("allow", "forbid"), ("safe", "unsaf"), ("before", "after"), ("support", "unsupport"),
)  # fmt: skip
_NUMBER = regex(r"(?<![\w.])\d[\w.]*")
_RAW = regex(r"[a-z']+")


class Pair(Value):
    """Two memories that should be looked at together."""

    one: str
    other: str
    why: str
    likeness: float


class Junk(Value):
    """What an audit found: candidates, nothing is changed."""

    total: int
    duplicates: list[Pair]
    contradictions: list[Pair]
    never_recalled: list[str]
    harmful: list[str]
    expired: list[str]
    flagged: list[str]


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """How much of their words two memories share."""
    return len(one & other) / len(one | other) if one and other else 0.0


def pairs(memories: Sequence[Memory]) -> tuple[list[Pair], list[Pair]]:
    """(near duplicates, contradictions) among memories of the same audience."""
    sets = [frozenset(asked(memory.content)) for memory in memories]
    same: list[Pair] = []
    against: list[Pair] = []
    for first, second in _meeting(memories, sets):
        alike = likeness(sets[first], sets[second])
        one, other = memories[first], memories[second]
        why = opposed(one.content, other.content) if alike >= ABOUT_THE_SAME * 0.6 else ""
        if why:
            against.append(Pair(one.id, other.id, why, round(alike, 3)))
        elif alike >= NEAR:
            same.append(Pair(one.id, other.id, "says nearly the same", round(alike, 3)))
    return sorted(same, key=_order), sorted(against, key=_order)


def _order(pair: Pair) -> tuple[float, str, str]:
    return (-pair.likeness, pair.one, pair.other)


def _meeting(memories: Sequence[Memory], sets: Sequence[frozenset[str]]) -> list[tuple[int, int]]:
    """Places of memories of one audience that share a rare word: others are not compared."""
    counts = Counter(word for words in sets for word in words)
    rare = max(8, len(memories) // 20)
    by_word: dict[tuple[object, str], list[int]] = {}
    met: set[tuple[int, int]] = set()
    for place, words in enumerate(sets):
        audience = audience_of(memories[place])
        chosen = [word for word in sorted(words, key=lambda w: (counts[w], w))[:6] if counts[word] <= rare]
        for word in chosen:
            others = by_word.setdefault((audience, word), [])
            met.update((other, place) for other in others)
            others.append(place)
    return sorted(met)


def opposed(one: str, other: str) -> str:
    """In words why two texts may speak against each other; empty if they do not."""
    raw_one, raw_other = set(_RAW.findall(one.lower())), set(_RAW.findall(other.lower()))
    words_one, words_other = set(asked(one)), set(asked(other))
    nots = {word.split("'")[0] for word in raw_one} & _NOT, {word.split("'")[0] for word in raw_other} & _NOT
    alike = likeness(frozenset(words_one - _NOT), frozenset(words_other - _NOT))
    if bool(nots[0]) != bool(nots[1]) and alike >= ABOUT_THE_SAME:
        return "one says no where the other says yes"
    for yes, no in _OPPOSITES:
        across = (yes in words_one and no in words_other) or (no in words_one and yes in words_other)
        if across and not {yes, no} <= words_one and not {yes, no} <= words_other:
            return f"{yes} against {no}"
    numbers = set(_NUMBER.findall(one)), set(_NUMBER.findall(other))
    if numbers[0] and numbers[1] and numbers[0] != numbers[1]:
        plain = frozenset(words_one - _digits(words_one)), frozenset(words_other - _digits(words_other))
        if likeness(*plain) >= NEAR:
            return "the same with other numbers"
    return ""


def _digits(words: set[str]) -> set[str]:
    return {word for word in words if any(c.isdigit() for c in word)}


_WORTH = {
    "decision": 3.0, "reflection": 3.0, "error-solution": 3.0, "strategy": 3.0, "task-failure": 2.0,
    "history-summary": 2.0, "handoff": 1.5,
}  # fmt: skip


def summary(memories: Sequence[Memory], lines_max: int = SUMMARY_LINES_MAX) -> str:
    """The telling lines of many memories, oldest first, each as it was written."""
    counts = Counter(word for memory in memories for word in set(asked(memory.content)))
    scored: list[tuple[float, int, str, frozenset[str]]] = []
    for place, memory in enumerate(memories):
        line = _first_line(memory.content)
        words = frozenset(asked(line))
        if not words:
            continue
        central = sum(min(counts[word], 8) for word in words) / len(words) ** 0.75
        score = central * _WORTH.get(memory.type, 1.0) * (1 + memory.effectiveness)
        scored.append((score, place, line, words))
    chosen: list[tuple[int, str, frozenset[str]]] = []
    for _, place, line, words in sorted(scored, key=lambda row: (-row[0], row[1])):
        if all(likeness(words, other) < ABOUT_THE_SAME for _, _, other in chosen):
            chosen.append((place, line, words))
        if len(chosen) >= lines_max:
            break
    told = [f"- {line}" for _, line, _ in sorted(chosen)]
    return "\n".join([f"{count(len(memories), 'older memory', 'older memories')} in short:", *told])


def _first_line(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= LINE_CHARS_MAX:
        return line
    end = line.find(". ", 60, LINE_CHARS_MAX)
    return line[: end + 1] if end > 0 else line[:LINE_CHARS_MAX].rpartition(" ")[0] + " …"
