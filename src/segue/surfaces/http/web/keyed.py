"""The pages of `segue serve`, behind its keys and roles.

A key is typed in once and then kept in a cookie that no script can read and no other site can send; it is
looked up for every request like a key in a header, so that a revoked one is out at once. On a server without
keys everybody is let in, as everywhere there.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from anyio import to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ....api.segue import Segue
from ....core.base.values import count
from ....core.server.access import Access
from ....core.usage.figures import Observed
from ....effects.clock import now
from ....errors import NotAllowed, NotKnown, SegueError
from ....services.overview.figures import ChecksSeen, observe
from ....services.sessions.repository import stream_of
from ....services.upkeep.doctor.finding import Diagnosis
from ..server.context import ServerContext
from ..server.route import ACCESS, Caller
from .live import changes
from .page import (
    address,
    form_fields,
    is_followed_link,
    is_from_elsewhere,
    not_supported,
    page_fault,
    query_fields,
)
from .pages import endpoints
from .render import PREFIX, again_page, html, link, problem_page, redirect
from .visitor import Visitor, stamp_of

SIGN_IN, SIGN_OUT, LIVE = f"{PREFIX}/sign-in", f"{PREFIX}/sign-out", f"{PREFIX}/live"
LOOK_SECONDS = 2.0
_WITHOUT_KEYS = secrets.token_urlsafe(32)
"""What forms are signed with where there are no keys."""


def is_page(path: str) -> bool:
    """Whether a path is one of a page, and not of the API."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def is_open(path: str) -> bool:
    """Whether a page needs no key."""
    return path == SIGN_IN or path.startswith(f"{PREFIX}/static/")


def _cookies(scope: Scope) -> tuple[str, str]:
    """The names of the cookies with the key and the project: browsers do not keep servers apart by port."""
    port = (scope.get("server") or ("", 0))[1]
    return f"segue_key_{port}", f"segue_project_{port}"


def key_in(scope: Scope) -> tuple[str, str]:
    """The key and the project that a browser sends."""
    sent = Request(scope).cookies
    key, project = _cookies(scope)
    return sent.get(key, ""), sent.get(project, "")


def refusal(fault: SegueError, scope: Scope) -> Response:
    """The response to a page's request that was refused before it came to the page."""
    request = Request(scope)
    if not isinstance(fault, NotKnown):
        return problem_page(fault)
    if is_followed_link(request):
        return again_page(address(request))
    is_shown = request.method == "GET" and request.url.path not in (LIVE, SIGN_OUT)
    wanted = address(request) if is_shown else ""
    return redirect(link("sign-in", next=wanted if wanted != PREFIX else ""))


class KeyVisitor:
    """Somebody with a key."""

    is_local = False

    def __init__(self, caller: Caller, secret: str, checks_seen: ChecksSeen) -> None:
        self._caller = caller
        self.secret = secret
        self._checks_seen = checks_seen

    @property
    def name(self) -> str:
        access = self._caller.access
        return f"{access.agent or access.key} in {access.project}"

    @property
    def role(self) -> str:
        return self._caller.access.role

    @contextmanager
    def segue(self, folder: str = "") -> Iterator[Segue]:
        """The project of the key; a server sees no working trees."""
        yield self._caller.segue

    def stamp(self, session: str = "") -> str:
        """What differs once a session, or any of the project, has changed."""
        store = self._caller.server.projects.store(self._caller.access.project)
        if session:
            return stamp_of(store.head(stream_of(session)).version)
        heads = (*store.streams("session/"), *store.streams("handoff/"))
        return stamp_of(*heads, *(row.last for row in store.runs.rows()))

    def health(self) -> list[Diagnosis]:
        """Whether the store answers, and what it holds."""
        server, project = self._caller.server, self._caller.access.project
        try:
            sessions = sum(1 for _ in server.projects.store(project).streams("session/"))
            store = Diagnosis("store", "ok", f"{count(sessions, 'session')} in {project}")
        except SegueError as fault:
            store = Diagnosis("store", "bad", fault.message, fault.hint)
        hint = "" if server.options.auth else "anybody on this machine may do anything here"
        keys = "with keys" if server.options.auth else "without keys"
        return [store, Diagnosis("access", "warn" if hint else "ok", keys, hint)]

    def observed(self) -> Observed:
        """What figures of the project are made of: runs that were sent, and checks in its journals."""
        return observe(self._caller.segue.workspace, self._checks_seen)


class KeyDoor:
    """Lets in whoever the pipeline of requests has let in."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._checks_seen: defaultdict[str, ChecksSeen] = defaultdict(dict)

    async def visitor(self, request: Request) -> Visitor:
        """Whoever has the key."""
        access: Access = request.scope[ACCESS]
        secret = key_in(request.scope)[0] or _WITHOUT_KEYS
        return KeyVisitor(Caller(self._server, access), secret, self._checks_seen[access.project])

    def endpoints(self) -> dict[str, ASGIApp]:
        """Every page of a server by its path."""
        return {**endpoints(self), SIGN_IN: self.sign_in, SIGN_OUT: self.sign_out, LIVE: self.live}

    async def sign_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a key from a form, if it is one."""
        request = Request(scope, receive)
        wanted = ""
        try:
            wanted = _wanted(query_fields(request).get("next", ""))
            if scope["method"] == "POST":
                response = await self._signed_in(request)
            elif scope["method"] in ("GET", "HEAD"):
                response = _sign_in_page("", wanted)
            else:
                response = not_supported(("GET", "POST"))
        except (SegueError, ClientDisconnect) as fault:
            told = page_fault(fault)
            response = _sign_in_page(told.message, wanted, told.http_status)
        await response(scope, receive, send)

    async def _signed_in(self, request: Request) -> Response:
        fields = await form_fields(request)
        if is_from_elsewhere(request):
            raise NotAllowed("this form did not come from a Segue page", hint="load the page again")
        key, project = fields.get("key", "").strip(), fields.get("project", "").strip()
        try:
            await to_thread.run_sync(self._server.authenticate, key, project)
        except SegueError:
            self._server.metrics.count("keys_refused")
            raise
        response = redirect(_wanted(fields.get("next", "")) or PREFIX)
        # Before a proxy that ends TLS, the browser's own word says that it came by https.
        is_secure = "https" in (request.url.scheme, request.headers.get("origin", "").partition(":")[0])
        for name, value in zip(_cookies(request.scope), (key, project), strict=True):
            response.set_cookie(
                name, value, path=PREFIX, httponly=True, samesite="strict", secure=is_secure,
                max_age=30 * 86_400,
            )  # fmt: skip
        return response

    async def sign_out(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forget the key in the browser."""
        request = Request(scope, receive)
        if scope["method"] != "POST" or is_from_elsewhere(request):
            fault = NotAllowed("this form did not come from a Segue page", hint="load the page again")
            await problem_page(fault)(scope, receive, send)
            return
        response = redirect(SIGN_IN)
        for name in _cookies(scope):
            response.delete_cookie(name, path=PREFIX)
        await response(scope, receive, send)

    async def live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Say when a session, or any of the project, changed."""
        if scope["method"] != "GET":
            await not_supported(("GET",))(scope, receive, send)
            return
        access: Access = scope[ACCESS]
        request, follower = Request(scope), self._server.follower
        of, visitor = request.query_params.get("of", ""), await self.visitor(request)
        await to_thread.run_sync(visitor.stamp, of)  # raises while it can still be said

        def look() -> str | None:
            return None if follower.closing or not self._is_known(access) else visitor.stamp(of)

        async def stamp() -> str | None:
            return await to_thread.run_sync(look)

        async def wait(seconds: float) -> None:
            await follower.wait(follower.signal(access.project), seconds)

        stream = changes(stamp, request.query_params.get("seen", ""), wait, LOOK_SECONDS)
        await stream(scope, receive, send)

    def _is_known(self, access: Access) -> bool:
        if not self._server.options.auth:
            return True
        record = self._server.projects.server_tables.key(access.key)
        return record is not None and record.state(now()) == "live"


def _wanted(path: str) -> str:
    """A page to go to after the sign-in; nothing for an address elsewhere."""
    return path if is_page(path.partition("?")[0]) and path.isascii() and path.isprintable() else ""


def _sign_in_page(problem: str, wanted: str = "", status: int = 200) -> Response:
    context = {
        "visitor": None, "token": "", "title": "Sign in", "said": "", "path": "", "problem": problem,
        "wanted": wanted,
    }  # fmt: skip
    return html("sign_in.html", context, status)
