"""The WordPiece tokenizer of BERT: lower case, no accents, the longest known pieces of words.

The vocabulary is that of uncased BERT (Google, Apache License 2.0); it stands in the file of weights.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from ...core.base.lazy import regex
from .weights_file import shipped

UNKNOWN, BEGIN, END = 100, 101, 102
WORD_CHARS_MAX = 100
PIECE_CHARS_MAX = 18
"""No piece is longer."""
_CHARS_OF_A_PIECE = 20
"""Texts are cut where they have surely more pieces than are asked for."""
_PART_CHARS = 400
_MARKS = r"!-/:-@\[-`{-\x7f"
_WORD = regex(rf"[^\s{_MARKS}]+|[{_MARKS}]")
_CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0xF900, 0xFAFF), (0x20000, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def pieces_of(text: str, most: int) -> list[int]:
    """The numbers of the first pieces of a text, at most so many. Raises DamagedError."""
    numbers: list[int] = []
    for part in _parts(text[: most * _CHARS_OF_A_PIECE]):
        for word in _words(part):
            numbers += _pieces(word)
            if len(numbers) >= most:
                return numbers[:most]
    return numbers


def encode(text: str, most: int = 256) -> list[int]:
    """The token numbers of a text, with those for beginning and end; at most ``most`` of them."""
    return [BEGIN, *pieces_of(text, most - 2), END]


def _parts(text: str) -> Iterator[str]:
    """A text in parts that end before a space, so that no more of it is looked at than is needed."""
    start = 0
    while start < len(text):
        end = text.find(" ", start + _PART_CHARS)
        end = end if end >= 0 else len(text)
        yield text[start:end]
        start = end


def _words(text: str) -> list[str]:
    """Words and marks: each mark is a word of its own, and so is each Chinese character."""
    low = text.lower()
    return _WORD.findall(low if low.isascii() else unicodedata.normalize("NFD", low).translate(_folded))


class _Folded(dict[int, str]):
    """What stands for a character: nothing for an accent, and a mark stands apart."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category = unicodedata.category(char)
        if char.isspace():
            char = " "
        elif category == "Mn" or category[0] == "C":
            char = ""
        elif category[0] == "P" or any(first <= code <= last for first, last in _CJK):
            char = f" {char} "
        self[code] = char
        return char


_folded = _Folded()


@lru_cache(maxsize=32_768)
def _pieces(word: str) -> tuple[int, ...]:
    """The longest known pieces from left to right; the whole word is unknown if any part of it is."""
    if len(word) > WORD_CHARS_MAX:
        return (UNKNOWN,)
    number_of = shipped().number
    found, at = [], 0
    while at < len(word):
        for end in range(min(len(word), at + PIECE_CHARS_MAX), at, -1):
            number = number_of(word[at:end] if at == 0 else "##" + word[at:end])
            if number is not None:
                found.append(number)
                at = end
                break
        else:
            return (UNKNOWN,)
    return tuple(found)
