"""The body of a request: at most so many bytes, unpacked if it was sent packed, and readable again."""

from __future__ import annotations

import zlib
from typing import Any

from starlette.types import Receive

from ....errors import UsageError


class TooLarge(UsageError):
    """A body of more bytes than the server takes."""

    code = "too_large"
    http_status = 413

    def __init__(self, message: str) -> None:
        super().__init__(message, hint="send less at once; `segue serve --max-body` takes more")


def limited(receive: Receive, bytes_max: int) -> Receive:
    """The same messages; TooLarge is raised as soon as they hold more bytes than that."""
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
    """A body that was read already, for whoever reads it next; behind it comes what the client sends."""
    sent = False

    async def receive_again() -> Any:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


def unpacked(body: bytes, bytes_max: int) -> bytes:
    """A body that was sent with gzip; TooLarge if it becomes larger than that, or is no gzip."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        found = unpacker.decompress(body, bytes_max + 1)
    except zlib.error:
        raise TooLarge("it is not gzip") from None
    if len(found) > bytes_max or unpacker.unconsumed_tail:
        raise TooLarge(f"more than {bytes_max:,} bytes when unpacked")
    if not unpacker.eof:
        raise TooLarge("it is not gzip to its end")
    return found
