"""Where a value begins and ends in a line of JSON, and how a reader sees it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from .rules import V

VALUE_BYTES_MAX = 4096
JUDGED_BYTES_MAX = 512
"""A value is judged by this many bytes, so a rejected match costs no more, however long it is."""
BEFORE_BYTES_MAX = 96
"""How far before a match a check may look."""
_ESCAPES = rb"\\+(?:u([0-9a-fA-F]{4})|/)"

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
    limit = start + VALUE_BYTES_MAX
    if quote[-1:] == b'"':
        depth = _depth(len(quote) - 1)
        for end in bytes_regex(rb"(\\*)\"|[\r\n]").finditer(chunk, start, limit):
            found = -1 if end[1] is None else _depth(len(end[1]))
            if found == depth:
                return Extent(start, end.end() - (1 << depth), True)
            if found < depth:
                break
    elif quote:
        rest = rb"(?:[^\x00-\x1f\"\\" + re.escape(quote[-1:]) + rb"]|\\+u[0-9a-fA-F]{4}|\\+/)*"
        body = bytes_regex(rest).match(chunk, start, limit)
        if body and chunk[body.end() : body.end() + 1] == quote[-1:]:
            return Extent(start, body.end(), True)
    bare = compiled(f"{V}*").match(chunk, start, start + JUDGED_BYTES_MAX)
    return Extent(start, start + len(bare.group().rstrip(b".:?!")), False)


def harmless_verdict(start: int, quote: bytes, value: Extent) -> Verdict:
    """The verdict on a harmless match; it may be remembered only if nearby bytes alone decided it."""
    far = quote and (not value.quoted or value.end > start + JUDGED_BYTES_MAX)
    return start + 1 if far else None


def whole_value(chunk: bytes, value: Extent) -> Verdict:
    """The span of the whole value, also where only its beginning was judged."""
    start, end, quoted = value
    if not quoted and end - start > JUDGED_BYTES_MAX - 16:
        end = start + len(compiled(f"{V}*").match(chunk, start).group().rstrip(b".:?!"))
    return [(start, end)]


def _depth(backslashes: int) -> int:
    return (~backslashes & (backslashes + 1)).bit_length() - 1


def as_read(value: bytes) -> str:
    """The judged part of a value with its escapes resolved, as a person would read it."""
    value = value[:JUDGED_BYTES_MAX]
    if b"\\" in value:
        value = bytes_regex(_ESCAPES).sub(
            lambda m: chr(int(m[1], 16)).encode("utf-8", "surrogatepass") if m[1] else b"/", value
        )
    try:
        text = value.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return value.decode("utf-8", "replace")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
