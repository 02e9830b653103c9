"""The WordPiece tokenizer of BERT: lower case, no accents, the longest known pieces of words.

The vocabulary is that of uncased BERT (Google, Apache License 2.0), compressed but otherwise unchanged; its
hash is checked when it is read.
"""

from __future__ import annotations

import hashlib
import unicodedata
from functools import cache, lru_cache
from pathlib import Path

from ..._files import read_bytes
from ...errors import DamagedError
from ..files.compression import decompress

VOCABULARY = Path(__file__).parent / "wordpiece.zst"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
UNKNOWN, BEGIN, END = 100, 101, 102
WORD_CHARS_MAX = 100
_CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0xF900, 0xFAFF), (0x20000, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip


@cache
def vocabulary() -> dict[str, int]:
    """The number of each piece; DamagedError if the file is not the original."""
    body = decompress(read_bytes(VOCABULARY))
    if hashlib.sha256(body).hexdigest() != VOCABULARY_SHA256:
        reason = "it is not the one that the model was trained with"
        raise DamagedError("the vocabulary", str(VOCABULARY), reason)
    return {piece: number for number, piece in enumerate(body.decode().split("\n")) if piece}


def encode(text: str, most: int = 256) -> list[int]:
    """The token numbers of a text, with those for beginning and end; at most ``most`` of them."""
    numbers = [BEGIN]
    for word in _words(text[: most * 20]):
        numbers += _pieces(word)
        if len(numbers) >= most:
            break
    return [*numbers[: most - 1], END]


def _words(text: str) -> list[str]:
    apart = text.lower() if text.isascii() else _plain(text)
    out: list[str] = []
    for word in apart.split():
        if word.isalnum() and word.isascii():
            out.append(word)
        else:
            out += _split(word)
    return out


def _plain(text: str) -> str:
    text = "".join(f" {c} " if _is_cjk(ord(c)) else c for c in text)
    apart = unicodedata.normalize("NFD", text.lower())
    kept = (c for c in apart if unicodedata.category(c) != "Mn")
    return "".join(
        " " if c.isspace() else c for c in kept if c.isspace() or unicodedata.category(c)[0] != "C"
    )


def _split(word: str) -> list[str]:
    """A word split at punctuation, each mark being a piece of its own."""
    out, run = [], ""
    for c in word:
        if _is_mark(c):
            out += [run, c] if run else [c]
            run = ""
        else:
            run += c
    return [*out, run] if run else out


def _is_mark(c: str) -> bool:
    code = ord(c)
    if code < 128:
        return not c.isalnum() and code > 32
    return unicodedata.category(c)[0] == "P"


def _is_cjk(code: int) -> bool:
    return any(first <= code <= last for first, last in _CJK)


@lru_cache(maxsize=32_768)
def _pieces(word: str) -> tuple[int, ...]:
    """The longest known pieces from left to right; the whole word is unknown if any part of it is."""
    if len(word) > WORD_CHARS_MAX:
        return (UNKNOWN,)
    known, found, at = vocabulary(), [], 0
    while at < len(word):
        for end in range(len(word), at, -1):
            number = known.get(word[at:end] if at == 0 else "##" + word[at:end])
            if number is not None:
                found.append(number)
                at = end
                break
        else:
            return (UNKNOWN,)
    return tuple(found)
