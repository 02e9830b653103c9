"""MCP over streamable HTTP, at ``/mcp``: the same tools as `segue mcp`, with the keys of the server.

Each request stands alone, so any server behind a balancer can answer it. The gate has looked at the key; the
tools work on the sessions of its project. The SDK is loaded when the first one asks.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import msgspec

from ...mcp.served import ServedCaller, ServedCalls
from ..server import problems
from ..server.context import ServerContext
from ..server.route import ACTOR, REPOSITORY, RUN, Visit

PATH = "/mcp"
SESSION = "segue-session"


class McpMount:
    """An ASGI application behind the gate."""

    def __init__(self, front: ServerContext) -> None:
        self._front = front
        self._calls = ServedCalls()
        self._manager: Any = None
        self._running: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._ended = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "GET":  # nothing is ever told unasked: a stream would only outlive its key
            await _no_stream(send)
            return
        if self._manager is None:
            async with self._starting:
                if self._manager is None:
                    await self._start()
        await self._manager.handle_request(scope, receive, send)

    async def _start(self) -> None:
        """Load the SDK, and keep its manager running in a task of its own: it outlives any request."""
        ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._running = asyncio.create_task(self._run(ready))
        self._manager = await ready

    async def _run(self, ready: asyncio.Future[Any]) -> None:
        try:
            manager = await asyncio.to_thread(self._made)
        except Exception as fault:
            ready.set_exception(fault)
            return
        async with manager.run():
            ready.set_result(manager)
            await self._ended.wait()

    def _made(self) -> Any:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from ...mcp.server import made

        server = made(
            lambda context, name, arguments: self._calls.call(self._asker(context), name, arguments),
            lambda context: self._calls.brief(self._asker(context)),
        )
        most = self._front.rules.body_bytes_max
        return StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=most
        )

    def _asker(self, context: Any) -> ServedCaller:
        scope, headers = context.request.scope, context.request.headers
        told = [headers.get(name, "") for name in (ACTOR, RUN, REPOSITORY)]
        visit = Visit(self._front, scope["segue_access"], *told)
        return ServedCaller(visit.segue, visit.access, headers.get(SESSION, ""))

    async def stop(self) -> None:
        """Let go of what is under way."""
        self._ended.set()
        if self._running is not None:
            with suppress(Exception):
                await asyncio.wait_for(self._running, 5)


async def _no_stream(send: Any) -> None:
    """What the protocol says to whoever asks for a stream of a server that has none."""
    body = msgspec.json.encode(problems.body_of(405, "this server tells nothing unasked: use POST"))
    headers = [(b"content-type", problems.TYPE.encode()), (b"allow", b"POST")]
    await send({"type": "http.response.start", "status": 405, "headers": headers})
    await send({"type": "http.response.body", "body": body})
