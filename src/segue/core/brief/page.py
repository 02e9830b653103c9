"""A page of a brief: lines under labels within a number of bytes, cut between words."""

from __future__ import annotations

from ..base.text import ESCAPE_SEQUENCES
from .relevance import words

LIST_MAX = 10  # items on a line


def size(text: str) -> int:
    """Bytes of UTF-8."""
    return len(text.encode("utf-8", "replace"))


_UNSEEN = dict.fromkeys(
    [
        *range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF,
        *range(0xD800, 0xE000), *range(0xE0000, 0xE0080),
    ]
)  # fmt: skip
"""What a terminal or a model would obey or read, and a person would not see."""


def plain(line: str) -> str:
    """A line without control sequences and what else cannot be seen."""
    if line.isprintable():
        return line
    return ESCAPE_SEQUENCES.sub("", line).translate(_UNSEEN)


def cut(text: str, most: int) -> str:
    """At most so many bytes of a text, ending at a sentence or a word; "" where not even a word fits."""
    text = plain(" ".join(text.split()))
    if size(text) <= most:
        return text
    short = text.encode("utf-8", "replace")[: max(0, most - 3)].decode("utf-8", "ignore")
    stop = max(short.rfind(". "), short.rfind("! "), short.rfind("? "))
    if stop > len(short) * 0.75:
        return short[: stop + 1] + "…"
    at = short.rfind(" ")
    if at < 0:  # one long word: a path, or a language that writes without blanks
        return f"{short}…" if most >= 12 else ""
    return short[:at].rstrip(" ,;:.(—-") + "…"


class BriefPage:
    """Lines under labels, with the bytes that are left."""

    def __init__(self, budget: int) -> None:
        self.left = budget
        self.lines: dict[str, str] = {}
        self.seen: set[str] = set()
        self.low = ""

    def put(self, label: str, line: str) -> bool:
        """Add a line if it fits, newline included, in place of the one that stands there."""
        cost = size(line) + 1 - (size(self.lines[label]) + 1 if label in self.lines else 0)
        if not line or cost > self.left:
            return False
        self.left -= cost
        self.lines[label] = line
        self.note(line)
        return True

    def note(self, text: str) -> None:
        """Count a text as said."""
        self.seen |= words(text)
        self.low += text.lower() + "\n"

    def say(self, label: str, text: str, share: float | int) -> bool:
        """Add a labelled text, cut to its share."""
        most = min(int(share), self.left - size(label) - 3)
        told = cut(text, most)
        whole = size(" ".join(text.split())) <= most
        return bool(told) and (whole or most >= 12) and self.put(label, f"{label}: {told}")
