"""Secrets that are not written as they are: with invisible characters inside, broken by the end of a line,
or encoded once more.

Each of them is undone in a window of limited size, the rules are tried on the result, and what they find is
masked where it stands.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any

from .judge import is_wordy
from .key_blocks import decoded
from .rules import INVISIBLE
from .value import Span, Verdict, bytes_regex

Find = Callable[[bytes], Iterator[tuple[int, int, str]]]
"""The rules: (start, end, kind) of everything to mask."""
WINDOW_BYTES, BEFORE_BYTES = 256, 64
_GAP = rb"[\s\"'`,;]|\\+[nrt]"
_TOKEN = rb"[A-Za-z0-9_.~+/=-]"
_TOKEN_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~+/=-]"
_INVISIBLE = INVISIBLE.encode("latin-1")
_REST_OF_MASK = rb"\[redacted:[a-z0-9-]{2,24}\](?:" + _INVISIBLE + rb")+(" + _TOKEN + rb"{6,})"


def judge_disguised(chunk: bytes, match: Any, find: Find) -> Verdict:
    """A secret with the invisible character inside; the rest of one, if its beginning is masked."""
    start, end = match.start(), match.end() - 1
    if not start or chunk[start - 1] not in _TOKEN_CHARS:
        return int(end)
    rest = bytes_regex(_REST_OF_MASK).match(chunk, max(0, chunk.rfind(b"[", max(0, start - 40), start)))
    if rest and rest.start(1) >= end:
        return [rest.span(1)]
    first, last = _window(chunk, start, end)
    text, origin = _without_invisible(chunk, first, last)
    found = [(origin(begin), origin(stop - 1) + 1) for begin, stop, _ in find(text)]
    for span in found:
        if span[0] < start < span[1]:
            return [span]
    return int(end)  # another secret may begin within the window


def _window(chunk: bytes, start: int, end: int) -> Span:
    """The word around, with a little before it that may tell what it is."""
    first, last = max(0, start - WINDOW_BYTES), min(len(chunk), end + WINDOW_BYTES)
    gaps = [gap.end() for gap in bytes_regex(_GAP).finditer(chunk, first, start)]
    first = next((gap for gap in gaps if gap >= gaps[-1] - BEFORE_BYTES), first) if gaps else first
    after = bytes_regex(_GAP).search(chunk, end, last)
    return first, after.start() if after else last


def _without_invisible(chunk: bytes, first: int, last: int) -> tuple[bytes, Callable[[int], int]]:
    """The text without invisible characters, and where in the chunk one of its bytes stands."""
    pieces: list[bytes] = []
    at, length, begins, starts = first, 0, [0], [first]
    for unseen in bytes_regex(_INVISIBLE).finditer(chunk, first, last):
        pieces.append(chunk[at : unseen.start()])
        length += unseen.start() - at
        at = unseen.end()
        begins.append(length)
        starts.append(at)
    pieces.append(chunk[at:last])

    def origin(position: int) -> int:
        piece = bisect_right(begins, position) - 1
        return starts[piece] + position - begins[piece]

    return b"".join(pieces), origin


def judge_encoded(chunk: bytes, match: Any, find: Find) -> Verdict:
    """The base64 of a text that begins with a key."""
    start, end = match.span()
    if start and bytes_regex(rb"(?<!\\)[A-Za-z0-9+/]\Z").search(chunk, max(0, start - 2), start):
        return int(end)
    text = decoded(chunk[start:end])
    return [(start, end)] if text.isascii() and any(True for _ in find(text)) else int(end)


_NEW_LINE = rb"(?:\r?\n|(?:\\+r)?\\+n)[ \t]{0,8}"
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
