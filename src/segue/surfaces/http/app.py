"""The application: every route, behind the pipeline, as an ASGI server runs it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from pkgutil import iter_modules

from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from ...errors import SegueError
from . import aegis, routes
from .routes.mcp import McpEndpoint
from .server import problems
from .server.context import ServerContext
from .server.pipeline import RequestPipeline
from .server.route import REQUEST_ID, Operation, PathRoutes, endpoints_of
from .web.keyed import KeyDoor, is_page
from .web.render import unknown_page

_FLUSH_SECONDS = 1.0
_TIDY_SECONDS = 600.0


def operations() -> list[Operation]:
    """Every operation that a module in the folders of routes declares."""
    modules = [
        import_module(f"{folder.__name__}.{found.name}")
        for folder in (routes, aegis)
        for found in iter_modules(folder.__path__)
    ]
    return [
        one
        for module in modules
        for one in vars(module).values()
        if isinstance(one, Operation) and one.function.__module__ == module.__name__
    ]


def application(server: ServerContext, declared: Sequence[Operation] | None = None) -> Starlette:
    """The application that serves these operations, by default all of them."""
    tools = McpEndpoint(server)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        with suppress(SegueError, OSError):
            await to_thread.run_sync(server.projects.quotas.load)
        upkeep = asyncio.create_task(_keep_up(server))
        try:
            yield
        finally:
            await tools.stop()
            upkeep.cancel()
            with suppress(asyncio.CancelledError, SegueError):
                await upkeep
            with suppress(SegueError):
                server.flush_audit()
            server.readiness.close()
            server.projects.close()
            if server.tracing is not None:
                await to_thread.run_sync(server.tracing.close)

    found = operations() if declared is None else declared
    app = Starlette(
        routes=[PathRoutes({**endpoints_of(found), tools.PATH: tools, **KeyDoor(server).endpoints()})],
        middleware=[Middleware(RequestPipeline, server=server)],
        exception_handlers={HTTPException: _http_problem},
        lifespan=lifespan,
    )
    app.state.server = server
    app.state.operations = found
    return app


async def _http_problem(request: Request, fault: Exception) -> Response:
    """The response to what Starlette itself refuses: an unknown path, or a method that a path does not
    support."""
    assert isinstance(fault, HTTPException)
    if is_page(request.url.path):
        return unknown_page()
    headers = dict(fault.headers or {})
    found = problems.problem(fault.status_code, fault.detail)
    return problems.response(found, headers, request=request.scope.get(REQUEST_ID, ""))


async def _keep_up(server: ServerContext) -> None:
    """Run while the server runs: write the audit, look at quotas, and delete old responses and marks."""
    last = float("-inf")
    while True:
        await asyncio.sleep(_FLUSH_SECONDS)
        for work in (server.flush_audit, server.projects.quotas.load, server.projects.quotas.give_back):
            with suppress(SegueError, OSError):
                await to_thread.run_sync(work)
        if time.monotonic() - last > _TIDY_SECONDS:
            last = time.monotonic()
            with suppress(SegueError, OSError):
                await to_thread.run_sync(server.tidy)
