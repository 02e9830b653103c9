"""Where the match of a rule may begin.

RE2 looks for the beginnings of all rules at once. Its automaton is small, because every process builds it
again. It also finds signs that a reader does not see, which costs nothing where there are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from .rules import RULES, RUN, UNSEEN_HEAD, Rule
from .value import compiled

HEAD_BYTES_MAX = 1024
"""A longer head need not be found."""


@cache
def _literals() -> list[tuple[tuple[bytes, ...], Rule]]:
    return [(tuple(rule.literals.encode().split()), rule) for rule in RULES]


@lru_cache(4096)
def rules_for(first: bytes) -> list[tuple[tuple[bytes, ...], Rule]]:
    """The rules that may match where these bytes begin, with all their literals."""
    return [
        (literals, rule)
        for literals, rule in _literals()
        if first.startswith(literals) or any(literal.startswith(first) for literal in literals)
    ]


@cache
def search_for_heads(*, unseen: bool) -> Callable[[bytes, int, int], int]:
    """The search for anything that a rule may begin with, and perhaps for signs that are not seen: where the
    first of them begins, or -1."""
    literals = {start for rule in RULES if not rule.head for start in rule.literals.split()}
    heads = sorted({rule.head for rule in RULES if rule.head})
    starts_with = "|".join(map(re.escape, sorted(literals)))  # sorted: RE2 merges common prefixes
    also = f"|{UNSEEN_HEAD}" if unseen else ""
    heads_regex = compiled(f"(?i:(?:{starts_with}){RUN}|{'|'.join(heads)}{also})", captures=False)
    return _first_position(heads_regex)


def _first_position(heads_regex: Any) -> Callable[[bytes, int, int], int]:
    """Without the object that RE2's package makes of every match, which takes as long as the search."""
    try:
        match, anchor = heads_regex._regexp.Match, _engine().RE2.Anchor.UNANCHORED
        match(anchor, b"", 0, 0)[0][0]
    except (AttributeError, TypeError, IndexError):  # another release of the package

        def searched(chunk: bytes, first: int, last: int) -> int:
            head = heads_regex.search(chunk, first, last)
            return head.start() if head else -1

        return searched

    def position(chunk: bytes, first: int, last: int) -> int:
        last = min(last, len(chunk))
        start: int = match(anchor, chunk, first, last)[0][0] if first <= last else -1
        return start

    return position


def _engine() -> Any:
    import re2  # type: ignore[import-untyped]

    return re2._re2
