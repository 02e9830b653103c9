"""HTTP as uvicorn speaks it with httptools, with limits on what a client sends before its key is looked at.

The parser itself has none: it collects headers and a URL of any length. So data goes to it in small pieces,
and what is neither a body nor within the limits ends the connection, with a response that says why. A request
must come in time, and a client that stands still in the middle of one is not waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from . import problems
from .connections import ConnectionTable, Place

_PIECE_BYTES = 8_192
_FRAMING_BYTES_MAX = 8_192
"""Beside as many bytes as the body has: chunks of one byte are no way to send one."""
_CHUNKS_FREE, _CHUNK_BYTES = 256, 64
"""After so many chunks of a body, their mean size must be at least this."""
_SMALL_CHUNKS = "the chunks of the body are too small, or the headers after it too long"


class _OverLimit(Exception):
    """A request is over a limit, or cannot be understood."""


def _authority(url: bytes) -> bytes:
    """The host and the port in an absolute URL, without the port that its scheme has anyway."""
    scheme, found, rest = url.lower().partition(b"://")
    if not found or not scheme.isalnum():
        return b""
    for end in (b"/", b"?", b"#"):
        rest = rest.partition(end)[0]
    return _without_usual_port(url, rest)


def _without_usual_port(url: bytes, host: bytes) -> bytes:
    return host.removesuffix(b":443" if url[:8].lower() == b"https://" else b":80").removesuffix(b":")


class LimitedProtocol(HttpToolsProtocol):
    """One connection."""

    _refusal: tuple[int, str] = (400, "this is not a valid HTTP request")
    _head_bytes = 0
    """Bytes of the head that is being received."""
    _body_bytes = 0
    _framing_bytes = 0
    """Bytes of a request beside its head and its body: sizes of chunks, headers after the body."""
    _chunks = 0
    _trailers = 0
    """Headers after the body."""
    _is_in_head = True
    """Whether the head of a request is waited for, or was begun."""
    _has_completed = False
    """Whether a request was complete within the piece that is being parsed."""
    _has_served = False
    _has_moved = False
    """Whether data came since the timer for reading was set."""
    _unsent_bytes = 0
    """What was still to be written when the timer for writing was set."""
    _reading: asyncio.TimerHandle | None = None
    _writing: asyncio.TimerHandle | None = None

    def __init__(self, table: ConnectionTable, count: Callable[[str], None], **given: Any) -> None:
        """``count`` is told what is refused; the rest is uvicorn's."""
        super().__init__(**given)
        self._table = table
        self._limits = table.limits
        self._count = count
        self.place: Place | None = None
        """Where it has one already, from before its TLS handshake."""

    # -- what the table of connections asks ------------------------------------------------------

    def is_idle(self) -> bool:
        """Whether no request is under way, and no response either."""
        return self._is_answered() and not self.transport.get_write_buffer_size()

    def has_served(self) -> bool:
        """Whether it has answered a request."""
        return self._has_served

    def end(self) -> None:
        """Close the connection now; what was not sent is lost."""
        self.transport.abort()

    def _is_answered(self) -> bool:
        cycle: Any = self.cycle  # None before the first request
        return cycle is None or bool(cycle.response_complete)

    # -- the connection --------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.place is None:
            self.place = self._table.admit(self.client[0] if self.client else "", self)
        else:
            self.place.connection = self
        if self.place is None:
            self._refuse(503, "there are too many connections")
        else:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._read_within(None)
        if self._writing is not None:
            self._writing.cancel()
        super().connection_lost(exc)
        if self.place is not None:
            self._table.leave(self.place)

    def data_received(self, data: bytes) -> None:
        self._has_moved = True
        for at in range(0, len(data), _PIECE_BYTES):
            if self.transport.is_closing():
                return
            self._parse(data if len(data) <= _PIECE_BYTES else data[at : at + _PIECE_BYTES])
        if not self._is_in_head and self._reading is None and not self._is_answered():
            self._read_within(self._limits.stall_seconds, self._check_stall)

    def _parse(self, piece: bytes) -> None:
        was_in_head, body_before = self._is_in_head, self._body_bytes
        self._has_completed = False
        super().data_received(piece)
        if self.transport.is_closing():
            return
        if self._is_in_head:
            self._head_bytes += len(piece) if was_in_head and not self._has_completed else 0
            if self._head_bytes > self._limits.head_bytes:
                self._refuse(431, f"the headers have more than {self._limits.head_bytes:,} bytes")
        elif not was_in_head:
            self._framing_bytes += len(piece) - (self._body_bytes - body_before)
            if self._framing_bytes > _FRAMING_BYTES_MAX + self._body_bytes:
                self._refuse(400, _SMALL_CHUNKS)

    # -- what the parser finds -------------------------------------------------------------------

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > self._limits.url_bytes:
            self._refusal = 414, f"the URL has more than {self._limits.url_bytes:,} bytes"
            raise _OverLimit

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or one that follows a chunked body, which says nothing about the request: whoever stands
        in front of the server may have checked or set only those before it."""
        if self._is_in_head:
            super().on_header(name, value)
        else:
            self._trailers += 1
        if len(self.headers) + self._trailers > self._limits.headers:
            self._refusal = 431, f"there are more than {self._limits.headers:,} headers"
            raise _OverLimit

    def on_headers_complete(self) -> None:
        self._is_in_head, self._head_bytes, self._body_bytes, self._framing_bytes = False, 0, 0, 0
        self._chunks = self._trailers = 0
        self._read_within(None)
        self._check_framing()
        self._check_target()
        super().on_headers_complete()

    def _check_framing(self) -> None:
        """Refuse a body in a transfer coding that nobody here decodes."""
        codings = [value.strip().lower() for name, value in self.headers if name == b"transfer-encoding"]
        if codings not in ([], [b"chunked"]):
            self._refusal = 501, "the only supported transfer coding is chunked"
            raise _OverLimit

    def _check_target(self) -> None:
        """Refuse a URL with a host that is another than that of the header, by which the rest goes."""
        if self.url.startswith(b"/"):
            return
        named = _authority(self.url)
        hosts = [value.strip().lower() for name, value in self.headers if name == b"host"]
        if named and hosts and any(_without_usual_port(self.url, host) != named for host in hosts):
            self._refusal = 421, "the URL and the header Host name different hosts"
            raise _OverLimit

    def on_chunk_header(self) -> None:
        self._chunks += 1
        if self._chunks > _CHUNKS_FREE + self._body_bytes // _CHUNK_BYTES:
            self._refusal = 400, _SMALL_CHUNKS
            raise _OverLimit

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_in_head, self._has_completed, self._head_bytes = True, True, 0
        self._read_within(None)
        super().on_message_complete()
        if self._is_answered():
            self._expect_head()

    def on_response_complete(self) -> None:
        self._has_served = True
        super().on_response_complete()
        if not self.pipeline and not self.transport.is_closing():
            self._expect_head()

    # -- time ------------------------------------------------------------------------------------

    def _expect_head(self) -> None:
        """The next head must be complete in time, and so must the rest of a body that nobody wants."""
        self._read_within(self._limits.head_seconds, self._head_is_late)

    def _head_is_late(self) -> None:
        if self._head_bytes and self._is_in_head:
            self._refuse(408, f"the headers did not arrive within {self._limits.head_seconds:g} seconds")
        else:
            self._close()

    def _check_stall(self) -> None:
        """End the connection if nothing of the body came for a while, though somebody waits for it."""
        if self._has_moved or self.flow.read_paused:
            self._read_within(self._limits.stall_seconds, self._check_stall)
        else:
            self._count("connections_stalled")
            self.end()

    def _read_within(self, seconds: float | None, act: Callable[[], None] | None = None) -> None:
        """Set the timer for what is to be read; the one that was set is cancelled."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        if seconds is not None and act is not None:
            self._has_moved = False
            self._reading = self.loop.call_later(seconds, act)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._writing is not None and not self.transport.is_closing():
            self._writing.cancel()
            self._writing = None

    def timeout_keep_alive_handler(self) -> None:
        self._close()

    def _close(self) -> None:
        """Close the connection once everything is sent, and sooner if the client does not read it."""
        if not self.transport.is_closing():
            self.transport.close()
            self._expect_reader()

    def _expect_reader(self) -> None:
        self._unsent_bytes = self.transport.get_write_buffer_size()
        if self._writing is not None:
            self._writing.cancel()
        self._writing = self.loop.call_later(self._limits.stall_seconds, self._check_reader)

    def _check_reader(self) -> None:
        """End the connection if the client has read nothing for a while."""
        left = self.transport.get_write_buffer_size()
        if left and left >= self._unsent_bytes:
            self._count("connections_stalled")
            self.end()
        elif left:
            self._expect_reader()

    # -- refusing --------------------------------------------------------------------------------

    def _refuse(self, status: int, words: str) -> None:
        self._refusal = status, words
        self.send_400_response(words)

    def send_400_response(self, msg: str) -> None:
        """Say why a request is refused, and close the connection; whoever was asked before is answered."""
        self._count("requests_refused")
        if not self._is_answered() and not self.cycle.more_body:
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        if not self._is_answered() and self.cycle.response_started:
            self.end()
            return
        status, words = self._refusal
        content = msgspec.json.encode(problems.problem(status, words))
        self.transport.write(
            b"HTTP/1.1 %d %s\r\ncontent-type: %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"
            % (
                status,
                HTTPStatus(status).phrase.encode(),
                problems.MEDIA_TYPE.encode(),
                len(content),
                content,
            )
        )
        self._close()
