"""Where a value begins and ends in a line of JSON, and how a reader sees it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from .rules import V

VALUE_LENGTH_MAX = 4096
JUDGED_LENGTH_MAX = 512
"""A value is judged by this many characters, so that a text is judged alike with its escapes and without, and
a rejected match costs no more, however long it is."""
ESCAPE_BYTES_MAX = 64
"""The longest escape of one character: JSON within JSON doubles its backslashes."""
BEFORE_BYTES_MAX = 96
"""How far before a match a check may look."""
_ANY_ESCAPE = rb"\\+(?:u[0-9a-fA-F]{4}|.)"
_ESCAPES = rb"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|/)"
_CHARACTER = (
    rb"(?:[\x00-\x5b\x5d-\x7f]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|"
    rb"\\+u[dD][89abAB][0-9a-fA-F]{2}\\+u[dD][c-fC-F][0-9a-fA-F]{2}|" + _ANY_ESCAPE + rb"|[\x80-\xff\\])"
)
"""One character as it is written: in one byte or several, or as an escape of any depth."""

Span = tuple[int, int]
Verdict = list[Span] | int | None
"""The spans to mask, or where to continue the search. None: harmless, as is any match with the same bytes
around it."""


@cache
def bytes_regex(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern)


@cache
def compiled(pattern: str, *, captures: bool = True) -> Any:
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # matches bytes, so invalid UTF-8 does no harm
    options.max_mem = 64 << 20
    options.never_capture = not captures
    return re2.compile(pattern.encode(), options)


def reach(chunk: bytes, start: int, count: int) -> int:
    """Where ``count`` characters from ``start`` on end, or the chunk does."""
    window = chunk[start : start + count + 1]
    if window.isascii() and b"\\" not in window:
        return start + count
    found = bytes_regex(_CHARACTER + rb"{0,%d}" % count).match(chunk, start)
    return found.end() if found else start


def after_escapes(chunk: bytes, first: int, end: int) -> int:
    """The first position from ``first`` on that is not within an escape."""
    for escape in bytes_regex(_ANY_ESCAPE).finditer(chunk, max(0, first - 6), end):
        first = max(first, escape.end())
    return first


class Extent(NamedTuple):
    """Where a value begins and ends, and whether it ends at a quote of its own."""

    start: int
    end: int
    quoted: bool


def extent_of(chunk: bytes, quote: bytes, start: int) -> Extent:
    """The extent of the value that begins at ``start``, after its opening quote if it has one.

    Each level of JSON within JSON adds backslashes: before a quote of depth n their number, in binary, ends
    in n ones (0, 1, 3, 7, or more where the text itself ends in backslashes). A quote of a smaller depth ends
    a string around the value, so the value was cut off.
    """
    if quote and (end := _end_in_quotes(chunk, quote, start)) >= 0:
        return Extent(start, end, True)
    bare = _bare(chunk, start, start + JUDGED_LENGTH_MAX)
    if len(bare) > JUDGED_LENGTH_MAX - ESCAPE_BYTES_MAX:
        bare = _bare(chunk, start, reach(chunk, start, JUDGED_LENGTH_MAX))
    return Extent(start, start + len(bare.rstrip(b".:?!")), False)


_BARE = f"(?:{V})*+".encode("latin-1")


def _bare(chunk: bytes, start: int, end: int) -> bytes:
    """The value without quotes that begins here."""
    found = bytes_regex(_BARE).match(chunk, start, end)
    return found.group() if found else b""


def _end_in_quotes(chunk: bytes, quote: bytes, start: int) -> int:
    """Where the value ends, before its closing quote; -1 if none closes it within reach."""
    limit = start + VALUE_LENGTH_MAX
    end = _closed_by(chunk, quote, start, limit)
    if end == limit:  # the limit counts characters, and some of them took several bytes
        limit = reach(chunk, start, VALUE_LENGTH_MAX)
        end = _closed_by(chunk, quote, start, limit)
    return -1 if end == limit else end


def _closed_by(chunk: bytes, quote: bytes, start: int, limit: int) -> int:
    """Where the value ends; -1 if nothing closes it, ``limit`` if that is not decided before the limit."""
    if quote[-1:] == b'"':
        depth = _depth(len(quote) - 1)
        for end in bytes_regex(rb"(?<!\\)(\\*+)\"|[\r\n]").finditer(chunk, start, limit):
            found = -1 if end[1] is None else _depth(len(end[1]))
            if found == depth:
                return end.end() - (1 << depth)
            if found < depth:
                return -1
        return limit
    body = _up_to(quote[-1:]).match(chunk, start, limit)
    at = body.end() if body else start
    if chunk[at : at + 1] == quote[-1:]:
        return at
    return limit if at > limit - ESCAPE_BYTES_MAX else -1


@cache
def _up_to(quote: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?:[^\x00-\x1f\"\\" + re.escape(quote) + rb"]|\\+u[0-9a-fA-F]{4}|\\+/)*")


def harmless_verdict(start: int, quote: bytes, value: Extent) -> Verdict:
    """The verdict on a harmless match; it may be remembered only if nearby bytes alone decided it."""
    far = (quote and not value.quoted) or value.end > start + 2 * JUDGED_LENGTH_MAX
    return start + 1 if far else None


def whole_value(chunk: bytes, value: Extent) -> list[Span]:
    """The span of the whole value, also where only its beginning was judged."""
    start, end, quoted = value
    if not quoted and end - start > JUDGED_LENGTH_MAX - ESCAPE_BYTES_MAX:
        end = start + len(_bare(chunk, start, len(chunk)).rstrip(b".:?!"))
    return [(start, end)]


def _depth(backslashes: int) -> int:
    return (~backslashes & (backslashes + 1)).bit_length() - 1


def as_read(value: bytes) -> str:
    """The judged part of a value with its escapes resolved, as a person would read it."""
    value = value[: reach(value, 0, JUDGED_LENGTH_MAX)]
    if b"\\" in value:
        value = bytes_regex(_ESCAPES).sub(
            lambda m: chr(int(m[1], 16)).encode("utf-8", "surrogatepass") if m[1] else b"/", value
        )
    if value.isascii():
        return value.decode("ascii")
    try:
        text = value.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return value.decode("utf-8", "replace")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
