"""Waiting for what is new in a stream, without a thread for each client that waits.

A follower of a stream is woken when this server has written something in the project, and also looks from
time to time, because another server may have written. However many clients follow a stream, it is read once
for all of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

from anyio import to_thread

from ....services.server.projects import Projects

T = TypeVar("T")
POLL_SECONDS = 0.5
_SHARED_SECONDS = POLL_SECONDS / 2


class StreamFollower:
    """Knows where streams end, and wakes those who wait for more."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects
        self._signals: dict[str, asyncio.Event] = {}
        self._looks: dict[tuple[str, ...], tuple[float, asyncio.Task[Any]]] = {}
        self.closing = False

    def wake(self, project: str) -> None:
        """Wake those who wait for a project, because something was written there."""
        self._looks = {key: kept for key, kept in self._looks.items() if key[0] != project}
        signal = self._signals.pop(project, None)
        if signal is not None:
            signal.set()

    def close(self) -> None:
        """Wake everybody, because the server ends."""
        self.closing = True
        for project in list(self._signals):
            self.wake(project)

    def signal(self, project: str) -> asyncio.Event:
        """An event that is set at the next write. Get it before reading a stream, and wait for it
        afterwards."""
        return self._signals.setdefault(project, asyncio.Event())

    async def wait(self, signal: asyncio.Event, seconds: float) -> None:
        """Wait until something was written or a while has passed."""
        if not self.closing:
            try:
                await asyncio.wait_for(signal.wait(), min(POLL_SECONDS, seconds))
            except TimeoutError:
                pass

    async def head(self, project: str, stream: str) -> int:
        """The version of a stream's last event, as of now or of a moment ago."""
        store = self._projects.store(project)
        return await self.shared((project, "head", stream), lambda: store.head(stream).version)

    async def shared(self, key: tuple[str, ...], look: Callable[[], T]) -> T:
        """What a look at something of a project gives, now or a moment ago: one for all who ask. The first of
        the key is the project. So a thousand clients that do not read cost as much as one."""
        now, kept = time.monotonic(), self._looks.get(key)
        if kept is None or now - kept[0] > _SHARED_SECONDS or (kept[1].done() and kept[1].exception()):
            self._looks = {one: old for one, old in self._looks.items() if now - old[0] <= _SHARED_SECONDS}
            kept = self._looks[key] = (now, asyncio.ensure_future(to_thread.run_sync(look)))
        found: T = await asyncio.shield(kept[1])
        return found
