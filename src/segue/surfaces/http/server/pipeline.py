"""The request pipeline: what every request passes before it comes to a route, and every response after it.

It checks, in this order: the host name, the origin (a web page), the key, the rate, the size, and whether the
same request came before. A wrong key gives 401 whatever else is wrong. A request with an ``Idempotency-Key``
takes effect once: the first response is stored before it is sent, and sent again if the request is repeated.
Exceptions become problem details. Responses get an ETag and are compressed; streams pass unchanged. Every
request is counted and logged, and every write is recorded in the audit.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time

import msgspec
from anyio import to_thread
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ....core.base.lazy import regex
from ....core.base.values import parse_digits
from ....core.server.access import Access, KeptResponse, without_secrets
from ....effects.clock import now
from ....errors import (
    KeyReused,
    Misdirected,
    NotAllowed,
    RateLimited,
    SegueError,
    UnexpectedError,
    UsageError,
    of_os,
    unwrapped,
)
from ....services.server import idempotency
from ..web.keyed import is_open, is_page, key_in, refusal
from . import problems
from .body import TooLarge, limited, replayed, unpacked
from .commit_queue import in_thread
from .context import ServerContext
from .key_lookups import KeyLookups
from .metrics import METHODS
from .response import BufferedResponse
from .route import (
    ACCESS,
    ACTOR,
    JSON,
    OPEN_PATHS,
    OPERATION,
    PATH,
    PROJECT,
    REPOSITORY,
    REQUEST_ID,
    ROLE,
    RUN,
    Operation,
)

WRITES = ("POST", "PUT", "PATCH", "DELETE")
IDEMPOTENCY_KEY = "idempotency-key"
NEVER_KEPT = "/v1/keys"
"""Responses of these routes contain a secret, so they are not stored: requesting a key twice makes two
keys."""
UNCOUNTED = ("/metrics", "/v1/quotas")
"""Where an operator looks when a project has used up its requests."""
ONCE = ("host", "authorization", PROJECT, ACTOR, RUN, REPOSITORY, "segue-session", IDEMPOTENCY_KEY)
"""Headers that come once: of two, a proxy could take the one and this server the other."""
REPLAYED = {"idempotency-replayed": "true"}
_KEY_CHARS_MAX = 255
_TWIN_SECONDS = 2.0
_KEPT_BYTES_MAX = 1_000_000
_LOGGED_CHARS_MAX = 200
_HOST = regex(r"([A-Za-z0-9._~%!$&'()*+,;=-]+|\[[0-9A-Fa-f:.%]+\])(?::[0-9]{0,5})?")


class RequestPipeline:
    """ASGI middleware around the routes."""

    def __init__(self, app: ASGIApp, server: ServerContext) -> None:
        self.app = app
        self.server = server
        self.lookups = KeyLookups(server)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["path"] = "/" + "/".join(filter(None, scope["path"].split("/")))  # empty parts do not count
        exchange = _Exchange(self, scope, receive, send)
        self.server.metrics.begun()
        begun = time.perf_counter()
        try:
            await (exchange.run() if self.server.tracing is None else self._traced(exchange, scope))
        finally:
            self._record(exchange, scope, time.perf_counter() - begun)

    async def _traced(self, exchange: _Exchange, scope: Scope) -> None:
        """Run a request within a span."""
        assert self.server.tracing is not None
        method = scope["method"] if scope["method"] in METHODS else "other"
        with self.server.tracing.request(method, exchange.headers) as span:
            exchange.trace_id = span.trace_id
            try:
                await exchange.run()
            finally:
                access = exchange.access
                span.end(
                    method, scope.get(PATH, "other"), exchange.response.status, id=exchange.id,
                    key=access.key if access else "", project=access.project if access else "",
                )  # fmt: skip

    def _record(self, exchange: _Exchange, scope: Scope, seconds: float) -> None:
        """Count, log and audit a request that is over."""
        server, access, status = self.server, exchange.access, exchange.response.status
        path = without_secrets(scope["path"])[:_LOGGED_CHARS_MAX]
        server.metrics.ended(scope["method"], scope.get(PATH, "other"), status, seconds)
        server.log(
            event="request", id=exchange.id, method=scope["method"], path=path, status=status,
            ms=round(seconds * 1000, 2), key=access.key if access else "",
            project=access.project if access else "", **exchange.more_to_log,
        )  # fmt: skip
        writes = scope["method"] in WRITES and scope.get(ROLE) != "reader"
        if access and writes and status < 400:  # a page goes on to another one
            server.follower.wake(access.project)
        if access and (writes or status == 403):
            server.audit(access, f"{scope['method']} {path}", status)


class _Exchange:
    """One request on its way in, and its response on the way out."""

    def __init__(self, pipeline: RequestPipeline, scope: Scope, receive: Receive, send: Send) -> None:
        self._pipeline = pipeline
        self._server = pipeline.server
        self._scope = scope
        self._receive = limited(receive, pipeline.server.options.body_bytes_max)
        self.headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])
        }  # of duplicate headers the first one counts
        self.id = _request_id(self.headers.get("x-request-id", ""))
        scope[REQUEST_ID] = self.id
        self.trace_id = ""
        self._code = ""
        self.access: Access | None = None
        self._is_page = is_page(scope["path"])
        tagged = scope["method"] in ("GET", "HEAD") and scope["path"].startswith("/v1/")
        self.response = BufferedResponse(
            send, self.headers, request_id=self.id, tagged=tagged,
            clock_ahead_seconds=pipeline.server.projects.main.clock_ahead_seconds,
            last=pipeline.server.readiness.draining,
        )  # fmt: skip

    @property
    def more_to_log(self) -> dict[str, str]:
        """The code of the error that was answered, and the trace, where there is one."""
        found = {"code": self._code if self.response.status >= 400 else "", "trace": self.trace_id}
        return {name: value for name, value in found.items() if value}

    async def run(self) -> None:
        try:
            self._check_host()
            self._check_origin()
            if self._scope["path"] not in OPEN_PATHS and not is_open(self._scope["path"]):
                self.access = self._scope[ACCESS] = await self._authenticate()
            await self._unpack_body()
            if self._is_repeatable() and IDEMPOTENCY_KEY in self.headers:
                await self._serve_once(self.headers[IDEMPOTENCY_KEY])
            else:
                await self._serve()
        except Exception as fault:
            self.response.replace(self._problem(fault))
        await self.response.finish()

    async def _serve(self) -> None:
        try:
            await self._pipeline.app(self._scope, self._receive, self.response.send)
        except Exception as fault:
            self.response.replace(self._problem(fault))

    def _problem(self, fault: Exception) -> Response:
        """The response to an exception. Of one that is not a SegueError, only kind and place are logged."""
        if isinstance(fault, ClientDisconnect):
            fault = UsageError("the request ended before its body did", hint="send the whole body")
        fault = unwrapped(fault)
        if not isinstance(fault, SegueError):
            self._server.log_fault(fault, id=self.id)
            if isinstance(fault, OSError) and fault.errno is not None:
                fault = of_os(
                    OSError(fault.errno, fault.strerror)
                )  # for example a full disk, without its paths
        self._code = fault.code if isinstance(fault, SegueError) else UnexpectedError.code
        if isinstance(fault, SegueError):
            if self._is_page:
                return refusal(fault, self._scope)
            operation: Operation | None = self._scope.get(OPERATION)
            invalid = operation.invalid if operation else 400
            return problems.of_error(fault, invalid=invalid, request=self.id)
        said = "an error in the server, which it has logged"
        if self._is_page:
            return refusal(UnexpectedError(said), self._scope)
        return problems.response(problems.problem(500, said), request=self.id)

    def _check_host(self) -> None:
        """Refuse a request that a proxy before this server could read differently, and one for another
        host."""
        names = [name for name, _ in self._scope["headers"]]
        for header in ONCE:
            if names.count(header.encode()) > 1:
                raise UsageError(f"the header {header.title()} was sent more than once", hint="send it once")
        host = self.headers.get("host", "")
        if "host" not in self.headers and self._scope["http_version"] != "1.0":
            raise UsageError("the header Host is missing", hint="send it")
        parts = _HOST.fullmatch(host)
        if host and not parts:
            raise UsageError(
                "the header Host is not a host name", hint="send a host name or address, and a port"
            )
        bare, hosts = (parts[1] if parts else "").strip("[]").lower(), self._server.options.hosts
        if hosts and bare not in hosts:
            hint = f"use the host name {hosts[0]}, or start the server with `segue serve --allow-host NAME`"
            raise Misdirected(f"this server does not answer to {bare[:100]!r}", hint=hint)

    def _check_origin(self) -> None:
        """Refuse web pages on a server without keys: a browser would send their requests without asking
        anybody."""
        page = self.headers.get("origin", "")
        if self._server.options.auth or not page:
            return
        if page.partition("://")[2].lower() != self.headers.get("host", "").lower():
            raise NotAllowed(
                "a server without keys does not answer requests from web pages",
                hint="start it with keys, and give one to the page",
            )

    async def _authenticate(self) -> Access:
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        token = token.strip() if scheme.lower() == "bearer" else ""
        project = self.headers.get(PROJECT, "")
        if not token and self._is_page:
            token, project = key_in(self._scope)
        try:
            if self._server.embedded:  # a lookup in a local file; a thread would cost more
                access = self._server.authenticate(token, project)
            else:
                access = await self._pipeline.lookups.authenticate(token, project)
        except SegueError:
            self._server.metrics.count("keys_refused")
            raise
        self._server.count_request(access.key)
        await self._count_request(access.project)
        return access

    async def _count_request(self, project: str) -> None:
        """Count a request for the quota of its project. Raises RateLimited."""
        if self._scope["path"].startswith(UNCOUNTED):
            return
        ask = self._server.projects.quotas.count_request(project)
        if ask is not None:
            try:
                await in_thread(ask)
            except RateLimited:
                self._server.metrics.count("requests_limited")
                raise

    async def _unpack_body(self) -> None:
        """Refuse a body that is too large before it is read, and decompress a compressed one."""
        bytes_max = self._server.options.body_bytes_max
        if not 0 <= parse_digits(self.headers.get("content-length", "0")) <= bytes_max:
            raise TooLarge(f"more than {bytes_max:,} bytes")
        packing = self.headers.get("content-encoding", "identity").lower()
        if packing == "gzip":
            body = unpacked(await Request(self._scope, self._receive).body(), bytes_max)
            self._receive = replayed(body, self._receive)
            headers = MutableHeaders(raw=list(self._scope["headers"]))
            del headers["content-encoding"]
            headers["content-length"] = str(len(body))
            self._scope["headers"] = headers.raw
        elif packing != "identity":
            raise UsageError(f"unknown content encoding {packing[:40]!r}", hint="use gzip, or none")

    # -- the same request again ----------------------------------------------------------------

    def _is_repeatable(self) -> bool:
        """Whether the response is stored for repeated requests: if the route may write and the response
        contains no secret."""
        writes = self.access is not None and self.access.role != "reader" and self._scope["method"] in WRITES
        return writes and not self._scope["path"].startswith(NEVER_KEPT)

    async def _serve_once(self, key: str) -> None:
        if not 0 < len(key) <= _KEY_CHARS_MAX or not key.isprintable():
            raise UsageError("an idempotency key has 1 to 255 printable characters", hint="use a random one")
        body = await Request(self._scope, self._receive).body()
        self._receive = replayed(body, self._receive)
        id, request = self._fingerprints(key, body)
        if await self._replay(id, request):
            return
        mark = idempotency.RequestMark(id)
        reset = idempotency.current_mark.set(mark)
        self.response.hold = True
        try:
            await self._serve()
        finally:
            idempotency.current_mark.reset(reset)
        if mark.found:
            await self._replay_twin(id, request, mark.stream)
        elif 200 <= self.response.status < 300 and len(self.response.body) <= _KEPT_BYTES_MAX:
            kept = KeptResponse(
                id, request, self.response.status, self.response.headers.get("content-type", ""),
                self.response.body, now(),
            )  # fmt: skip
            await to_thread.run_sync(self._server.projects.server_tables.answer, kept)

    def _fingerprints(self, key: str, body: bytes) -> tuple[str, str]:
        """The id under which the response is stored, and a hash of the request and its sender."""
        assert self.access is not None
        scope = self._scope
        parts = (
            self.access.key, self.access.project, scope["method"], scope["path"],
            scope.get("query_string", b"").decode("latin-1"), key,
        )  # fmt: skip
        id = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        whose = "\0".join(self.headers.get(name, "") for name in (ACTOR, RUN))
        return id, hashlib.sha256(whose.encode() + b"\0" + body).hexdigest()

    async def _replay(self, id: str, request: str) -> bool:
        """Send the stored response, if there is one. Raises KeyReused if it belongs to another request."""
        kept = await to_thread.run_sync(self._server.projects.server_tables.answered, id)
        if kept is None:
            return False
        if kept.request != request:
            raise KeyReused("this idempotency key was used for another request", hint="use a new one")
        self._server.metrics.count("requests_repeated")
        self.response.replace(Response(kept.body, kept.status, REPLAYED, kept.type))
        return True

    async def _replay_twin(self, id: str, request: str, stream: str) -> None:
        """Answer a request that took effect before: with the stored response or, if the server died before
        storing it, with what the request left."""
        deadline = time.monotonic() + _TWIN_SECONDS
        while time.monotonic() < deadline:
            if await self._replay(id, request):
                return
            await asyncio.sleep(0.05)
        operation: Operation | None = self._scope.get(OPERATION)
        if 200 <= self.response.status < 300 or operation is None or not operation.saves:
            return  # the route returns what the request left, or says that it was carried out already
        assert self.access is not None
        store = self._server.projects.store(self.access.project)
        left = await to_thread.run_sync(idempotency.left_by, store, stream)
        name, version = left[0] if left else ("", 0)
        saved = {"session": name.partition("/")[2], "version": version, "events": 0, "warnings": []}
        self.response.replace(Response(msgspec.json.encode(saved), 200, REPLAYED, JSON))


def _request_id(given: str) -> str:
    """The id that the client sent, if it is valid in a log and a header; else a new one."""
    good = given.isascii() and given.isprintable() and 0 < len(given) <= 64
    return given if good else secrets.token_hex(8)
