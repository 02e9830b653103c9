"""How many connections the server holds, in all and from one address, and which one goes for a new one.

A connection counts from when it is accepted, before TLS and before anything was sent. Where there are too
many, the oldest one that has no request under way is closed for the new one: whoever opens connections and
sends nothing shuts out only himself. If all are at work, the new one is refused.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from ssl import SSLContext
from typing import Any, Protocol

from ....core.base.values import Value
from ....errors import UsageError

CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX = 2_000, 500
FILES_SHARE = 2
"""At most one file in two that the process may have open is a connection; the store needs the others."""
_ACCEPT_PAUSE_SECONDS = 0.05
Network = IPv4Network | IPv6Network


class ConnectionLimits(Value):
    """What a client may send and hold before its key is looked at."""

    connections: int = CONNECTIONS_MAX
    """Connections in all."""
    per_address: int = CONNECTIONS_PER_ADDRESS_MAX
    """Connections of one address, unless it is a trusted proxy."""
    proxies: tuple[str, ...] = ()
    """Addresses and networks of trusted proxies, as ``10.0.0.0/8``."""
    head_bytes: int = 32_768
    """The request line and all headers together."""
    headers: int = 100
    url_bytes: int = 8_192
    head_seconds: float = 10.0
    """Until when the head of a request must be complete, counted from the connection or the last response."""
    stall_seconds: float = 30.0
    """How long a body that was begun, or a client that reads a response, may stand still."""

    def within(self, files: int) -> ConnectionLimits:
        """The same limits for a process that may have so many files open."""
        from msgspec.structs import replace

        most = max(8, min(self.connections, files // FILES_SHARE))
        return replace(self, connections=most, per_address=max(4, min(self.per_address, (most + 1) // 2)))


class ServedConnection(Protocol):
    """What a protocol tells about its connection."""

    def is_idle(self) -> bool:
        """Whether no request is under way."""

    def has_served(self) -> bool:
        """Whether it has answered a request."""

    def end(self) -> None:
        """Close it now."""


class Handshake:
    """A connection whose TLS handshake is not over."""

    def __init__(self, accepted: socket.socket) -> None:
        self._accepted = accepted

    def is_idle(self) -> bool:
        return True

    def has_served(self) -> bool:
        return False

    def end(self) -> None:
        with suppress(OSError):
            self._accepted.shutdown(socket.SHUT_RDWR)  # the event loop notices, and closes it


class Place:
    """The place of a connection among those that are open."""

    def __init__(self, address: str, connection: ServedConnection) -> None:
        self.address = address
        self.connection = connection


class ConnectionTable:
    """The connections that are open, the oldest first."""

    def __init__(self, limits: ConnectionLimits, count: Callable[[str], None]) -> None:
        """``count`` is told what is refused or closed."""
        self.limits = limits
        self._count = count
        self._proxies = networks(limits.proxies)
        self._all: dict[Place, None] = {}
        self._of_address: dict[str, dict[Place, None]] = {}

    def admit(self, address: str, connection: ServedConnection) -> Place | None:
        """A place for a new connection, for which another one may have to go; None if there is none."""
        counted = not self._is_proxy(address)
        place = Place(neighbourhood(address), connection)
        same = self._of_address.get(place.address, {})
        if (counted and len(same) >= self.limits.per_address and not self._make_room(same)) or (
            len(self._all) >= self.limits.connections and not self._make_room(self._all)
        ):
            self._count("connections_refused")
            return None
        self._all[place] = None
        if counted:
            self._of_address.setdefault(place.address, {})[place] = None
        return place

    def leave(self, place: Place) -> None:
        """Give the place of a connection back."""
        self._all.pop(place, None)
        same = self._of_address.get(place.address)
        if same is not None:
            same.pop(place, None)
            if not same:
                del self._of_address[place.address]

    def _make_room(self, places: Iterable[Place]) -> bool:
        """Close the oldest connection that waits and never was answered, else the oldest that waits."""
        idle = [one for one in places if one.connection.is_idle()]
        leaves = next((one for one in idle if not one.connection.has_served()), idle[0] if idle else None)
        if leaves is None:
            return False
        self._count("connections_closed")
        self.leave(leaves)
        leaves.connection.end()
        return True

    def _is_proxy(self, address: str) -> bool:
        found = _parsed(address) if self._proxies else None
        return found is not None and any(found in network for network in self._proxies)


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


@lru_cache(4096)
def neighbourhood(address: str) -> str:
    """What counts as one address: of IPv6 the network of 64 bits, which one customer has to himself."""
    found = _parsed(address)
    if isinstance(found, IPv6Address) and not found.is_loopback:
        return str(ip_network((found, 64), strict=False))
    return str(found or address)


def networks(names: Sequence[str]) -> tuple[Network, ...]:
    """The networks of these addresses. Raises UsageError for one that is no address."""
    try:
        return tuple(ip_network(name, strict=False) for name in names)
    except ValueError as fault:
        raise UsageError(
            f"not the address of a proxy: {fault}", hint="give an address or a network, as in 10.0.0.0/8"
        ) from fault


class TlsAcceptor:
    """Accepts connections for TLS; stands where asyncio has its own server, which tells nobody of a
    connection before its handshake is over."""

    def __init__(
        self, listening: socket.socket, table: ConnectionTable, factory: Callable[[], Any], tls: SSLContext
    ) -> None:
        """``factory`` makes a protocol with an attribute ``place``."""
        self._listening = listening
        self._table = table
        self._factory = factory
        self._tls = tls
        self._handshakes: set[asyncio.Task[None]] = set()
        self._task = asyncio.get_running_loop().create_task(self._accept())

    def close(self) -> None:
        """Accept no more."""
        self._task.cancel()

    async def wait_closed(self) -> None:
        """Wait until nothing more is accepted."""
        with suppress(asyncio.CancelledError):
            await self._task

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, name = await loop.sock_accept(self._listening)
            except OSError:  # no more files, or a client that is gone again
                await asyncio.sleep(_ACCEPT_PAUSE_SECONDS)
                continue
            place = self._table.admit(str(name[0]), Handshake(accepted))
            if place is None:
                accepted.close()
                continue
            task = loop.create_task(self._connect(accepted, place))
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)

    async def _connect(self, accepted: socket.socket, place: Place) -> None:
        protocol = self._factory()
        protocol.place = place
        with suppress(OSError):  # the handshake failed, and the event loop has closed the socket
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, accepted, ssl=self._tls,
                ssl_handshake_timeout=self._table.limits.head_seconds,
            )  # fmt: skip
        if place.connection is not protocol:
            self._table.leave(place)
