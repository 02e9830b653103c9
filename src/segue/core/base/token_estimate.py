"""An upper bound on how many tokens a text takes.

Most models' tokenizers are not public. The estimate splits a text as tokenizers do (words, digits in
threes, punctuation, runs of spaces) and adds a margin, so that it is above what public tokenizers give for
prose, code and logs (``docs/benchmarks.md``). A line's estimate does not depend on its neighbours, so the
estimate of a text is the sum over its lines. Wherever a token budget can be set, a model's own counter can
be passed instead.
"""

from __future__ import annotations

from collections.abc import Callable

from .lazy import regex

Counter = Callable[[str], int]

MARGIN_PERCENT = 20
_PIECE = regex(
    r" ?[A-Za-z]?[a-z]+| ?[A-Z]+| ?[0-9]{1,3}|[ \t]+|[^\x00-\x7f]+|[^\sA-Za-z0-9]{1,2}|[\x00-\x1f]"
)
_KNOWN_MAX = 60_000


class _Costs(dict[str, int]):
    """A bounded cache of what each piece costs."""

    def __missing__(self, piece: str) -> int:
        if len(self) > _KNOWN_MAX:
            self.clear()
        cost = self[piece] = _cost(piece)
        return cost


def _cost(piece: str) -> int:
    word = piece.lstrip(" ")
    if not word:
        return 1 + len(piece) // 16
    first = word[0]
    if not first.isascii():
        return -(-2 * len(piece.encode("utf-8", "replace")) // 3)
    if first.isdigit():
        return 1 + (word is not piece)
    if first.islower() or word[1:].islower():
        return 1 + (len(word) - 1) // 9
    return -(-len(word) // 2) if first.isalpha() else 1


_costs = _Costs()


def estimate(text: str) -> int:
    """An upper bound on the tokens of a text."""
    return sum(map(estimate_line, text.split("\n"))) if text else 0


def estimate_line(line: str) -> int:
    """An upper bound on the tokens of one line, including its line break."""
    pieces = sum(map(_costs.__getitem__, _PIECE.findall(line)))
    return 1 + -(-pieces * (100 + MARGIN_PERCENT) // 100)
