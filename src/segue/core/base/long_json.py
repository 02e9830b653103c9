"""Very long JSON in bounded memory: of long strings only the beginning and the end are kept.

A line of a transcript may have hundreds of megabytes, nearly always in one string: the output of a tool, a
pasted file, an image. No digest keeps more than some thousand characters of a text, so the middle is left out
before anything is decoded. What is not a string stays as it is. Strings are cut between words, because half
of a token could not be recognised as a secret.
"""

from __future__ import annotations

import sys

LONG_BYTES = 8 << 20
"""JSON up to this size is never shortened."""
_HEAD_BYTES = _TAIL_BYTES = 1 << 17
_LEFT_OUT = " … ".encode()
_ESCAPE_BYTES_MAX = 12
"""Of a pair of surrogates."""


class LongJson:
    """A JSON text that is fed in pieces. ``result`` is the text with its long strings shortened, or ``{}``
    if that has more than ``bytes_max``."""

    def __init__(self, *, bytes_max: int = sys.maxsize) -> None:
        self._bytes_max = bytes_max
        self._done: list[bytes] = []
        self._done_bytes = 0
        self._head: list[bytes] | None = None
        """Of the string that is open, as much of its beginning as is kept; None outside of strings."""
        self._head_bytes = 0
        self._tail = b""
        self._rest = b""
        """A backslash at the end of a piece."""

    def feed(self, piece: bytes) -> None:
        piece, self._rest = self._rest + piece, b""
        marks = piece.replace(b"\\\\", b"..").replace(b'\\"', b"..")  # only quotes that begin or end a string
        if marks.endswith(b"\\"):
            piece, marks, self._rest = piece[:-1], marks[:-1], b"\\"
        at = 0
        short_until = marks.rfind(b'"') + 1 if _has_only_short(marks) else 0
        while at < len(piece):
            if self._head is None and at < short_until:
                self._keep(piece[at:short_until])
                if marks.count(b'"', at, short_until) % 2:
                    self._begin()
                at = short_until
                continue
            quote = marks.find(b'"', at)
            end = quote if quote >= 0 else len(piece)
            if self._head is None:
                self._keep(piece[at : end + 1])
                if quote >= 0:
                    self._begin()
            else:
                self._add(piece[at:end])
                if quote >= 0:
                    self._close(b'"')
            at = end + 1

    def result(self) -> bytes:
        self._close(self._rest)
        self._rest = b""
        return b"".join(self._done) if self._done_bytes <= self._bytes_max else b"{}"

    def _begin(self) -> None:
        self._head, self._head_bytes, self._tail = [], 0, b""

    def _keep(self, text: bytes) -> None:
        self._done_bytes += len(text)
        if self._done_bytes <= self._bytes_max:
            self._done.append(text)

    def _add(self, text: bytes) -> None:
        assert self._head is not None
        room = _HEAD_BYTES - self._head_bytes
        if room > 0:
            self._head.append(text[:room])
            self._head_bytes += len(self._head[-1])
            text = text[room:]
        if len(text) > _TAIL_BYTES:
            self._tail = text[-_TAIL_BYTES - 1 :]
        elif text:
            self._tail += text
            if len(self._tail) > 8 * _TAIL_BYTES:
                self._tail = self._tail[-_TAIL_BYTES - 1 :]

    def _close(self, end: bytes) -> None:
        if self._head is not None:
            head, tail = b"".join(self._head), self._tail
            if len(tail) > _TAIL_BYTES:
                head, tail = _cut_end(head) + _LEFT_OUT, _cut_start(tail[-_TAIL_BYTES:])
            self._keep(head + tail)
        self._keep(end)
        self._head, self._tail = None, b""


def _has_only_short(marks: bytes) -> bool:
    """Whether no string that begins and ends in a piece is long, as is usual."""
    return max(map(len, marks.split(b'"')[1:-1]), default=0) <= _HEAD_BYTES


def _cut_end(head: bytes) -> bytes:
    """The beginning of a string up to its last space; without one, up to where no character is split."""
    space = head.rfind(b" ")
    if space >= 0:
        return head[: space + 1]
    cut = len(head) - _ESCAPE_BYTES_MAX
    while cut > 0 and (b"\\" in head[max(0, cut - _ESCAPE_BYTES_MAX) : cut] or head[cut] & 0xC0 == 0x80):
        cut -= 1
    return head[: max(0, cut)]


def _cut_start(tail: bytes) -> bytes:
    """The end of a string from its first space on; without one, from where no character is split."""
    space = tail.find(b" ")
    if space >= 0:
        return tail[space:]
    cut = _ESCAPE_BYTES_MAX
    while cut < len(tail) and (b"\\" in tail[cut - _ESCAPE_BYTES_MAX : cut] or tail[cut] & 0xC0 == 0x80):
        cut += 1
    return tail[cut:]
