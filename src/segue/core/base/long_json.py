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
_MANY_BACKSLASHES = b"\\" * 1024
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
        at = 0
        while at < len(piece):
            if self._head is None:
                quote = piece.find(b'"', at)
                self._keep(piece[at:] if quote < 0 else piece[at : quote + 1])
                if quote < 0:
                    return
                self._head, self._head_bytes, self._tail, at = [], 0, b"", quote + 1
                continue
            end = _end_of_string(piece, at)
            if end < 0:
                self._rest = b"\\" if _backslashes(piece, at, len(piece)) % 2 else b""
                self._add(piece[at : len(piece) - len(self._rest)])
                return
            self._add(piece[at:end])
            self._close(b'"')
            at = end + 1

    def result(self) -> bytes:
        self._close(self._rest)
        return b"".join(self._done) if self._done_bytes <= self._bytes_max else b"{}"

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
        self._head, self._tail, self._rest = None, b"", b""


def _end_of_string(piece: bytes, start: int) -> int:
    """Where the quote is that ends the string; -1 if it is not in this piece."""
    end = piece.find(b'"', start)
    while end >= 0 and _backslashes(piece, start, end) % 2:
        end = piece.find(b'"', end + 1)
    return end


def _backslashes(piece: bytes, start: int, end: int) -> int:
    """How many backslashes stand directly before a place."""
    at = end
    while at - len(_MANY_BACKSLASHES) >= start and piece.endswith(_MANY_BACKSLASHES, start, at):
        at -= len(_MANY_BACKSLASHES)
    while at > start and piece[at - 1] == 0x5C:
        at -= 1
    return end - at


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
