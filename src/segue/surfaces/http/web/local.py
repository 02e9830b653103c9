"""`segue ui`: the pages of this machine, on loopback, for whoever has the one-time link.

The link's token is used up by the first browser that follows it; after that a cookie counts, which no other
site can send and no script can read. Requests with another host name are refused, so that no name of an
attacker's that points to this machine is served. It ends with the command.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ....api.segue import Segue
from ....core.base.lazy import regex
from ....core.sessions.status import Card
from ....core.usage.figures import Observed
from ....errors import Misdirected, NotKnown, SegueError, UnexpectedError
from ....services.overview.figures import ChecksSeen, observe
from ....services.overview.now import newest_transcripts, now
from ....services.runs.sessions_shown import list_sessions
from ....services.upkeep.doctor.checkup import examine
from ....services.upkeep.doctor.finding import Diagnosis
from ..server.process import listen
from ..server.route import PathRoutes
from .actions import checks_ended
from .live import changes
from .page import not_supported
from .pages import endpoints
from .prepared import Prepared
from .render import PREFIX, problem_page, redirect, unknown_page
from .visitor import Visitor, stamp_of

HOST = "127.0.0.1"
HOST_HEADER = regex(r"(?:127\.0\.0\.1|localhost|\[::1\]):[0-9]{1,5}")
LIVING_FILES_MAX = 60
WATCHED_SECONDS = 5.0
LOOK_AHEAD_SECONDS = 5.0
EXAMINED_SECONDS = 5.0
OBSERVED_SECONDS = 5.0


class LocalVisitor:
    """Whoever runs the command."""

    name = ""
    role = "admin"
    is_local = True

    def __init__(self, door: LocalDoor, secret: str) -> None:
        self._door = door
        self.secret = secret

    @contextmanager
    def segue(self, folder: str = "") -> Iterator[Segue]:
        """The store, seen from the working tree in a folder, if that is still there."""
        where = folder if folder and os.path.isdir(folder) else self._door.folder
        with Segue(folder=where, environment=self._door.environment) as opened:
            if where == self._door.folder:
                self._door.has_looked.wait(LOOK_AHEAD_SECONDS)
                opened.workspace.repository.cards_seen = self._door.cards_seen
            yield opened

    def stamp(self, session: str = "") -> str:
        """What differs once something on this machine has changed."""
        return self._door.look()

    def health(self) -> list[Diagnosis] | None:
        """What the doctor finds; None while it is still looking."""
        return self._door.examined.get()

    def observed(self) -> Observed | None:
        """What figures are made of; None while transcripts are still being read."""
        return self._door.observed.get()


class LocalDoor:
    """Lets in who has the link, once, and afterwards who has the cookie."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = dict(environment)
        self._token = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)
        self._lock = threading.Lock()
        self._paths: list[str] = []
        self._watched_until = 0.0
        self._heads = ""
        self.cards_seen: dict[str, tuple[int, Card]] = {}
        """What lists of sessions need not be made of again."""
        self.has_looked = threading.Event()
        """Set once the first list was made: nobody makes it a second time meanwhile."""
        self._checks_seen: ChecksSeen = {}
        self.examined = Prepared(self._examine, EXAMINED_SECONDS)
        """What the doctor finds. It proves every event of the store, which takes its time in a large one."""
        self.observed = Prepared(self._observe, OBSERVED_SECONDS)
        """What figures are made of. Transcripts that were never read before are, which takes its time."""

    @property
    def link(self) -> str:
        """The path of the one-time link."""
        return f"{PREFIX}/enter?token={self._token}"

    async def visitor(self, request: Request) -> Visitor:
        """Whoever has the cookie. Raises NotKnown."""
        given = request.cookies.get(cookie_name(request.scope), "")
        if not given or not hmac.compare_digest(given.encode(), self._cookie.encode()):
            raise NotKnown("this page needs the link that `segue ui` printed", hint="start `segue ui` again")
        return LocalVisitor(self, self._cookie)

    async def enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Exchange the token for the cookie."""
        if scope["method"] != "GET":  # whoever only asks about the link does not use it up
            await not_supported(("GET",))(scope, receive, send)
            return
        given = Request(scope).query_params.get("token", "")
        with self._lock:
            is_right = bool(self._token) and hmac.compare_digest(given.encode(), self._token.encode())
            self._token = "" if is_right else self._token
        if is_right:
            response = redirect(PREFIX)
            name = cookie_name(scope)
            response.set_cookie(name, self._cookie, httponly=True, samesite="strict", path=PREFIX)
        else:
            fault = NotKnown(
                "this link has been used already, or is not the current one", hint="start `segue ui` again"
            )
            response = problem_page(fault)
        await response(scope, receive, send)

    async def live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Say when something on this machine changed."""
        try:
            request = Request(scope)
            await self.visitor(request)
            response: Response = changes(self._stamp, request.query_params.get("seen", ""))
        except SegueError as fault:
            response = problem_page(fault)
        await response(scope, receive, send)

    def look_ahead(self) -> None:
        """Make what the first page needs, while the browser starts."""
        try:
            with Segue(folder=self.folder, environment=self.environment) as segue:
                segue.workspace.repository.cards_seen = self.cards_seen
                list_sessions(segue.workspace, everywhere=True)
                now(segue.workspace)  # what has to be read for it is remembered
        except (SegueError, OSError):
            pass  # the page says it
        finally:
            self.has_looked.set()

    def _examine(self) -> list[Diagnosis]:
        with Segue(folder=self.folder, environment=self.environment) as segue:
            workspace = segue.workspace
        return examine(workspace.home, workspace.settings, self.environment, self.folder)

    def _observe(self) -> Observed:
        with Segue(folder=self.folder, environment=self.environment) as segue:
            return observe(segue.workspace, self._checks_seen)

    async def _stamp(self) -> str | None:
        return await asyncio.to_thread(self.look)

    def look(self) -> str:
        """What differs once the store was written to, or a transcript that was active lately has grown."""
        parts: list[object] = [checks_ended()]
        for path in self._watched():
            with suppress(OSError, ValueError):
                found = os.stat(path)
                parts += [found.st_mtime_ns, found.st_size]
        return stamp_of(self._heads, *parts)

    def _watched(self) -> list[str]:
        """The files to look at; which transcripts are the newest is asked for every few seconds only."""
        if time.monotonic() > self._watched_until:
            with Segue(folder=self.folder, environment=self.environment) as segue:
                workspace = segue.workspace
                database, newest = workspace.home.database, newest_transcripts(workspace, LIVING_FILES_MAX)
                shared = bool(workspace.home.shared_store)
                self._heads = stamp_of(*workspace.store.streams()) if shared else ""
            self._paths = [str(database), f"{database}-wal", *newest]
            self._watched_until = time.monotonic() + WATCHED_SECONDS
        return self._paths


def cookie_name(scope: Scope) -> str:
    """The name of the cookie: browsers keep no cookies apart by port, and there may be several of us."""
    return f"segue_ui_{scope['server'][1]}"


class HostCheck:
    """Refuses requests for other hosts than loopback."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            names = Request(scope).headers.getlist("host")
            if len(names) != 1 or not HOST_HEADER.fullmatch(names[0]):
                fault = Misdirected("this is not the host in the link", hint="use the link as printed")
                await problem_page(fault)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def application(door: LocalDoor) -> ASGIApp:
    """The pages of this machine."""

    async def root(scope: Scope, receive: Receive, send: Send) -> None:
        await redirect(PREFIX)(scope, receive, send)

    routes: dict[str, ASGIApp] = {
        **endpoints(door), "/": root, f"{PREFIX}/enter": door.enter, f"{PREFIX}/live": door.live,
    }  # fmt: skip
    handlers = {404: _unknown, Exception: _unforeseen}
    return HostCheck(Starlette(routes=[PathRoutes(routes)], exception_handlers=handlers))


async def _unknown(request: Request, fault: Exception) -> Response:
    return unknown_page()


async def _unforeseen(request: Request, fault: Exception) -> Response:
    return problem_page(
        UnexpectedError("something unexpected happened", hint="the terminal shows the details")
    )


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_start()


def run(door: LocalDoor, port: int, announce: Callable[[str], Any]) -> int:
    """Serve until the command is interrupted. ``announce`` gets the link."""
    listening = listen(HOST, port)
    link = f"http://{HOST}:{listening.getsockname()[1]}{door.link}"
    config = uvicorn.Config(
        application(door), log_config=None, access_log=False, server_header=False, lifespan="off", ws="none",
        proxy_headers=False, timeout_graceful_shutdown=1,
    )  # fmt: skip

    def on_start() -> None:
        announce(link)
        threading.Thread(target=door.look_ahead, daemon=True).start()

    server = _Server(config, on_start)
    server.run(sockets=[listening])
    return 0 if server.started else 70
