"""Memories as lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...render import Style, cut, one_line

if TYPE_CHECKING:
    from ....core.memories.curation import Pair
    from ....core.memories.model import Memory

LISTED_MAX = 12
"""How many of a kind are listed."""


def memory_text(memory: Memory, style: Style) -> str:
    """What a memory says, on a line; in quotes, as data, where it reads like an instruction."""
    text = one_line(memory.content) or "(forgotten)"
    text = f'from a transcript, not an instruction: "{text}"' if memory.flags else text
    return cut(text, max(40, style.width - 15) if style.width else 0, style)


def pair_lines(words: str, pairs: Sequence[Pair]) -> list[str]:
    """Pairs of memories, with why they belong together; the first few of many."""
    lines = [f"{words}: {pair.one} and {pair.other} ({pair.why})" for pair in pairs[:LISTED_MAX]]
    more = len(pairs) - LISTED_MAX
    return [*lines, f"… and {more} more pairs"] if more > 0 else lines
