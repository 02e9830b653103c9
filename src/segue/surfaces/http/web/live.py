"""Telling a page that something changed: server-sent events, each a word; the page then asks for itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

from starlette.responses import StreamingResponse

from .render import HEADERS

LOOK_SECONDS = 1.0
HEARTBEAT_SECONDS = 15.0


def changes(
    stamp: Callable[[], Awaitable[str | None]],
    seen: str,
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
    seconds: float = LOOK_SECONDS,
) -> StreamingResponse:
    """A stream with a message whenever the stamp of what is shown differs; it ends when there is none.
    ``seen`` is the stamp of the page that listens: what has changed since it was made is told at once."""

    async def stream() -> AsyncGenerator[bytes, None]:
        yield b"retry: 1000\n\n"
        before, said = seen, time.monotonic()
        while (now := await stamp()) is not None:
            if now != before:
                before, said = now, time.monotonic()
                yield b"event: changed\ndata: now\n\n"
            elif time.monotonic() - said > HEARTBEAT_SECONDS:
                said = time.monotonic()
                yield b": still here\n\n"
            await wait(seconds)

    headers = {**HEADERS, "x-accel-buffering": "no"}
    return StreamingResponse(stream(), media_type="text/event-stream", headers=headers)
