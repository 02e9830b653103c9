"""The page that a brief is written on: labelled lines within a number of bytes, cut only between words."""

from __future__ import annotations

from ..base.text import ESCAPE_SEQUENCES
from .relevance import words

LIST_MAX = 10  # items on a line


def size(text: str) -> int:
    """The length of a text in bytes of UTF-8."""
    return len(text.encode("utf-8", "replace"))


_UNSEEN = dict.fromkeys(
    [
        *range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF,
        *range(0xD800, 0xE000), *range(0xE0000, 0xE0080),
    ]
)  # fmt: skip
"""Characters that a terminal or a model would process but a person would not see."""


def plain(line: str) -> str:
    """The line without control sequences and invisible characters."""
    if line.isprintable():
        return line
    return ESCAPE_SEQUENCES.sub("", line).translate(_UNSEEN)


def cut(text: str, most: int) -> str:
    """The text on one line in at most ``most`` bytes, cut after a sentence or a word; empty if no word
    fits."""
    text = plain(" ".join(text.split()))
    if size(text) <= most:
        return text
    short = text.encode("utf-8", "replace")[: max(0, most - 3)].decode("utf-8", "ignore")
    stop = max(short.rfind(". "), short.rfind("! "), short.rfind("? "))
    if stop > len(short) * 0.75:
        return short[: stop + 1] + "…"
    at = short.rfind(" ")
    if at < 0:  # one long word: a path, or a language that is written without spaces
        return f"{short}…" if most >= 12 else ""
    return short[:at].rstrip(" ,;:.(—-") + "…"


class BriefPage:
    """Labelled lines, and the number of bytes that are left."""

    def __init__(self, budget: int) -> None:
        self.left = budget
        self.lines: dict[str, str] = {}
        self.seen: set[str] = set()
        self.low = ""

    def put(self, label: str, line: str) -> bool:
        """Set the line of a label if it fits; the cost includes the line break."""
        cost = size(line) + 1 - (size(self.lines[label]) + 1 if label in self.lines else 0)
        if not line or cost > self.left:
            return False
        self.left -= cost
        self.lines[label] = line
        self.note(line)
        return True

    def note(self, text: str) -> None:
        """Remember that the page contains this text, so that it is not repeated."""
        self.seen |= words(text)
        self.low += text.lower() + "\n"

    def say(self, label: str, text: str, share: float | int) -> bool:
        """Add a labelled text, cut to its share of the page. Returns whether anything of it fits."""
        most = min(int(share), self.left - size(label) - 3)
        short = cut(text, most)
        is_whole = size(" ".join(text.split())) <= most
        return bool(short) and (is_whole or most >= 12) and self.put(label, f"{label}: {short}")
