"""The messages of a request and of its answer: read whole, held back, packed, and given a tag."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

import msgspec

from ....errors import UsageError
from .problems import TYPE

Send = Callable[[Any], Awaitable[None]]
GZIP_BYTES_MIN = 1_000
_TEXTUAL = (
    "application/json",
    "application/problem+json",
    "text/",
    "application/openapi",
    "application/vnd.oai",
)


class TooLarge(Exception):
    """A body of more bytes than are taken."""


def header(name: str, value: str) -> tuple[bytes, bytes]:
    return name.encode("latin-1"), value.encode("latin-1", "replace")


def headers_of(scope: MutableMapping[str, Any]) -> dict[str, str]:
    """Headers by name; of one that comes twice, the first."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return found


async def whole(receive: Callable[[], Awaitable[Any]], most: int) -> bytes:
    """A body to its end; TooLarge if it has none within so many bytes, UsageError if it was cut off."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise UsageError("the request ended before its body did", hint="send all of it")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise TooLarge(f"more than {most:,} bytes")
        if not message.get("more_body"):
            return b"".join(parts)


def gzipped(body: bytes, most: int) -> bytes:
    """A packed body, unpacked; TooLarge if it becomes larger than that, or is none."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        found = unpacker.decompress(body, most + 1)
    except zlib.error:
        raise TooLarge("it is not gzip") from None
    if len(found) > most or unpacker.unconsumed_tail:
        raise TooLarge(f"more than {most:,} bytes when unpacked")
    if not unpacker.eof:
        raise TooLarge("it is not gzip to its end")
    return found


class Messages:
    """An answer on its way out. While ``hold`` is set, nothing is sent."""

    def __init__(self, send: Send, *, request_id: str, etag: bool, matches: str, gzip: bool) -> None:
        self._send = send
        self._id = request_id
        self._etag = etag
        self._matches = matches
        self._gzip = gzip
        self._headers: list[tuple[bytes, bytes]] = []
        self._flowing = False
        self._sent = False
        self.hold = False
        self.status = 0
        self.body = b""

    @property
    def type(self) -> str:
        found = next((v for n, v in self._headers if n.lower() == b"content-type"), b"")
        return found.decode("latin-1")

    async def send(self, message: Any) -> None:
        """What an application sends: kept until it is whole, or passed on if it is a stream."""
        if message["type"] == "http.response.start":
            self.status, self._headers = message["status"], list(message.get("headers", ()))
            return
        if message["type"] != "http.response.body":
            await self._send(message)
            return
        more = message.get("more_body", False)
        if more and not self._flowing and not self.hold:
            self._flowing = True
            await self._start(self._headers)
        if self._flowing:
            self._sent = not more
            await self._send(message)
            return
        self.body += message.get("body", b"")

    def replace(
        self, status: int, type: str, body: bytes, headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        """Another answer in the place of this one."""
        self.status, self.body = status, body
        self._headers = [header("content-type", type), *headers]

    async def problem(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        """Say what went wrong, if nothing was said yet."""
        more = [header(name, value) for name, value in (headers or {}).items()]
        self.replace(status, TYPE, msgspec.json.encode(body, enc_hook=str), more)

    async def finish(self) -> None:
        """Send what was kept."""
        if self._sent or self._flowing or not self.status:
            return
        self._sent = True
        headers = [(n, v) for n, v in self._headers if n.lower() != b"content-length"]
        body = self.body
        if self._etag and self.status == 200:
            tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
            headers += [header("etag", tag), header("cache-control", "no-cache, private")]
            if self._matches.strip() == "*" or tag in [
                one.strip().removeprefix("W/") for one in self._matches.split(",")
            ]:
                self.status, body = 304, b""
                headers = [(n, v) for n, v in headers if n.lower() != b"content-type"]
        if self._gzip and len(body) >= GZIP_BYTES_MIN and self.type.startswith(_TEXTUAL):
            packer = zlib.compressobj(5, zlib.DEFLATED, 31)
            body = packer.compress(body) + packer.flush()
            headers += [header("content-encoding", "gzip"), header("vary", "accept-encoding")]
        if self.status not in (204, 304):
            headers.append(header("content-length", str(len(body))))
        await self._start(headers)
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _start(self, headers: list[tuple[bytes, bytes]]) -> None:
        more = [header("x-request-id", self._id), header("x-content-type-options", "nosniff")]
        await self._send({"type": "http.response.start", "status": self.status, "headers": [*headers, *more]})
