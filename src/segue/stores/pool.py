"""Connections of a process to one server: as many as are used at once, up to a limit, and the warmest first.

No thread and no timer. A connection that broke is closed and takes the idle ones with it: whatever broke it
(a restart, a failover, another network) broke them too. A forked child opens its own (``forks``).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, Protocol, TypeVar

from ..errors import StoreBusy
from . import forks


class Closable(Protocol):
    """A connection, as far as a pool knows it."""

    def close(self) -> object: ...


C = TypeVar("C", bound=Closable)


class Lease(Generic[C]):
    """A place among the connections of a pool, had by one caller."""

    __slots__ = ("broken", "connection", "usable")

    def __init__(self, connection: C | None) -> None:
        self.connection = connection
        """None where the caller is to open one, and put it here."""
        self.broken = False
        """Set by the caller if it broke: it is closed, and the idle ones with it."""
        self.usable = True
        """Unset by the caller if nobody else may have it: it is closed alone."""


class Pool(Generic[C]):
    """Connections to one address."""

    def __init__(
        self, most: int, to: str, hint: str = "try again", *, idle_seconds_max: float = math.inf,
        alive: Callable[[C], bool] = lambda _: True,
    ) -> None:  # fmt: skip
        """At most ``most`` connections ``to`` somewhere. One that was idle for longer than
        ``idle_seconds_max``, or is not ``alive``, is closed instead of being given out."""
        self._most = most
        self._to = to
        self._hint = hint
        self._idle_seconds_max = idle_seconds_max
        self._alive = alive
        self._reset()

    def _reset(self) -> None:
        self._forks = forks.count
        self._idle: list[tuple[float, C]] = []
        self._given = 0
        self._free = threading.Condition()

    @contextmanager
    def lease(self, deadline: float) -> Iterator[Lease[C]]:
        """A connection for this block alone; StoreBusy if none is to be had before the deadline."""
        if self._forks != forks.count:
            forks.left_open.append(self._idle)
            self._reset()
        free, lease = self._free, Lease(self._take(deadline))
        try:
            yield lease
        finally:
            if free is self._free and self._forks == forks.count:  # else it is the parent's
                with free:
                    self._given -= 1
                    self._give_back(lease)
                    free.notify()

    def _take(self, deadline: float) -> C | None:
        with self._free:
            while self._given >= self._most:
                left = deadline - time.monotonic()
                if left <= 0 or not self._free.wait(left):
                    raise StoreBusy(f"all {self._most} connections to {self._to} are in use", hint=self._hint)
            self._given += 1
            while self._idle:
                since, found = self._idle.pop()
                if time.monotonic() - since < self._idle_seconds_max and self._alive(found):
                    return found
                _close(found)
        return None

    def _give_back(self, lease: Lease[C]) -> None:
        if lease.broken:
            self._drop_idle()
        if lease.connection is None:
            return
        if lease.usable and not lease.broken:
            self._idle.append((time.monotonic(), lease.connection))
        else:
            _close(lease.connection)

    def _drop_idle(self) -> None:
        for _, idle in self._idle:
            _close(idle)
        self._idle = []

    def close(self) -> None:
        """Close those that nobody uses; the next call opens anew."""
        if self._forks != forks.count:
            forks.left_open.append(self._idle)
            self._reset()
            return
        with self._free:
            self._drop_idle()

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()


def _close(connection: Closable) -> None:
    with suppress(Exception):
        connection.close()
