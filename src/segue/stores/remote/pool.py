"""Connections of a process to one server: kept open, the warmest first, and never shared with a fork.

No thread and no timer. A forked child leaves the connections of its parent alone: it opens its own. A
connection that broke takes the idle ones with it: whatever broke it (a restart, another network) broke them.
"""

from __future__ import annotations

import os
import select
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPSConnection
from typing import TYPE_CHECKING

from ...errors import StoreBusy
from .address import Address

if TYPE_CHECKING:
    from ssl import SSLContext

CONNECTIONS_MAX = 8
IDLE_SECONDS_MAX = 50.0
"""Servers close what is idle; asking on a connection that is being closed costs a second try."""
_orphans: list[object] = []
_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Pool:
    """Connections to one address."""

    def __init__(self, address: Address, most: int = CONNECTIONS_MAX) -> None:
        self._address = address
        self._most = most
        self._tls: SSLContext | None = None
        self._reset()

    def _reset(self) -> None:
        self._forks = _forks
        self._idle: list[tuple[float, HTTPConnection]] = []
        self._given = 0
        self._free = threading.Condition()

    def take(self, deadline: float) -> HTTPConnection:
        """A connection for the caller alone, open or not yet; StoreBusy if none is free in time."""
        if self._forks != _forks:
            _orphans.append(self._idle)
            self._reset()
        with self._free:
            while self._given >= self._most:
                left = deadline - time.monotonic()
                if left <= 0 or not self._free.wait(left):
                    raise StoreBusy(
                        f"all {self._most} connections to {self._address.shown} are in use", hint="try again"
                    )
            self._given += 1
            while self._idle:
                since, found = self._idle.pop()
                if time.monotonic() - since < IDLE_SECONDS_MAX and not _hung_up(found):
                    return found
                _close(found)
        return self._new()

    def _new(self) -> HTTPConnection:
        address = self._address
        if not address.tls:
            return HTTPConnection(address.host, address.port)
        if self._tls is None:
            from ssl import create_default_context

            self._tls = create_default_context()
        return HTTPSConnection(address.host, address.port, context=self._tls)

    def give(self, connection: HTTPConnection, *, broken: bool) -> None:
        """Back from the caller; one that broke is closed, and the idle ones with it."""
        if self._forks != _forks:
            return
        with self._free:
            self._given -= 1
            if broken:
                for _, idle in self._idle:
                    _close(idle)
                self._idle = []
                _close(connection)
            elif connection.sock is not None:
                self._idle.append((time.monotonic(), connection))
            self._free.notify()

    def close(self) -> None:
        """Close those that nobody uses; the next call opens anew."""
        if self._forks != _forks:
            _orphans.append(self._idle)
            self._reset()
            return
        with self._free:
            for _, idle in self._idle:
                _close(idle)
            self._idle = []

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()


def _hung_up(connection: HTTPConnection) -> bool:
    """Whether the other side has closed it: nothing is expected, so whatever can be read is its end."""
    try:
        waiting = select.poll()
        waiting.register(connection.sock, select.POLLIN | select.POLLHUP)
        return bool(waiting.poll(0))
    except (AttributeError, OSError, ValueError, TypeError):  # no poll on this platform: asking will tell
        return False


def _close(connection: HTTPConnection) -> None:
    with suppress(Exception):
        connection.close()
