r"""Secrets with something inside that a reader does not see: invisible and control characters, and what
colours a text in a terminal.

Where such a sign occurs, the text around it is looked at once more without any of them, by the same rules,
and what they find is masked where it stands. A sign is always taken out as a whole, however it is written
(``\x1b``, ``\u001b``, ``\\u001b``), so the JSON around it keeps its structure in either text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

from .rules import UNSEEN_ESCAPED, UNSEEN_PLAIN
from .value import Span, bytes_regex, compiled

Found = tuple[int, int, str]
"""Where a secret begins and ends, and its kind."""
Find = Callable[[bytes, list[Span]], Iterator[Found]]
"""The rules, on a text and where in it a secret may begin."""
BEFORE_BYTES, AFTER_BYTES, MATCH_BYTES = 1200, 4000, 600
"""How much of the text is looked at around a sign, and how far before it a match may begin."""
UNSEEN_STRIDE = 1500
"""How far behind a noted sign the next ones need not be noted."""
WINDOW_BYTES_MAX = 256 * 1024
UNSEEN_BYTES = frozenset((*range(32), 127, *range(128, 256), ord("\\")))
"""How signs that are not seen begin, and nothing else that is searched for."""
_BACKSLASH = ord("\\")
_CSI = rb"[0-?]{0,40}+[ !#-&(-/]{0,2}+[@-\[\]-~]"


def _sequence(string_end: bytes) -> bytes:
    """What follows an escape character, up to its last letter or to the end of the string that it begins."""
    string = rb"[\]PX^_](?:[^\x00-\x1f\x7f\"\\]|\\+/){0,2000}+(?:" + string_end + rb")"
    return rb"(?:\[" + _CSI + rb"|" + string + rb"|[()*+][0-9A-Z@=<>]|[78=>DEHMNOZc])?+"


_ESCAPED = (
    rb"\\(?<!\\\\)\\*+(?:u001[bB]" + _sequence(rb"\\+u0007|(\\+)u001[bB]\1\1")
    + rb"|(?:x1[bB]|033|e)\[" + _CSI + rb"|u009[bB][0-9;]" + _CSI + rb"|" + UNSEEN_ESCAPED.encode() + rb")"
)  # fmt: skip
"""It begins with one certain byte, so it is found fast; and with the first of its backslashes, so that a row
of them is looked at once."""
_PLAIN = UNSEEN_PLAIN.encode("latin-1")
_ANY = rb"\x1b" + _sequence(rb"\x07|\x1b\\") + rb"|\xc2\x9b[0-9;]" + _CSI + rb"|" + _PLAIN + rb"|" + _ESCAPED


def may_hide(chunk: bytes, start: int) -> bool:
    """Whether a secret may be around a sign: not if it belongs to an emoji, or to letters beyond ASCII."""
    escaped = chunk[start] == _BACKSLASH
    if not escaped:
        return chunk[start] < 0x80 or not start or chunk[start - 1] < 0x80
    if chunk[start + 1 : start + 2] != b"u" or chunk[start + 2 : start + 5] in (b"000", b"001", b"007"):
        return True  # a control character
    before = chunk[max(0, start - 24) : start].rstrip(b"\\")
    return before[-6:-4] != rb"\u"


def seen_through(chunk: bytes, positions: list[int], find: Find) -> Iterator[Found]:
    """What is found once the signs at these positions, and all those near them, are taken out."""
    done = 0
    for first, last in _windows(positions, len(chunk)):
        has_plain = compiled(UNSEEN_PLAIN, captures=False).search(chunk, first, last)
        signs = bytes_regex(_ANY if has_plain else _ESCAPED)
        seen = signs.sub(b"", chunk[first:last])
        noted = positions[bisect_left(positions, first) : bisect_right(positions, last)]
        begin = max(0, noted[0] - first - MATCH_BYTES)
        end = len(seen) - max(0, last - noted[-1] - UNSEEN_STRIDE)
        if not any(True for _ in find(seen, [(begin, end)])):
            continue
        text, begins, starts = _without_unseen(chunk, first, last, signs)
        for begin, end, kind in find(text, _regions(begins[1:])):
            start = _origin(begins, starts, begin)
            if start >= done:
                done = _origin(begins, starts, end - 1) + 1
                yield start, done, kind


def _windows(positions: list[int], length: int) -> Iterator[Span]:
    """The stretches of the chunk to look at."""
    first = last = -1
    for position in positions:
        if last >= 0 and (position - BEFORE_BYTES > last or position - first > WINDOW_BYTES_MAX):
            yield first, min(last, length)
            last = -1
        if last < 0:
            first = max(0, position - BEFORE_BYTES)
        last = position + AFTER_BYTES
    if last >= 0:
        yield first, min(last, length)


def _without_unseen(
    chunk: bytes, first: int, last: int, signs: re.Pattern[bytes]
) -> tuple[bytes, list[int], list[int]]:
    """The text without its signs; where its pieces begin in it, and where in the chunk."""
    pieces: list[bytes] = []
    at, length, begins, starts = first, 0, [0], [first]
    for sign in signs.finditer(chunk, first, last):
        start = sign.start()
        if chunk[start] == _BACKSLASH:
            run = len(sign.group()) - len(sign.group().lstrip(b"\\"))
            start += run - (run & -run)  # more backslashes than an escape has are text
        pieces.append(chunk[at:start])
        length += start - at
        at = sign.end()
        begins.append(length)
        starts.append(at)
    pieces.append(chunk[at:last])
    return b"".join(pieces), begins, starts


def _regions(signs: list[int]) -> list[Span]:
    """Where a match may begin that a sign stood in."""
    regions: list[Span] = []
    for sign in signs:
        first = max(0, sign - MATCH_BYTES)
        if regions and first <= regions[-1][1]:
            first = regions.pop()[0]
        regions.append((first, sign + 1))
    return regions


def _origin(begins: list[int], starts: list[int], position: int) -> int:
    """Where in the chunk a byte of the text stands."""
    piece = bisect_right(begins, position) - 1
    return starts[piece] + position - begins[piece]


def united(seen: list[Found], through: list[Found]) -> list[Found]:
    """Both kinds of findings from left to right; those that overlap become one."""
    if not through:
        return seen
    merged: list[Found] = []
    for start, end, kind in sorted(seen + through, key=lambda found: (found[0], -found[1])):
        if merged and start < merged[-1][1]:
            first, last, name = merged[-1]
            merged[-1] = (first, max(last, end), name)
        else:
            merged.append((start, end, kind))
    return merged
