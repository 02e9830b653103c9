"""The body of a request: limited in size, decompressed if it was sent compressed, and readable more than
once."""

from __future__ import annotations

import zlib
from typing import Any

from starlette.types import Receive

from ....errors import UsageError


class TooLarge(UsageError):
    """A body is larger than the server accepts."""

    code = "too_large"
    http_status = 413

    def __init__(self, message: str) -> None:
        super().__init__(message, hint="send less at once, or raise `segue serve --max-body`")


def limited(receive: Receive, bytes_max: int) -> Receive:
    """The same messages. Raises TooLarge as soon as they have more bytes than that."""
    size = 0

    async def receive_limited() -> Any:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > bytes_max:
            raise TooLarge(f"more than {bytes_max:,} bytes")
        return message

    return receive_limited


def replayed(body: bytes, receive: Receive) -> Receive:
    """A receive function that gives a body that was read already, then whatever else the client sends."""
    sent = False

    async def receive_again() -> Any:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


_GZIP_HINT = "compress the whole body, or leave out Content-Encoding"


def unpacked(body: bytes, bytes_max: int) -> bytes:
    """The content of a gzip body. Raises TooLarge if it is larger than that, UsageError if it is no whole
    gzip data."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        found = unpacker.decompress(body, bytes_max + 1)
    except zlib.error:
        raise UsageError("the body is not gzip", hint=_GZIP_HINT) from None
    if len(found) > bytes_max or unpacker.unconsumed_tail:
        raise TooLarge(f"more than {bytes_max:,} bytes when unpacked")
    if not unpacker.eof:
        raise UsageError("the gzip data is incomplete", hint=_GZIP_HINT)
    if unpacker.unused_data:
        raise UsageError("there is extra data after the gzip data", hint=_GZIP_HINT)
    return found
