"""Lookups of keys in a store that is a server: requests with the same key share one.

A request that comes while a lookup is under way waits for the next one. Every request is thus checked by a
lookup that began after it came, and a key that was revoked before then is refused.
"""

from __future__ import annotations

import asyncio
from functools import partial

from ....core.server.access import Access
from .commit_queue import in_thread
from .context import ServerContext


class KeyLookups:
    """The lookups of a server that are under way, by token and project."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._waiting: dict[tuple[str, str], list[asyncio.Future[Access]]] = {}

    async def authenticate(self, token: str, project: str) -> Access:
        """What a token gives access to. Raises NotKnown or NotAllowed."""
        key = (token, project)
        waiting = self._waiting.get(key)
        if waiting is not None:
            mine: asyncio.Future[Access] = asyncio.get_running_loop().create_future()
            waiting.append(mine)
            return await mine
        self._waiting[key] = []
        try:
            return await in_thread(partial(self._server.authenticate, token, project))
        finally:
            self._next(key)

    def _next(self, key: tuple[str, str]) -> None:
        """Look up once more for requests that came in the meantime, if any did."""
        waiting = [one for one in self._waiting.pop(key) if not one.done()]
        if waiting:
            self._waiting[key] = []
            task = asyncio.ensure_future(in_thread(partial(self._server.authenticate, *key)))
            task.add_done_callback(partial(self._settle, key, waiting))

    def _settle(
        self, key: tuple[str, str], waiting: list[asyncio.Future[Access]], task: asyncio.Future[Access]
    ) -> None:
        fault = asyncio.CancelledError() if task.cancelled() else task.exception()
        for one in waiting:
            if one.done():
                continue
            if fault is None:
                one.set_result(task.result())
            else:
                one.set_exception(fault)
        self._next(key)
