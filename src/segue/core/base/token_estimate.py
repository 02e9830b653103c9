"""How many tokens a text takes, at most.

Models count in their own ways, and most of them are not public. Without a counter of the model the estimate
here is used: piece by piece as tokenizers cut (words, digits in threes, signs, runs of blanks), with a
margin, so that it is above what public tokenizers give for prose, code and logs (``docs/benchmarks.md``). A
line's estimate does not depend on its neighbours: a text takes what its lines take. A counter of the model
can be handed in wherever a budget is; what is kept under a budget is kept under it by that counter.
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
    """What a piece costs, worked out once each."""

    def __missing__(self, piece: str) -> int:
        if len(self) > _KNOWN_MAX:
            self.clear()
        cost = self[piece] = _cost(piece)
        return cost


def _cost(piece: str) -> int:
    bare = piece.lstrip(" ")
    if not bare:
        return 1 + len(piece) // 16
    first = bare[0]
    if not first.isascii():
        return -(-2 * len(piece.encode("utf-8", "replace")) // 3)
    if first.isdigit():
        return 1 + (bare is not piece)
    if first.islower() or bare[1:].islower():
        return 1 + (len(bare) - 1) // 9
    return -(-len(bare) // 2) if first.isalpha() else 1


_costs = _Costs()


def estimate(text: str) -> int:
    """An upper bound for prose, code and logs."""
    return sum(map(estimate_line, text.split("\n"))) if text else 0


def estimate_line(line: str) -> int:
    """The same for one line, its end included."""
    pieces = sum(map(_costs.__getitem__, _PIECE.findall(line)))
    return 1 + -(-pieces * (100 + MARGIN_PERCENT) // 100)
