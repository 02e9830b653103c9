"""A response on its way out: buffered until it is complete, then tagged and compressed; a stream is passed on
as it comes."""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import Message, Send

GZIP_BYTES_MIN = 1_000
_PACKED_TYPES = ("application/json", "application/problem+json", "text/")


class BufferedResponse:
    """The response of an application to one request. While ``hold`` is set, nothing of it is sent."""

    def __init__(
        self, send: Send, request: Mapping[str, str], *, request_id: str, tagged: bool,
        clock_ahead_seconds: float = 0.0, last: bool = False,
    ) -> None:  # fmt: skip
        """With ``tagged`` the response gets an ETag, and is 304 if the client has it already. Each response
        says the time by the clock of the store, by which leases count. With ``last`` the client is to open
        another connection for its next request: this server is about to end."""
        self._clock_ahead_seconds = clock_ahead_seconds
        self._last = last
        self._send = send
        self._request = request
        self._id = request_id
        self._tagged = tagged
        self._streaming = False
        self.headers = MutableHeaders()
        self.hold = False
        self.status = 0
        self.body = b""

    async def send(self, message: Message) -> None:
        """The ``send`` function that the application calls."""
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], MutableHeaders(raw=list(message["headers"]))
            return
        more = message.get("more_body", False)
        if more and not self._streaming and not self.hold:
            self._streaming = True
            await self._start()
        if self._streaming:
            await self._send(message)
        else:
            self.body += message.get("body", b"")

    def replace(self, response: Response) -> None:
        """Send another response instead of this one."""
        self.status, self.headers, self.body = response.status_code, response.headers, bytes(response.body)

    async def finish(self) -> None:
        """Send what was buffered, unless it was a stream."""
        if self._streaming or not self.status:
            return
        if self._tagged and self.status == 200:
            self._tag()
        self._pack()
        await self._start()
        await self._send({"type": "http.response.body", "body": self.body, "more_body": False})

    def _tag(self) -> None:
        """Add the ETag, which depends on the content and not on its compression."""
        tag = f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'
        self.headers["etag"] = tag
        self.headers["cache-control"] = "no-cache, private"
        known = [one.strip() for one in self._request.get("if-none-match", "").split(",")]
        if "*" in known or tag in [one.removeprefix("W/") for one in known]:
            self.status, self.body = 304, b""
            del self.headers["content-type"], self.headers["content-length"]

    def _pack(self) -> None:
        if len(self.body) < GZIP_BYTES_MIN or "gzip" not in self._request.get("accept-encoding", ""):
            return
        if self.headers.get("content-type", "").startswith(_PACKED_TYPES):
            packer = zlib.compressobj(5, zlib.DEFLATED, 31)
            self.body = packer.compress(self.body) + packer.flush()
            self.headers["content-length"] = str(len(self.body))
            self.headers["content-encoding"] = "gzip"
            self.headers["vary"] = "accept-encoding"

    async def _start(self) -> None:
        self.headers.append("x-request-id", self._id)
        self.headers.append("x-content-type-options", "nosniff")
        if self._last:
            self.headers.append("connection", "close")
        self.headers.append("segue-time", f"{time.time() + self._clock_ahead_seconds:.3f}")
        await self._send({"type": "http.response.start", "status": self.status, "headers": self.headers.raw})
