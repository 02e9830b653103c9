"""Secrets that are not written as they are: broken by the end of a line, or encoded once more.

Each of them is undone, and the rules are tried on the result. What has unseen characters inside is found by
`unseen.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from .judge import is_wordy
from .key_blocks import decoded
from .value import Span, Verdict, bytes_regex

Find = Callable[[bytes], Iterator[tuple[int, int, str]]]
"""The rules: (start, end, kind) of everything to mask."""


def judge_encoded(chunk: bytes, match: Any, find: Find) -> Verdict:
    """The base64 of a text that begins with a key, or the base64 of that."""
    start, end = match.span()
    if start and bytes_regex(rb"(?<!\\)[A-Za-z0-9+/]\Z").search(chunk, max(0, start - 2), start):
        return int(end)
    text = decoded(chunk[start:end])
    for _ in range(2):
        if text.isascii() and any(True for _ in find(text)):
            return [(start, end)]
        text = decoded(text)
    return int(end)


def judge_hex(chunk: bytes, match: Any, find: Find) -> Verdict:
    """The hexadecimal digits of a text that begins with a key."""
    start, end = match.span()
    if start and bytes_regex(rb"(?<!\\)[0-9a-fA-F]\Z").search(chunk, max(0, start - 2), start):
        return int(end)
    text = bytes.fromhex(chunk[start : end - (end - start) % 2].decode("ascii"))
    return [(start, end)] if text.isascii() and any(True for _ in find(text)) else int(end)


_NEW_LINE = rb"(?:\\?\r?\n|(?:\\+r)?\\+n)[ \t]{0,8}"
_PIECE = rb"[A-Za-z0-9_.+/=~-]"
_BROKEN = (
    rb"(" + _PIECE + rb"{8,200})" + _NEW_LINE + rb"(" + _PIECE + rb"{4,200})(?:" + _NEW_LINE + rb"("
    + _PIECE + rb"{4,200}))?(?![A-Za-z0-9_.+/=~-])"
)  # fmt: skip
_CONTINUED = _NEW_LINE + rb"([A-Za-z0-9_.+/=~-]{8,2000})(?![A-Za-z0-9_.+/=~-])"
TOKEN_LENGTH_MIN = 40
"""A token is broken only if it is long."""


class BrokenMatch:
    """A match of a rule on a token that the end of a line breaks."""

    def __init__(self, pieces: list[Span]) -> None:
        self.pieces = pieces


def broken_match(chunk: bytes, start: int, literal: int, pattern: Any) -> BrokenMatch | None:
    """The pieces of a token that a rule matches once they are joined; the first begins with a literal."""
    found = bytes_regex(_BROKEN).match(chunk, start)
    if found is None:
        return None
    for count in (2, 3):
        pieces = [found.span(number) for number in range(1, count + 1)]
        if pieces[-1][0] < 0:
            break
        joined = b"".join(chunk[begin:end] for begin, end in pieces)
        match = pattern.match(joined)
        if match and match.end() == len(joined) and not is_wordy(joined[literal:].decode("ascii")):
            return BrokenMatch(pieces)
    return None


_LINE_CONTINUED = rb"\\\r?\n(" + _PIECE + rb"{4,200})|(\\+)(?:r\\+)?n(" + _PIECE + rb"{4,200})"


def line_continued(chunk: bytes, end: int) -> Span | None:
    """The rest of a word after a backslash at the end of its line, as in a shell."""
    found = bytes_regex(_LINE_CONTINUED).match(chunk, end)
    if found is None:
        return None
    if found[2]:
        count = len(found[2])
        if count != 3 * (count & -count):  # an escaped new line has one, before which the text has another
            return None
    start, stop = found.span(3 if found[2] else 1)
    return None if is_wordy(chunk[start:stop].decode("ascii")) else (start, stop)


def continuation(chunk: bytes, start: int, end: int) -> Span | None:
    """The rest of a token on the next line, if it fills its own to the end."""
    found = bytes_regex(_CONTINUED).match(chunk, end)
    if found is None:
        return None
    rest = found[1].decode("ascii")
    mixed = re.search(r"\d", rest) and re.search(r"[A-Z]", rest) and re.search(r"[a-z]", rest)
    if end - start < TOKEN_LENGTH_MIN or not mixed or is_wordy(rest):
        return None
    return found.span(1)
