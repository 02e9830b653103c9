"""The routes together, behind the gate: what an ASGI server runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from ...errors import SegueError
from .aegis import memories as aegis_memories
from .aegis import more, records
from .aegis import sessions as aegis
from .routes import (
    commands,
    events,
    features,
    handoffs,
    health,
    holds,
    keys,
    mcp,
    memories,
    runs,
    sessions,
    store,
)
from .server.context import ServerContext
from .server.pipeline import RequestPipeline, upkeep
from .server.routing import Route, Router


def routes() -> Sequence[Route]:
    """Every route that there is."""
    groups = (
        health, keys, store, sessions, commands, events, runs, features, memories, handoffs, holds,
        aegis, aegis_memories, records, more,
    )  # fmt: skip
    return [one for group in groups for one in group.ROUTES]


@asynccontextmanager
async def _running(front: ServerContext, mounted: mcp.McpMount) -> AsyncIterator[None]:
    """While the server runs; at its end everything that waits is written."""
    task = asyncio.create_task(upkeep(front))
    try:
        yield
    finally:
        await mounted.stop()
        task.cancel()
        with suppress(asyncio.CancelledError, SegueError):
            await task
        with suppress(SegueError):
            front.flush()
        front.projects.close()


def application(front: ServerContext) -> RequestPipeline:
    """What an ASGI server runs."""
    mounted = mcp.McpMount(front)
    return RequestPipeline(Router(front, routes(), _running(front, mounted)), front, {mcp.PATH: mounted})
