"""Texts within a number of bytes: cut between words, and without what a person would not see."""

from __future__ import annotations

from ..base.lazy import regex
from ..base.text import ESCAPE_SEQUENCES

_LIST_MARK = regex(r"\s+\d{1,2}[.)]$")


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
    return _LIST_MARK.sub("", short[:at]).rstrip(" ,;:.(—-") + "…"


def middle(text: str, most: int) -> str:
    """A name or a command of which both ends tell, in at most ``most`` bytes."""
    text = plain(" ".join(text.split()))
    if size(text) <= most:
        return text
    room = max(0, most - 3)
    raw = text.encode("utf-8", "replace")
    end = raw[len(raw) - room // 3 :].decode("utf-8", "ignore").lstrip()
    return f"{raw[: room - room // 3].decode('utf-8', 'ignore').rstrip()}…{end}"


_NO_QUOTES = {ord('"'): "'", ord("\n"): " "}


def quote(text: str, most: int = 1_000_000) -> str:
    """A quotation whose text cannot close it, cut inside its marks; empty if no word of it fits."""
    short = cut(text.translate(_NO_QUOTES), most - 2)
    return f'"{short}"' if short else ""
