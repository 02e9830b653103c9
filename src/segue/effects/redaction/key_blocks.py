"""Private keys in blocks of base64: whole ones, and those of which the first or the last line is missing."""

from __future__ import annotations

import re
from binascii import Error as BadBase64, a2b_base64
from typing import Any

from .rules import Rule
from .value import Span, Verdict, after_escapes, bytes_regex

PEM_BYTES_MAX = 16 * 1024
LINE_LENGTH_MIN = 16
"""A line of a key that is shorter is only its last one."""
_PEM_END = rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PEM_PARTS = rb"\\+(?:u[0-9a-fA-F]{4}|.)|([A-Za-z0-9+/]*[A-Z][A-Za-z0-9+/=]{15,})"
_NEW_LINE = rb"(?:[ \t]|\\+[rt])*(?:\r?\n|\\+n)(?:[ \t]|\\+[rt])*"
_PEM_LINES = rb"(?:" + _NEW_LINE + rb"(?:[A-Za-z0-9+/=]+|[A-Za-z-]+: [A-Za-z0-9,. -]+)(?![^\s\"'\\\x1b]))+"
_PREFIX = rb"(?:(?:[ \t>|+-]|\\+t)*(?:[0-9]{1,6}(?:\xe2\x86\x92|\\+u2192|[:|]))?[ \t]*)"
"""What may stand before a line of a key: its number, or the sign of a quotation or a patch."""
_KEY_LINES = (
    rb"[A-Za-z0-9+/]+={0,2}(?:" + _NEW_LINE + _PREFIX + rb"[A-Za-z0-9+/]{16,}={0,2}(?![^\s\"'\\\x1b]))*"
    rb"(?:" + _NEW_LINE + _PREFIX + rb"[A-Za-z0-9+/]{2,}={1,2}(?![^\s\"'\\\x1b]))?"
)
_BREAK = rb"\r?\n|\\+r\\+n|\\+n"
_KEY_LINE = _PREFIX + rb"([A-Za-z0-9+/]+={0,2})[ \t]*"
_BEFORE_LINE = b" \t>|+-0123456789:\xe2\x86\x92"
_LAST_WORD = rb"(?:[^A-Za-z0-9+/\\]|\\+(?:u[0-9a-fA-F]{4}|.))([A-Za-z0-9+/]{16,}={0,2})[ \t]*\Z"


def judge_pem(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """A key up to its END line; if it is spread over strings, its part in each; without END, its lines."""
    start, head = match.span()
    limit = head + PEM_BYTES_MAX
    end = bytes_regex(_PEM_END).search(chunk, head, limit)
    if end and chunk.find(b"-----BEGIN", head, end.start()) < 0:
        body = chunk[head : end.start()]
        if b'"' not in body:
            return [(start, end.end())] if re.match(rb"[^\"'`,)]*[A-Za-z0-9+/]{3}", body) else end.end()
        parts = [m.span() for m in bytes_regex(_PEM_PARTS).finditer(chunk, head, end.start()) if m[1]]
        return parts or head
    lines = bytes_regex(_PEM_LINES).match(chunk, head, limit)
    return [(start, lines.end())] if lines else int(head)


def judge_pem_end(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """The lines of a key before its END line, where BEGIN is missing."""
    end: int = match.start()
    first = max(0, end - PEM_BYTES_MAX)
    breaks = [found.span() for found in bytes_regex(_BREAK).finditer(chunk, first, end)]
    if not breaks or chunk[breaks[-1][1] : end].strip(_BEFORE_LINE):
        return int(match.end())
    starts = [first, *(stop for _, stop in breaks[:-1])]
    spans: list[Span] = []
    for start, (stop, _) in zip(reversed(starts), reversed(breaks), strict=True):
        line = bytes_regex(_KEY_LINE).fullmatch(chunk, start, stop)
        if line is None:  # the key may begin within a line
            line = bytes_regex(_LAST_WORD).search(chunk, max(start, stop - 100), stop)
        if line is None or (spans and line.end(1) - line.start(1) < LINE_LENGTH_MIN):
            break
        spans.append(line.span(1))
        if line.re.pattern == _LAST_WORD:
            break
    return spans[::-1] or int(match.end())


def judge_der(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """The lines that follow the beginning of a key, where BEGIN and perhaps END are missing."""
    start, head = match.span()
    if _is_within_base64(chunk, start):
        return int(head)
    lines = bytes_regex(_KEY_LINES).match(chunk, start, start + PEM_BYTES_MAX)
    return [lines.span()] if lines and lines.end() - start > 40 else int(head)


def judge_encoded_pem(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """The base64 of a PEM, if it is that of a private key."""
    start, head = match.span()
    if b"PRIVATE KEY" not in decoded(chunk[start : min(head, start + 120)]):
        return int(head)
    lines = bytes_regex(_KEY_LINES).match(chunk, start, start + 2 * PEM_BYTES_MAX)
    return [lines.span()] if lines else int(head)


def decoded(encoded: bytes) -> bytes:
    """What is encoded in base64 of either alphabet, as far as it is complete; empty if it is none."""
    encoded = encoded.rstrip(b"=").translate(_FROM_URLSAFE)
    encoded = encoded[: len(encoded) - (len(encoded) % 4 == 1)]
    try:
        return a2b_base64(encoded + b"=" * (-len(encoded) % 4))
    except (BadBase64, ValueError):
        return b""


_FROM_URLSAFE = bytes.maketrans(b"-_", b"+/")


def _is_within_base64(chunk: bytes, start: int) -> bool:
    first = after_escapes(chunk, max(0, start - 4), start)
    return bool(bytes_regex(rb"[A-Za-z0-9+/]{4}\Z").search(chunk, first, start))
