"""The gate: what every request passes before a route sees it, and every answer behind it.

In this order: the host's name, the web page that asks, the key, the rate, the size, whether the same was
asked before. A wrong key is 401 whatever else is wrong. A request with an ``Idempotency-Key`` takes effect
once: the first answer is kept, durably, before it is sent, and given again to whoever repeats the request.
Answers get an ETag and are compressed here; streams pass as they are.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
from anyio import to_thread

from ....core.base.values import parse_digits as length_of
from ....core.server.access import Access, KeptResponse, without_secrets
from ....effects.clock import now
from ....errors import KeyReused, Misdirected, NotAllowed, SegueError, UsageError
from ....services.server import idempotency as once
from . import problems
from .commit_queue import in_thread
from .context import ServerContext
from .response import Messages, TooLarge, gzipped, header, headers_of, whole
from .route import ACTOR, OPEN, PROJECT, RUN
from .routing import Receive, Route, Scope, Send

ASGIApp = Callable[[Any, Any, Any], Awaitable[None]]
WRITES = ("POST", "PUT", "PATCH", "DELETE")
REPEAT = "idempotency-key"
NEVER_KEPT = "/v1/keys"
"""What these answer holds a secret: a key asked for twice is two keys."""
REPLAYED = (b"idempotency-replayed", b"true")
_KEY_CHARS_MAX = 255
_TWIN_SECONDS = 2.0
_AUDIT_SECONDS = 1.0
_ANSWER_BYTES_MAX = 1_000_000


class RequestPipeline:
    """An ASGI application in front of another."""

    def __init__(self, app: ASGIApp, front: ServerContext, mounts: dict[str, ASGIApp] | None = None) -> None:
        self.app = app
        self.front = front
        self.mounts = dict(mounts or {})
        """Applications by the path that they have, which know nothing of keys."""
        self.lookups = Lookups(front)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # the server below sends no body then
            scope = {**scope, "method": "GET", "segue_head": True}
        visit = _Passage(self, scope, receive, send)
        self.front.metrics.begun()
        begun, path = time.perf_counter(), without_secrets(scope["path"])[:200]
        try:
            await visit.go()
        finally:
            seconds = time.perf_counter() - begun
            self.front.metrics.ended(scope["method"], visit.route, visit.out.status, seconds)
            access = visit.access
            self.front.log(
                event="request", id=visit.id, method=scope["method"], path=path,
                status=visit.out.status, ms=round(seconds * 1000, 2),
                key=access.key if access else "", project=access.project if access else "",
            )  # fmt: skip
            writes = scope["method"] in WRITES and scope.get("segue_need") != "reader"
            if access and writes and visit.out.status < 300:
                self.front.watch.poke(access.project)
            if access and (writes or visit.out.status == 403):
                self.front.later(access, f"{scope['method']} {path}", visit.out.status)


class Lookups:
    """Looks for keys in a store that is a server: one for all requests that wait for it with the same key.

    Whoever comes while a look is under way waits for the next one, so that each request is let in by a look
    that began after it came: a key that was revoked by then is unknown to it."""

    def __init__(self, front: ServerContext) -> None:
        self._front = front
        self._waiting: dict[tuple[str, str], list[asyncio.Future[Access]]] = {}

    async def known(self, token: str, project: str) -> Access:
        """Who asks; NotKnown or NotAllowed."""
        key = (token, project)
        waiting = self._waiting.get(key)
        if waiting is not None:
            mine: asyncio.Future[Access] = asyncio.get_running_loop().create_future()
            waiting.append(mine)
            return await mine
        self._waiting[key] = []
        try:
            return await in_thread(partial(self._front.known, token, project))
        finally:
            self._next(key)

    def _next(self, key: tuple[str, str]) -> None:
        """Look once more for those who came meanwhile, if any did."""
        waiting = [one for one in self._waiting.pop(key) if not one.done()]
        if waiting:
            self._waiting[key] = []
            task = asyncio.ensure_future(in_thread(partial(self._front.known, *key)))
            task.add_done_callback(partial(self._tell, key, waiting))

    def _tell(
        self, key: tuple[str, str], waiting: list[asyncio.Future[Access]], task: asyncio.Future[Access]
    ) -> None:
        fault = asyncio.CancelledError() if task.cancelled() else task.exception()
        for one in waiting:
            if one.done():
                continue
            if fault is None:
                one.set_result(task.result())
            else:
                one.set_exception(fault)
        self._next(key)


class _Passage:
    """One request on its way."""

    def __init__(self, gate: RequestPipeline, scope: Scope, receive: Receive, send: Send) -> None:
        self._gate = gate
        self._front = gate.front
        self._scope = scope
        self._receive = receive
        self._headers = scope["segue_headers"] = headers_of(scope)
        given = self._headers.get("x-request-id", "")
        self.id = (
            given
            if given.isascii() and given.isprintable() and 0 < len(given) <= 64
            else secrets.token_hex(8)
        )
        self.access: Access | None = None
        plain = scope["method"] == "GET" and scope["path"].startswith("/v1/")
        self.out = Messages(
            send, request_id=self.id, etag=plain, matches=self._headers.get("if-none-match", ""),
            gzip="gzip" in self._headers.get("accept-encoding", ""),
        )  # fmt: skip

    @property
    def route(self) -> str:
        """The path as it was declared, for counts."""
        found: Route | None = self._scope.get("segue_route")
        return found.path if found is not None else self._mount or "other"

    @property
    def _mount(self) -> str:
        path: str = self._scope["path"]
        return next((one for one in self._gate.mounts if path == one or path.startswith(one + "/")), "")

    async def go(self) -> None:
        try:
            self._check_host()
            self._check_page()
            if self._scope["path"] not in OPEN:
                self.access = await self._admit()
                self._scope["segue_access"] = self.access
            await self._take_body()
            if self._kept() and REPEAT in self._headers:
                await self._once(self._headers[REPEAT])
            else:
                await self._serve()
        except TooLarge as fault:
            hint = "send less at once; `segue serve --max-body` takes more"
            await self.out.problem(413, problems.body_of(413, str(fault), hint=hint))
        except SegueError as fault:
            await self.out.problem(*problems.of_error(fault))
        except OSError as fault:
            told = problems.of_machine(fault)
            if told is None:
                raise
            await self.out.problem(*told)
        await self.out.finish()

    def _kept(self) -> bool:
        """Whether the answer is kept for whoever asks again: of what may write, and holds no secret."""
        named = "/" + "/".join(filter(None, self._scope["path"].split("/")))  # as the routes are found
        writes = self.access is not None and self.access.role != "reader" and self._scope["method"] in WRITES
        return writes and not named.startswith(NEVER_KEPT)

    def _check_host(self) -> None:
        hosts = self._front.rules.hosts
        name = self._headers.get("host", "")
        bare = name.rpartition(":")[0] if name.rpartition(":")[2].isdecimal() else name
        if hosts and bare.strip("[]").lower() not in hosts:
            raise Misdirected(f"this server is not {bare[:100]!r}", hint=f"ask it as {hosts[0]}")

    def _check_page(self) -> None:
        """Without keys no web page may ask: a browser says which one does, and sends its writes unasked."""
        page = self._headers.get("origin", "")
        if self._front.rules.auth or not page:
            return
        if page.partition("://")[2].lower() != self._headers.get("host", "").lower():
            raise NotAllowed(
                "a server without keys answers no web page", hint="serve with keys, and give the page one"
            )

    async def _admit(self) -> Access:
        scheme, _, token = self._headers.get("authorization", "").partition(" ")
        token = token.strip() if scheme.lower() == "bearer" else ""
        project = self._headers.get(PROJECT, "")
        try:
            if self._front.embedded:  # a look into a file of ours; a thread would cost more
                access = self._front.known(token, project)
            else:
                access = await self._gate.lookups.known(token, project)
        except SegueError:
            self._front.metrics.count("keys_refused")
            raise
        self._front.limit(access.key)
        return access

    async def _take_body(self) -> None:
        """Refuse what is too large before it is read; unpack what is packed."""
        most = self._front.rules.body_bytes_max
        if not 0 <= length_of(self._headers.get("content-length", "0")) <= most:
            raise TooLarge(f"more than {most:,} bytes")
        packing = self._headers.get("content-encoding", "identity").lower()
        if packing == "gzip":
            body = gzipped(await whole(self._receive, most), most)
            self._receive = _again(body)
            kept = [
                (n, v) for n, v in self._scope["headers"] if n not in (b"content-encoding", b"content-length")
            ]
            self._scope["headers"] = [*kept, header("content-length", str(len(body)))]
        elif packing != "identity":
            raise UsageError(f"unknown content encoding {packing[:40]!r}", hint="gzip, or none")

    async def _serve(self) -> None:
        mount = self._mount
        app = self._gate.mounts[mount] if mount else self._gate.app
        await app(self._scope, self._receive, self.out.send)

    # -- the same request again ----------------------------------------------------------------

    async def _once(self, token: str) -> None:
        if not 0 < len(token) <= _KEY_CHARS_MAX or not token.isprintable():
            raise UsageError(
                "an idempotency key has 1 to 255 printable characters", hint="a random one is best"
            )
        body = await whole(self._receive, self._front.rules.body_bytes_max)
        self._receive = _again(body)
        assert self.access is not None
        asked = (
            self.access.key, self.access.project, self._scope["method"], self._scope["path"],
            self._scope.get("query_string", b"").decode("latin-1"), token,
        )  # fmt: skip
        id = hashlib.sha256("\0".join(asked).encode()).hexdigest()
        whose = "\0".join(self._headers.get(name, "") for name in (ACTOR, RUN))
        request = hashlib.sha256(whose.encode() + b"\0" + body).hexdigest()
        if await self._replayed(id, request):
            return
        mark = once.RequestMark(id)
        reset = once.serving.set(mark)
        self.out.hold = True
        try:
            await self._serve()
        finally:
            once.serving.reset(reset)
        if mark.found:
            await self._after_twin(id, request, mark.stream)
        elif 200 <= self.out.status < 300 and len(self.out.body) <= _ANSWER_BYTES_MAX:
            answer = KeptResponse(id, request, self.out.status, self.out.type, self.out.body, now())
            await to_thread.run_sync(self._front.projects.desk.answer, answer)
        self.out.hold = False

    async def _replayed(self, id: str, request: str) -> bool:
        answer = await to_thread.run_sync(self._front.projects.desk.answered, id)
        if answer is None:
            return False
        if answer.request != request:
            raise KeyReused("this idempotency key was used for another request", hint="take a new one")
        self._front.metrics.count("requests_repeated")
        self.out.replace(answer.status, answer.type, answer.body, [REPLAYED])
        return True

    async def _after_twin(self, id: str, request: str, stream: str) -> None:
        """It took effect before: give that answer, or what it left if the server died before it answered."""
        deadline = time.monotonic() + _TWIN_SECONDS
        while time.monotonic() < deadline:
            if await self._replayed(id, request):
                return
            await asyncio.sleep(0.05)
        route: Route | None = self._scope.get("segue_route")
        if 200 <= self.out.status < 300 or route is None or not route.about.saves:
            return  # the route told what it left, or says that it was carried out already
        assert self.access is not None
        store = self._front.projects.store(self.access.project)
        left = await to_thread.run_sync(once.done_before, store, stream)
        name, version = left[0] if left else ("", 0)
        told = {"session": name.partition("/")[2], "version": version, "events": 0, "warnings": []}
        self.out.replace(200, "application/json", msgspec.json.encode(told), [REPLAYED])


def _again(body: bytes) -> Receive:
    """A body that was read, for whoever reads it next."""
    sent = False

    async def receive() -> Any:
        nonlocal sent
        if sent:
            await asyncio.Event().wait()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def upkeep(front: ServerContext) -> None:
    """While the server runs: write the audit, forget old answers and marks."""
    last = float("-inf")
    while True:
        await asyncio.sleep(_AUDIT_SECONDS)
        with suppress(SegueError, OSError):
            await to_thread.run_sync(front.flush)
        if time.monotonic() - last > 600:
            last = time.monotonic()
            with suppress(SegueError, OSError):
                await to_thread.run_sync(front.tidy)
