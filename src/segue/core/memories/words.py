"""Words of a text about code, for full-text search: the same for what is kept and for what is asked.

``parse_user_id``, ``parseUserId``, ``src/auth/login.py:45`` and ``E0308`` are each one exact word, marked
with ``=``, and also the words that they are made of. Prose is lower-cased and stemmed. Every store keeps
these words and none makes its own, so that the same query finds the same on each of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from ..base.lazy import regex
from .stem import stem

WORD_CHARS_MAX = 64
EXACT = "="
"""What a word begins with that is meant as a whole."""

_CHUNK = regex(r"[^\W_](?:[\w./\\:#@+\-$]*[\w+#])?|_[\w./\\:]*\w")
_PART = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_NAME = regex(
    r"_|::|\\|[@$]|\+\+|\w#|[a-z][A-Z]|[A-Z]{2,}[a-z]{2}|[A-Za-z]\d|\d[A-Za-z]|\w\w\.\w|\w\.\w\w"
    r"|\w/[\w.-]+/\w"
)
"""What a name has in it and a word of prose has not."""
_CJK = regex("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_STOPS = frozenset(
    "a about after all also am an and any are as at be because been before being but by can could did "
    "do does doing down each for from had has have having he her here hers him his how i if in into is "
    "it its just me more most my no nor not now of off on once only or other our out over own same she "
    "should so some such than that the their them then there these they this those through to too under "
    "until up very was we were what when where which while who whom why will with would you your s t d "
    "ll m o re ve y".split()
)


def words(text: str) -> list[str]:
    """The words of a text, in order, as they are kept."""
    return list(_words(text))


def asked(text: str) -> list[str]:
    """The words of a query: each once, without those that say nothing (unless there are no others)."""
    found = list(dict.fromkeys(_words(text)))
    telling = [word for word in found if word not in _stopped()]
    return telling or found


def exact_words(text: str) -> list[str]:
    """The identifiers, paths and codes of a text: words with ``=``."""
    return [word for word in dict.fromkeys(_words(text)) if word.startswith(EXACT)]


def _words(text: str) -> Iterator[str]:
    for match in _CHUNK.finditer(_composed(text)):
        chunk = match.group()
        if chunk.isalpha() and chunk[1:].islower():
            yield from _plain(chunk)
            continue
        if _NAME.search(chunk) and not chunk.isnumeric():
            yield from _whole(chunk)
        for part in _PART.findall(chunk):
            yield from _plain(part)


def _whole(chunk: str) -> Iterator[str]:
    """A name as a whole; of a path also its last part, and of ``file.py:45`` the file."""
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
    """Accents taken off, so that café and cafe meet; other scripts stay."""
    if text.isascii():
        return text.replace("'s ", " ").replace("'", " ")
    apart = unicodedata.normalize("NFKD", text.replace("\u2019", "'"))
    plain = "".join(c for c in apart if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", plain).replace("'s ", " ").replace("'", " ")


@cache
def _stopped() -> frozenset[str]:
    """Words that say nothing, and what is left of them."""
    return _STOPS | {stem(word) for word in _STOPS}
