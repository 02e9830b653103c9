"""The routes together, behind the gate: what an ASGI server runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from litestar import Litestar
from litestar.datastructures import State
from litestar.exceptions import HTTPException

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
from .frame import answer_error, answer_http, answer_unforeseen
from .front import Front
from .gate import Gate, upkeep


def routes() -> Sequence[Any]:
    """Every route that there is."""
    groups = (
        health, keys, ports, sessions, commanding, events, runs, features, memories, handing, holding,
        aegis, aegis_memories, aegis_records, aegis_more,
    )  # fmt: skip
    return [one for group in groups for one in group.ROUTES]


@asynccontextmanager
async def _running(front: Front, mounted: mcp.McpMount | None, _: Litestar) -> AsyncIterator[None]:
    """While the server runs; at its end everything that waits is written."""
    task = asyncio.create_task(upkeep(front))
    try:
        yield
    finally:
        if mounted is not None:
            await mounted.stop()
        task.cancel()
        with suppress(asyncio.CancelledError, SegueError):
            await task
        with suppress(SegueError):
            front.flush()
        front.projects.close()


def litestar(front: Front, mounted: mcp.McpMount | None = None) -> Litestar:
    """The routes, without the gate."""
    return Litestar(
        route_handlers=routes(), state=State({"front": front}),
        exception_handlers={
            SegueError: answer_error, HTTPException: answer_http, Exception: answer_unforeseen,
        },
        lifespan=[partial(_running, front, mounted)],
        openapi_config=None,
        logging_config=None, request_max_body_size=front.rules.body_bytes_max, debug=False,
    )  # fmt: skip


def application(front: Front) -> Gate:
    """What an ASGI server runs."""
    mounted = mcp.McpMount(front)
    return Gate(litestar(front, mounted), front, {mcp.PATH: mounted})
