"""The routes together, behind the gate: what an ASGI server runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from ...errors import SegueError
from . import (
    aegis,
    aegis_memories,
    aegis_more,
    aegis_records,
    commanding,
    events,
    features,
    handing,
    health,
    holding,
    keys,
    mcp,
    memories,
    ports,
    runs,
    sessions,
)
from .front import Front
from .gate import Gate, upkeep
from .routing import Route, Router


def routes() -> Sequence[Route]:
    """Every route that there is."""
    groups = (
        health, keys, ports, sessions, commanding, events, runs, features, memories, handing, holding,
        aegis, aegis_memories, aegis_records, aegis_more,
    )  # fmt: skip
    return [one for group in groups for one in group.ROUTES]


@asynccontextmanager
async def _running(front: Front, mounted: mcp.McpMount) -> AsyncIterator[None]:
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


def application(front: Front) -> Gate:
    """What an ASGI server runs."""
    mounted = mcp.McpMount(front)
    return Gate(Router(front, routes(), _running(front, mounted)), front, {mcp.PATH: mounted})
