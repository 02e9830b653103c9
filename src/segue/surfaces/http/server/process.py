"""The server as a process: it listens, announces its URL, and shuts down cleanly on a signal."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from ....errors import AccessError, SegueError, UsageError
from ....services.server.projects import Projects
from ....services.server.startup import ListenAddress
from ..app import application
from .context import ServerContext, ServerOptions

GRACE_SECONDS = 10
BACKLOG = 2_048
FILES_MAX = 65_536


class _Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, on_start: Callable[[], None], on_shutdown: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_start = on_start
        self._on_shutdown = on_shutdown

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_shutdown()  # before it waits for clients, so that streams end
        await super().shutdown(sockets=sockets)


def run(
    projects: Projects, where: ListenAddress, options: ServerOptions, announce: Callable[[str], None]
) -> int:
    """Serve until SIGTERM or SIGINT; what is under way is answered first. ``announce`` gets the URL."""
    allow_more_files()
    listening = _listen(where.host, where.port)
    host = f"[{where.host}]" if ":" in where.host else where.host
    url = f"{'https' if where.tls else 'http'}://{host}:{listening.getsockname()[1]}"
    server_context = ServerContext(projects, options)
    app = application(server_context)
    try:
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, lifespan="on",
            timeout_graceful_shutdown=GRACE_SECONDS, backlog=BACKLOG,
            ssl_certfile=where.certificate or None, ssl_keyfile=where.key or None,
        )  # fmt: skip
        config.load()
    except (OSError, ValueError) as fault:
        raise UsageError(
            f"this certificate and key cannot be used: {fault}", hint="see --tls-cert"
        ) from fault
    server = _Server(config, lambda: announce(url), server_context.follower.close)
    server.run(sockets=[listening])
    return 0 if server.started else 70


def allow_more_files() -> None:
    """Raise the limit of open files as far as this process may: each thread has its own connection to each
    embedded store that it works on, and the usual 1,024 are used up by some ten projects."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, FILES_MAX)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _listen(host: str, port: int) -> socket.socket:
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
