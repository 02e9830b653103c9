"""The server as a process: it listens, announces its URL, and shuts down cleanly on a signal."""

from __future__ import annotations

import asyncio
import math
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import uvicorn

from ....errors import AccessError, SegueError, UsageError
from ....services.server.projects import Projects
from ....services.server.startup import ListenAddress
from ....services.server.tracing import Tracing
from ..app import application
from .connections import ConnectionTable, TlsAcceptor
from .context import ServerContext, ServerOptions
from .protocol import LimitedProtocol
from .readiness import Readiness

GRACE_SECONDS = 10
BACKLOG = 2_048
FILES_MAX = 65_536


class _Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, table: ConnectionTable, count: Callable[[str], None],
        on_start: Callable[[], None], on_shutdown: Callable[[], None], readiness: Readiness,
        drain_seconds: float,
    ) -> None:  # fmt: skip
        super().__init__(config)
        self._readiness = readiness
        self._drain_seconds = drain_seconds
        self._ends_at = math.inf
        self._table = table
        self._count = count
        self._on_start = on_start
        self._on_shutdown = on_shutdown

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application and accept connections, as uvicorn does, but with limits of our own."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            self.should_exit = True
            return
        loop, tls = asyncio.get_running_loop(), self.config.ssl
        self.servers = [
            TlsAcceptor(one, self._table, self._protocol, tls)  # type: ignore[misc]
            if tls
            else await loop.create_server(self._protocol, sock=one, backlog=BACKLOG)
            for one in sockets or ()
        ]
        self.started = True
        self._on_start()

    def _protocol(self) -> LimitedProtocol:
        return LimitedProtocol(
            self._table, self._count, config=self.config, server_state=self.server_state,
            app_state=self.lifespan.state,
        )  # fmt: skip

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """At SIGTERM serve on for a while, so that balancers notice first; a second signal ends that."""
        if sig == signal.SIGTERM and self._drain_seconds and not self._readiness.draining:
            self._readiness.draining = True
            self._ends_at = time.monotonic() + self._drain_seconds
            return
        self._readiness.draining = True
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        self.should_exit = self.should_exit or time.monotonic() >= self._ends_at
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_shutdown()  # before it waits for clients, so that streams end
        await super().shutdown(sockets=sockets)


def run(
    projects: Projects, where: ListenAddress, options: ServerOptions, announce: Callable[[str], None],
    tracing: Tracing | None = None,
) -> int:  # fmt: skip
    """Serve until SIGTERM or SIGINT; what is under way is answered first. ``announce`` gets the URL."""
    limits = options.limits.within(allow_more_files())
    listening = listen(where.host, where.port)
    host = f"[{where.host}]" if ":" in where.host else where.host
    url = f"{'https' if where.tls else 'http'}://{host}:{listening.getsockname()[1]}"
    server_context = ServerContext(projects, options, tracing=tracing)
    app = application(server_context)
    try:
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, lifespan="on",
            timeout_graceful_shutdown=GRACE_SECONDS, http=LimitedProtocol, ws="none",
            proxy_headers=False,
            ssl_certfile=where.certificate or None, ssl_keyfile=where.key or None,
        )  # fmt: skip
        config.load()
    except (OSError, ValueError) as fault:
        raise UsageError(
            f"this certificate and key cannot be used: {fault}", hint="see --tls-cert"
        ) from fault
    count = server_context.metrics.count
    server = _Server(
        config, ConnectionTable(limits, count), count, lambda: announce(url), server_context.follower.close,
        server_context.readiness, options.drain_seconds,
    )  # fmt: skip
    server.run(sockets=[listening])
    return 0 if server.started else 70


def allow_more_files() -> int:
    """Raise the limit of open files as far as this process may, and return it. Each thread has its own
    connection to each embedded store that it works on: the usual 1,024 are used up by some ten projects."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, FILES_MAX)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return FILES_MAX if soft == resource.RLIM_INFINITY else soft
    return FILES_MAX


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises AccessError or UsageError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as fault:
        listening.close()
        raise _cannot(host, port, fault) from fault
    listening.listen(BACKLOG)
    listening.setblocking(False)
    return listening


def _cannot(host: str, port: int, fault: Exception) -> SegueError:
    kind = AccessError if isinstance(fault, PermissionError) else UsageError
    words = getattr(fault, "strerror", None) or str(fault)
    return kind(
        f"cannot listen on {host}:{port}: {words}", hint="choose another with --port; 0 takes a free one"
    )
