"""`/mcp`: MCP over streamable HTTP, the same tools as `segue mcp`, with the keys of the server.

Each request stands alone, so any server behind a balancer can answer it. The pipeline has checked the key;
the tools work on the sessions of its project. The SDK is loaded when the first request comes.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from starlette.types import Receive, Scope, Send

from ...mcp.served import ServedCaller, ServedCalls
from ..server import problems
from ..server.context import ServerContext
from ..server.route import ACCESS, PATH, Caller

SESSION = "segue-session"


class McpEndpoint:
    """The MCP server of the SDK as an ASGI application."""

    PATH = "/mcp"

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._calls = ServedCalls()
        self._manager: Any = None
        self._running: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._ended = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[PATH] = self.PATH
        if scope["method"] in (
            "GET",
            "HEAD",
        ):  # nothing is ever sent without a request, and a stream would outlive its key
            found = problems.problem(405, "this server only answers requests: use POST")
            await problems.response(found, {"allow": "POST"})(scope, receive, send)
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
            manager = await asyncio.to_thread(self._make_manager)
        except Exception as fault:
            ready.set_exception(fault)
            return
        async with manager.run():
            ready.set_result(manager)
            await self._ended.wait()

    def _make_manager(self) -> Any:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from ...mcp.server import made

        server = made(
            lambda context, name, arguments: self._calls.call(self._caller(context), name, arguments),
            lambda context: self._calls.brief(self._caller(context)),
        )
        return StreamableHTTPSessionManager(
            server, json_response=True, stateless=True,
            max_request_body_size=self._server.options.body_bytes_max,
        )  # fmt: skip

    def _caller(self, context: Any) -> ServedCaller:
        headers = context.request.headers
        caller = Caller.of(self._server, context.request.scope[ACCESS], headers)
        return ServedCaller(caller.segue, caller.access, headers.get(SESSION, ""))

    async def stop(self) -> None:
        """Cancel what is under way."""
        self._ended.set()
        if self._running is not None:
            with suppress(Exception):
                await asyncio.wait_for(self._running, 5)
