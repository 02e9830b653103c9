"""Secrets that are not written as they are: with invisible characters inside, broken by the end of a line,
or encoded once more.

Each of them is undone in a window of limited size, the rules are tried on the result, and what they find is
masked where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from .judge import is_wordy
from .key_blocks import decoded
from .rules import INVISIBLE
from .value import Span, Verdict, bytes_regex

Find = Callable[[bytes], Iterator[tuple[int, int, str]]]
"""The rules: (start, end, kind) of everything to mask."""
WINDOW_BYTES = 1_024
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
    text, offsets = _without_invisible(chunk, first, last)
    for begin, stop, _ in find(text):
        span = offsets[begin], offsets[stop - 1] + 1
        if span[0] < start < span[1]:
            return [span]
    return int(end)


def _window(chunk: bytes, start: int, end: int) -> Span:
    """What stands around, from a space or a quote to another."""
    first, last = max(0, start - WINDOW_BYTES), min(len(chunk), end + WINDOW_BYTES)
    if first and (gap := bytes_regex(rb"[\s\"']").search(chunk, first, start)):
        first = gap.start()
    return first, last


def _without_invisible(chunk: bytes, first: int, last: int) -> tuple[bytes, list[int]]:
    """The text without invisible characters, and where each of its bytes stands in the chunk."""
    pieces, offsets, at = [], list[int](), first
    for unseen in (*bytes_regex(_INVISIBLE).finditer(chunk, first, last), None):
        until = unseen.start() if unseen else last
        pieces.append(chunk[at:until])
        offsets.extend(range(at, until))
        at = unseen.end() if unseen else last
    return b"".join(pieces), offsets


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
    + _PIECE + rb"{4,200}))?(?=[\s\"'`\\,;)\x1b]|\Z)"
)  # fmt: skip
_CONTINUED = _NEW_LINE + rb"([A-Za-z0-9_.+/=~-]{8,2000})(?=[\s\"'`\\,;)\x1b]|\Z)"
LINE_LENGTH_MIN = 40
"""A token is broken where a line is full."""


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
    line = max(chunk.rfind(b"\n", 0, start), chunk.rfind(b"\\n", 0, start), start - LINE_LENGTH_MIN)
    mixed = re.search(r"\d", rest) and re.search(r"[A-Z]", rest) and re.search(r"[a-z]", rest)
    if end - line < LINE_LENGTH_MIN or not mixed or is_wordy(rest):
        return None
    return found.span(1)
