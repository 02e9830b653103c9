"""Connections of a process: as many as are used at once, up to a limit, and the warmest first.

No thread and no timer. A connection that broke is closed and takes the idle ones with it: whatever broke it
(a restart, a failover) broke them too. A forked child never touches a connection of its parent: it opens its
own, and leaves the inherited ones open (closing them would end the parent's).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ...errors import StoreBusy

if TYPE_CHECKING:
    from psycopg import Connection

_orphans: list[object] = []
_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Pool:
    """Connections to one address."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._reset()

    def _reset(self) -> None:
        self._forks = _forks
        self._idle: list[Connection[Any]] = []
        self._given = 0
        self._free = threading.Condition()

    @contextmanager
    def connection(
        self, connect: Callable[[float], Connection[Any]], deadline: float
    ) -> Iterator[Connection[Any]]:
        """A connection for this block alone; StoreBusy if none is free before the deadline."""
        if self._forks != _forks:
            _orphans.append(self._idle)
            self._reset()
        free = self._free
        db = self._take(deadline)
        try:
            if db is None:
                db = connect(deadline)
            yield db
        finally:
            with free:
                if free is self._free:
                    self._given -= 1
                    self._give_back(db)
                    free.notify()

    def _take(self, deadline: float) -> Connection[Any] | None:
        with self._free:
            while not self._idle and self._given >= self._most:
                left = deadline - time.monotonic()
                if left <= 0 or not self._free.wait(left):
                    raise StoreBusy(
                        f"all {self._most} connections to the store are in use",
                        hint="try again, or allow more with ?pool=N in SEGUE_STORE",
                    )
            self._given += 1
            return self._idle.pop() if self._idle else None

    def _give_back(self, db: Connection[Any] | None) -> None:
        if db is None:
            return
        if db.closed or db.broken:
            self._drop([db, *self._idle])
            self._idle = []
        elif db.info.transaction_status:  # a block left a transaction open: nobody else gets it
            self._drop([db])
        else:
            self._idle.append(db)

    @staticmethod
    def _drop(connections: list[Connection[Any]]) -> None:
        for db in connections:
            with suppress(Exception):
                db.close()

    def close(self) -> None:
        """Close those that nobody uses; the next call opens anew."""
        if self._forks != _forks:
            _orphans.append(self._idle)
            self._reset()
            return
        with self._free:
            self._drop(self._idle)
            self._idle = []

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()
