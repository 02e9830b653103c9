"""The server as a process: it listens, says where, and ends in order when it is told to."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from ....core.base.values import Value
from ....errors import AccessError, SegueError, UsageError
from ....services.server.projects import Projects
from ..app import application
from .context import Rules, ServerContext

GRACE_SECONDS = 10
BACKLOG = 2_048
FILES_MAX = 65_536


class Served(Value):
    """What is served, and where."""

    projects: Projects
    host: str
    port: int
    rules: Rules
    announce: Callable[[str], None]
    tls: tuple[str, str] = ("", "")


class _Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], closing: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._closing = closing

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._closing()  # whoever follows something is told that it ends
        await super().shutdown(sockets=sockets)


def run(served: Served) -> int:
    """Serve until SIGTERM or SIGINT; what is under way is answered first."""
    more_files()
    listening = _listen(served.host, served.port)
    host = f"[{served.host}]" if ":" in served.host else served.host
    url = f"{'https' if served.tls[0] else 'http'}://{host}:{listening.getsockname()[1]}"
    front = ServerContext(served.projects, served.rules)
    app = application(front)
    try:
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, lifespan="on",
            timeout_graceful_shutdown=GRACE_SECONDS, backlog=BACKLOG,
            ssl_certfile=served.tls[0] or None, ssl_keyfile=served.tls[1] or None,
        )  # fmt: skip
        config.load()
    except (OSError, ValueError) as fault:
        raise UsageError(
            f"this certificate and key cannot be used: {fault}", hint="see --tls-cert"
        ) from fault
    server = _Server(config, lambda: served.announce(url), front.watch.close)
    server.run(sockets=[listening])
    return 0 if server.started else 70


def more_files() -> None:
    """Take as many open files as this process may: each thread has its own connection to each embedded store
    that it was asked about, and the usual 1,024 are used up by some ten projects at work."""
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
