"""Secrets that are known by where they stand: cookies, commands that set a variable, password files, words of
a wallet."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from ..._files import read_bytes
from .judge import is_no_secret_name, is_placeholder, is_secret, is_stand_in, is_weak, is_wordy
from .rules import NAMES, Rule
from .value import (
    Span,
    Verdict,
    after_escapes,
    as_read,
    bytes_regex,
    extent_of,
    harmless_verdict,
    whole_value,
)

COOKIES_BYTES_MAX = 8_192
BEFORE_PHRASE_MAX, WORDS_BYTES_MAX = 120, 600
PHRASE_LENGTHS = (12, 15, 18, 21, 24)
_PAIR = rb"([A-Za-z0-9_.$%-]{1,64})=(\\*\"?)([^\x00-\x20\x7f-\xff;,\"'\\`<>(){}\[\]|]+)"
_LIST_WITHIN = rb"(?i)cookies?[:=][A-Za-z0-9_.$%-]{1,64}="
_NEXT_PAIR = rb"\\*\"?;(?: |%20)?"
_ATTRIBUTES = frozenset(b"expires max-age domain path samesite priority version comment".split())


def judge_cookies(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """The values of the cookies of a header that are no words, numbers or dates."""
    name = re.search(rb"[A-Za-z0-9_.$%-]{1,64}=\Z", match.group())
    at = match.start() + (name.start() if name else 0)
    spans = []
    limit = at + COOKIES_BYTES_MAX
    while pair := bytes_regex(_PAIR).match(chunk, at, limit):
        start, end = pair.span(3)
        if pair[1].lower() not in _ATTRIBUTES and _is_cookie_secret(as_read(chunk[start:end])):
            spans.append((start, end))
        elif bytes_regex(_LIST_WITHIN).search(pair.group()):
            break  # this is where the next match begins
        more = bytes_regex(_NEXT_PAIR).match(chunk, end, limit)
        if more is None:
            break
        at = more.end()
        if flag := bytes_regex(rb"(?i)(?:httponly|secure|partitioned);? ?").match(chunk, at, limit):
            at = flag.end()
    return spans or int(match.end())


def _is_cookie_secret(value: str) -> bool:
    if len(value) < 12 or is_placeholder(value) or re.fullmatch(r"[\d.:_-]+", value):
        return False
    return any(c.isdigit() for c in value) and not is_wordy(value)


def judge_command(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """The value that a command gives to a variable with a telling name, without a sign between them."""
    quote = match.group(2) or b""
    extent = extent_of(chunk, quote, match.start(3))
    key = match.group(1).decode("latin-1")
    found = re.search(rf"(?i)(?:{NAMES})\w*$", key)
    name = found.group().lstrip("_-") if found else key
    value = as_read(chunk[extent.start : extent.end])
    named = value.startswith(("-", "$", "(", "%")) or is_no_secret_name(key)
    weak, shouted = is_weak(name), name.isupper()
    if named or not is_secret(
        name, value, key=key, quoted=extent.quoted, bare_code=False, weak=weak, alone=True, shouted=shouted
    ):
        return harmless_verdict(match.start(), quote, extent)
    return whole_value(chunk, extent)


_HOST = rb"(?:[A-Za-z0-9][A-Za-z0-9.-]*|\*)\Z"


def judge_pgpass(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """The last of the five fields of a line in a password file of PostgreSQL."""
    start, end = match.span(1)
    first = after_escapes(chunk, max(0, match.start() - 80), match.start())
    host = bytes_regex(_HOST).search(chunk, first, match.start())
    value = as_read(chunk[start:end])
    ends = chunk[end : end + 1] in (b"", b"\n", b"\r", b'"', b"'", b"\\", b" ", b"`", b"\x1b")
    if (
        not host
        or chunk[host.start() - 1] in b"_:/@"
        or not ends
        or ":" in value
        or is_placeholder(value)
        or is_stand_in(value)
    ):
        return int(match.end())
    secret = is_secret("password", value, quoted=False, bare_code=False, weak=False, alone=True)
    return [(start, end)] if secret else int(match.end())


OBJECT_BYTES_MAX = 8_192
_PRIVATE_MEMBER = rb"(?<!\\)(\\*+\")(?:d|p|q|dp|dq|qi|k)\1\s{0,2}:\s{0,2}\1([A-Za-z0-9_-]{16,})\1"


def _object_around(chunk: bytes, match: Any, word: bytes, bounds: tuple[bytes, bytes]) -> Span:
    """Where the object around a match may begin and end: not beyond another with the same word in it."""
    start, end = match.span()
    first, last = max(0, start - OBJECT_BYTES_MAX), min(len(chunk), end + OBJECT_BYTES_MAX)
    for before, after in ((word, word), bounds):
        first = max(first, chunk.rfind(before, first, start))
        found = chunk.find(after, end, last)
        last = found if found >= 0 else last
    return first, last


def judge_jwk(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """The private members of a key in JSON, before and after the one that tells its type."""
    first, last = _object_around(chunk, match, b"kty", (b"{", b"}"))
    members = bytes_regex(_PRIVATE_MEMBER).finditer(chunk, first, last)
    return [member.span(2) for member in members] or int(match.end())


_LINE = rb"(?:\r?\n|(?<!\\)(?:\\++r)?\\++n)"
_SPACES = rb"(?:\s|\\+[nrt]){0,24}"
_DATA = (
    rb"(?:" + _LINE + rb"[ ]{0,12}|\A|[{,\s\"]\s{0,8}(?:\\*\")?)(?:data|stringData)(?:\\*\")?:[ ]{0,2}"
    rb"(?:(?=\\|\s)|\{)"
)
_ENTRY = (
    rb"(?:" + _LINE + rb"[ ]{1,12}|,?" + _SPACES + rb"(?=\\*\"))(\\*\"?)[A-Za-z0-9_.-]{1,253}\1:[ ]{0,2}"
    rb"(\\*\"?)([A-Za-z0-9+/]{8,}={0,2})\2(?![^\s\"\\,}])"
)


def judge_kubernetes(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """The values under `data` in a Secret of Kubernetes, which are in base64, before or after its kind."""
    first, last = _object_around(chunk, match, b"kind", (b"apiVersion", b"apiVersion"))
    spans: list[Span] = []
    for data in bytes_regex(_DATA).finditer(chunk, first, last):
        at = data.end()
        while entry := bytes_regex(_ENTRY).match(chunk, at, last):
            spans.append(entry.span(3))
            at = entry.end()
    return spans or int(match.end())


def judge_given_password(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """A password that stands alone at a place for one."""
    start, end = match.span(1)
    value = as_read(chunk[start:end])
    secret = is_secret("password", value, quoted=False, bare_code=False, weak=False, alone=True)
    return [(start, end)] if secret and not is_stand_in(value) else int(start)


_ESCAPED = rb"(?<!\\)\\++(?:([nrt\"]|u00(?:[01][0-9a-fA-F]|7[fF]))|u[0-9a-fA-F]{4})"
_BETWEEN_WORDS = rb"[\s,;:|\"'`*_.)(\[\]0-9-]{1,12}"


def judge_seed(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """The words of a phrase from which a wallet can be made again, near a word that speaks of one."""
    first: int = match.end()
    window = chunk[first : first + WORDS_BYTES_MAX]
    if b"\\" in window:
        window = bytes_regex(_ESCAPED).sub(
            lambda escape: (b" " if escape[1] else b"\x80") * len(escape[0]), window
        )
    known = _seed_words()
    words: list[Span] = []
    for word in bytes_regex(rb"[A-Za-z\x80-\xff]+").finditer(window):
        is_known = word.group() in known
        if words and not (
            is_known and bytes_regex(_BETWEEN_WORDS).fullmatch(window, words[-1][1], word.start())
        ):
            if len(words) in PHRASE_LENGTHS:
                break
            words = []
        if is_known:
            words.append(word.span())
        elif word.start() > BEFORE_PHRASE_MAX:
            break
    if len(words) not in PHRASE_LENGTHS:
        return None
    spans = [(first + start, first + end) for start, end in words]
    is_spread = b'"' in chunk[spans[0][0] : spans[-1][1]]  # over strings
    return spans if is_spread else [(spans[0][0], spans[-1][1])]


@cache
def _seed_words() -> frozenset[bytes]:
    """The 2,048 English words of BIP-39."""
    return frozenset(read_bytes(Path(__file__).with_name("seed_words.txt")).split())
