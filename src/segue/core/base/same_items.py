"""Whether two texts are the same item, though one was shortened or says it in nearly the same words.

``is_same_item`` is the rule. ``KnownItems`` asks it of many texts at once: a plan may have tens of thousands
of items, and comparing each with each would take minutes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

from .lazy import regex
from .stem import stem

BETWEEN = " | "  # separates items that may contain a semicolon
_ITEM_WORD = regex(r"\w+(?:[./:-]\w+)*")
_SMALL_WORDS = frozenset("a an the of to in for on and with its all".split())
_ALIKE_PERCENT, _ALIKE_WORDS_MIN = 80, 4
_CUT_CHARS_MIN = 8


def as_item(text: str) -> str:
    """An item as it appears in a list, that is, without the list's separators."""
    text = " ".join(text.replace("**", "").split())
    return text.replace("; ", ", ").replace(BETWEEN, ", ") if ";" in text or "|" in text else text


def is_same_item(shown: str, text: str) -> bool:
    """Whether a text is the item that was shown in a brief, where it may have been shortened, or the same in
    nearly the same words."""
    shown, text = _bare(shown), _bare(text)
    if shown.endswith("…"):
        return len(shown) > _CUT_CHARS_MIN and text.startswith(shown[:-1])
    if shown == text or not shown or not text:
        return shown == text
    return shown.startswith(f"{text} (") or _are_alike(_item_words(shown), _item_words(text))


def _are_alike(mine: frozenset[str], other: frozenset[str]) -> bool:
    if not mine or not other:
        return False
    if mine == other:
        return True
    common = len(mine & other)
    return (
        min(len(mine), len(other)) >= _ALIKE_WORDS_MIN
        and 100 * common >= _ALIKE_PERCENT * (len(mine) + len(other) - common)
    )  # fmt: skip


def _bare(item: str) -> str:
    return as_item(item).replace("`", "").replace("**", "").strip(" .;:").casefold()


def _item_words(item: str) -> frozenset[str]:
    """The words of an item, those of prose by their stems; names stay as they are."""
    words = (word for word in _ITEM_WORD.findall(item) if word not in _SMALL_WORDS)
    return frozenset(stem(word) if word.isalpha() else word for word in words)


class KnownItems:
    """Texts among which items are looked for: ``shown in known`` is true if ``is_same_item(shown, text)`` is
    for any of them."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._exact = {_bare(text) for text in texts}
        self._sorted: list[str] = []
        self._sets: set[frozenset[str]] = set()
        self._long: list[frozenset[str]] = []
        self._often: Counter[str] = Counter()
        self._with_word: dict[str, list[int]] = {}

    def __contains__(self, shown: str) -> bool:
        if not self._exact:
            return False
        shown = _bare(shown)
        if shown.endswith("…"):
            return len(shown) > _CUT_CHARS_MIN and self._begins(shown[:-1])
        if shown in self._exact or not shown:
            return shown in self._exact
        parts = shown.split(" (")
        if any(" (".join(parts[:end]) in self._exact for end in range(1, len(parts)) if parts[0]):
            return True
        return self._has_alike(_item_words(shown))

    def _prepare_words(self) -> None:
        self._sets = {_item_words(text) for text in self._exact}
        self._long = [words for words in self._sets if len(words) >= _ALIKE_WORDS_MIN]
        self._often = Counter(word for words in self._long for word in words)
        for at, words in enumerate(self._long):
            for word in self._rarest(words):
                self._with_word.setdefault(word, []).append(at)

    def _begins(self, start: str) -> bool:
        self._sorted = self._sorted or sorted(self._exact)
        at = bisect_left(self._sorted, start)
        return at < len(self._sorted) and self._sorted[at].startswith(start)

    def _has_alike(self, mine: frozenset[str]) -> bool:
        if not self._sets:
            self._prepare_words()
        if mine and mine in self._sets:
            return True
        if len(mine) < _ALIKE_WORDS_MIN:
            return False
        return any(
            _are_alike(mine, self._long[at])
            for word in self._rarest(mine)
            for at in self._with_word.get(word, ())
        )

    def _rarest(self, words: frozenset[str]) -> list[str]:
        """So many of the rarest words that two texts which are alike have one of them in common."""
        needed = -(-_ALIKE_PERCENT * len(words) // 100)
        return sorted(words, key=lambda word: (self._often[word], word))[: len(words) - needed + 1]
