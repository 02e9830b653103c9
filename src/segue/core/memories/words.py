"""Tokenizing of texts about code for full-text search, the same for indexed texts and for queries.

``parse_user_id``, ``parseUserId``, ``src/auth/login.py:45`` and ``E0308`` each become one exact word,
prefixed with ``=``, and also the words that they are made of. Prose is lower-cased and stemmed. All stores
index these words instead of making their own, so that a query finds the same in each of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from ..base.lazy import regex
from ..base.stem import STOP_WORDS, stem

WORD_CHARS_MAX = 64
EXACT = "="
"""The prefix of a word that stands for a whole name."""

_CHUNK = regex(r"[^\W_](?:[\w./\\:#@+\-$]*[\w+#])?|_[\w./\\:]*\w")
_PART = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_NAME = regex(
    r"_|::|\\|[@$]|\+\+|\w#|[a-z][A-Z]|[A-Z]{2,}[a-z]{2}|[A-Za-z]\d|\d[A-Za-z]|\w\w\.\w|\w\.\w\w"
    r"|\w/[\w.-]+/\w"
)
"""Matches what occurs in names but not in words of prose."""
_CJK = regex("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def words(text: str) -> list[str]:
    """The words of a text in their order, for the index."""
    return list(_words(text))


def query_words(text: str) -> list[str]:
    """The words of a query without duplicates and stop words. If there are only stop words, they stay."""
    found = list(dict.fromkeys(_words(text)))
    significant = [word for word in found if word not in _stop_words()]
    return significant or found


def exact_words(text: str) -> list[str]:
    """The identifiers, paths and codes in a text, with their prefix."""
    return [word for word in dict.fromkeys(_words(text)) if word.startswith(EXACT)]


def _words(text: str) -> Iterator[str]:
    for match in _CHUNK.finditer(_composed(text)):
        chunk = match.group()
        if chunk.isalpha() and chunk[1:].islower():
            yield from _plain(chunk)
            continue
        if _NAME.search(chunk) and not chunk.isnumeric():
            yield from _exact(chunk)
        for part in _PART.findall(chunk):
            yield from _plain(part)


def _exact(chunk: str) -> Iterator[str]:
    """The exact words for a name; of a path also its last part, and of ``file.py:45`` also the file."""
    name = chunk.strip(".:/\\@#-").lower()[:WORD_CHARS_MAX]
    file = name.partition(":")[0]
    last = re.split(r"[/\\]", file)[-1]
    for form in dict.fromkeys((name, file, last)):
        if len(form) > 1 and (form == name or not form.isalpha()):
            yield EXACT + form


def _plain(part: str) -> Iterator[str]:
    word = part.lower()[:WORD_CHARS_MAX]
    if not word.isascii() and _CJK.search(word):
        yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))
    else:
        yield stem(word)


def _composed(text: str) -> str:
    """The text without accents, so that "café" matches "cafe"; other scripts are left unchanged."""
    if text.isascii():
        return text.replace("'s ", " ").replace("'", " ")
    decomposed = unicodedata.normalize("NFKD", text.replace("\u2019", "'"))
    plain = "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", plain).replace("'s ", " ").replace("'", " ")


@cache
def _stop_words() -> frozenset[str]:
    """The stop words and their stems."""
    return STOP_WORDS | {stem(word) for word in STOP_WORDS}
