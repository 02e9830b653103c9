"""Private keys in blocks of base64: whole ones, and those of which the first or the last line is missing."""

from __future__ import annotations

import re
from binascii import Error as BadBase64, a2b_base64
from typing import Any

from .rules import Rule
from .value import Span, Verdict, after_escapes, bytes_regex

PEM_BYTES_MAX = 16 * 1024
LINE_LENGTH_MIN, LINE_LENGTH_MAX = 16, 160
"""A line of a key that is shorter is only its last one."""
_PEM_END = rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PEM_PARTS = rb"\\+(?:u[0-9a-fA-F]{4}|.)|([A-Za-z0-9+/]*[A-Z][A-Za-z0-9+/=]{15,})"
_NEW_LINE = rb"(?:[ \t]|\\+[rt])*+(?:\r?\n|\\+n)(?:[ \t]|\\+[rt])*+"
_NO_MORE = rb"(?![^\s\"'\\\x00-\x1f\x7f-\xff])"
_PEM_LINES = rb"(?:" + _NEW_LINE + rb"(?:[A-Za-z0-9+/=]+|[A-Za-z-]+: [A-Za-z0-9,. -]+)" + _NO_MORE + rb")+"
_PREFIX = rb"(?:[ \t>|+-]|\\+t)*+(?:[0-9]{1,6}(?:\xe2\x86\x92|\\+u2192|[:|])[ \t]*+)?"
"""What may stand before a line of a key: its number, or the sign of a quotation or a patch."""
_KEY_LINES = (
    rb"[A-Za-z0-9+/]+={0,2}(?:" + _NEW_LINE + _PREFIX + rb"[A-Za-z0-9+/]{16,}={0,2}" + _NO_MORE + rb")*"
    rb"(?:" + _NEW_LINE + _PREFIX + rb"[A-Za-z0-9+/]{2,}={1,2}" + _NO_MORE + rb")?"
)
_LINES_AFTER = rb"(?:" + _NEW_LINE + _PREFIX + rb"[A-Za-z0-9+/]{2,}={0,2}" + _NO_MORE + rb")+"
_LAST_BREAK = rb"(?:\r?\n|(?:\\+r)?\\+n)(?:[^\\\n]|\\+(?!n)[^\\])*+\Z"
_KEY_LINE = _PREFIX + rb"([A-Za-z0-9+/]+={0,2})[ \t]*"
_BEFORE_LINE = b" \t>|+-0123456789:\xe2\x86\x92"
_LAST_WORD = rb"(?:[^A-Za-z0-9+/\\]|\\+(?:u[0-9a-fA-F]{4}|.))([A-Za-z0-9+/]{16,}={0,2})[ \t]*\Z"


def judge_pem(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """A key up to its END line; if it is spread over strings, its part in each; without END, its lines."""
    start, head = match.span()
    limit = head + PEM_BYTES_MAX
    next_begin = chunk.find(b"-----BEGIN", head, limit)
    if end := bytes_regex(_PEM_END).search(chunk, head, next_begin if next_begin >= 0 else limit):
        body = chunk[head : end.start()]
        if b'"' not in body:
            return [(start, end.end())] if re.match(rb"[^\"'`,)]*[A-Za-z0-9+/]{3}", body) else end.end()
        parts = [m.span() for m in bytes_regex(_PEM_PARTS).finditer(chunk, head, end.start()) if m[1]]
        return parts or head
    lines = bytes_regex(_PEM_LINES).match(chunk, head, limit)
    return [(start, lines.end())] if lines else int(head)


def judge_pem_end(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """The lines of a key before its END line, where BEGIN is missing."""
    spans: list[Span] = []
    begin, stop = _line_before(chunk, match.start())
    if stop < 0 or chunk[begin : match.start()].strip(_BEFORE_LINE):
        return int(match.end())
    first = match.start() - PEM_BYTES_MAX
    while stop > first:
        start, stop_before = _line_before(chunk, stop)
        line = bytes_regex(_KEY_LINE).fullmatch(chunk, start, stop)
        if line is None:  # the key may begin within a line
            line, stop_before = bytes_regex(_LAST_WORD).search(chunk, start, stop), -1
        if line is None or (spans and line.end(1) - line.start(1) < LINE_LENGTH_MIN):
            break
        spans.append(line.span(1))
        stop = stop_before
    return spans[::-1] or int(match.end())


def _line_before(chunk: bytes, end: int) -> Span:
    """Where the line begins that ends here, and where the line before it ends; -1 if that is too far."""
    first = max(0, end - LINE_LENGTH_MAX)
    found = bytes_regex(_LAST_BREAK).search(chunk[first:end])
    if found is None:
        return first, -1
    text = found.group()
    sign = bytes_regex(rb"\r?\n|(?:\\+r)?\\+n").match(text)
    return first + found.start() + (sign.end() if sign else 0), first + found.start()


def judge_der(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """The lines that follow the beginning of a key, where BEGIN and perhaps END are missing."""
    start, head = match.span()
    if _is_within_base64(chunk, start):
        return int(head)
    lines = bytes_regex(_KEY_LINES).match(chunk, start, start + PEM_BYTES_MAX)
    return [lines.span()] if lines and lines.end() - start > 40 else int(head)


def judge_putty(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """The lines that follow the line which counts them, in a key of PuTTY."""
    head: int = match.end()
    lines = bytes_regex(_LINES_AFTER).match(chunk, head, head + PEM_BYTES_MAX)
    return [lines.span()] if lines else head


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
