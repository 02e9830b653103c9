"""Which route a request is for, and how its answer goes out: what stands between the gate and the routes.

A path is found part by part, and a part that a route spells out goes before one that it takes as a
parameter; empty parts do not count. Nothing else happens on the way: a request costs what its route does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from ....core.base.values import Value
from ....core.server.access import Access
from ....errors import SegueError
from . import problems
from .context import ServerContext
from .response import TooLarge, header, whole

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
JSON = "application/json"
TEXT = "text/plain"
_ANY = "{}"
"""A part of a path that is a parameter."""


class Answer:
    """What is answered: bytes, or parts of a stream as they come."""

    __slots__ = ("content", "headers", "status", "type")

    def __init__(
        self, content: bytes | AsyncGenerator[bytes, None], type: str = JSON, status: int = 200,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:  # fmt: skip
        self.content = content
        self.type = f"{type}; charset=utf-8" if type.startswith("text/") and ";" not in type else type
        self.status = status
        self.headers = headers

    async def go(self, receive: Receive, send: Send, *, alone: bool = False) -> None:
        """Send it; ``alone``: only its head is wanted, so that a stream need not begin."""
        named = [header("content-type", self.type)] if self.type else []
        headers = [*named, *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        if isinstance(self.content, bytes) or alone:
            body = self.content if isinstance(self.content, bytes) else b""
            await send({"type": "http.response.body", "body": body, "more_body": False})
        else:
            await _flow(self.content, receive, send)


async def _flow(parts: AsyncGenerator[bytes, None], receive: Receive, send: Send) -> None:
    """Send a stream to its end, or until nobody listens any more."""

    async def tell() -> None:
        async for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def leave() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    tasks = [asyncio.ensure_future(tell()), asyncio.ensure_future(leave())]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(RuntimeError):  # it has ended
            await parts.aclose()


class Request:
    """A request that the gate has let in."""

    __slots__ = ("_receive", "app", "front", "headers", "params", "scope")

    def __init__(self, scope: Scope, receive: Receive, app: Router, params: dict[str, str]) -> None:
        self.scope = scope
        self._receive = receive
        self.app = app
        self.front = app.front
        self.params = params
        """Of the path."""
        self.headers: dict[str, str] = scope["segue_headers"]

    @property
    def access(self) -> Access:
        """Who asks."""
        found: Access = self.scope["segue_access"]
        return found

    async def body(self) -> bytes:
        """All of it; TooLarge."""
        return await whole(self._receive, self.front.rules.body_bytes_max)

    def named(self) -> dict[str, str]:
        """Parameters: those of the path, then those of the query; of one that comes twice, the first."""
        query = self.scope["query_string"]
        if not query:
            return self.params
        pairs = parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True)
        return {**dict(reversed(pairs)), **self.params}


class About(Value):
    """What was declared of a route; see `frame.route`."""

    need: str
    status: int
    tags: tuple[str, ...]
    media_type: str
    errors: tuple[int, ...]
    body: Any
    answer: Any
    also: tuple[str, ...]
    invalid: int
    shown: bool
    saves: bool
    """Whether it answers what was saved."""


class Route:
    """A route as it was declared."""

    def __init__(
        self, method: str, path: str, function: Callable[..., Any],
        serve: Callable[[Request], Awaitable[Answer]], about: About,
    ) -> None:  # fmt: skip
        self.method = method
        self.path = path
        self.function = function
        self.serve = serve
        self.about = about
        self.params = [part[1:-1] for part in path.split("/") if part.startswith("{")]


class Router:
    """The routes as an ASGI application, to be asked by the gate."""

    def __init__(
        self, front: ServerContext, routes: Sequence[Route], running: AbstractAsyncContextManager[None]
    ) -> None:
        self.front = front
        self.routes = routes
        self._running = running
        self._tree: dict[str, Any] = {}
        for route in routes:
            node = self._tree
            for part in filter(None, route.path.split("/")):
                node = node.setdefault(_ANY if part.startswith("{") else part, {})
            node.setdefault("", {})[route.method] = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            answer = await self._answer(scope, receive)
            await answer.go(receive, send, alone=scope.get("segue_head", False))
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await send({"type": "websocket.close", "code": 4404})

    def found(self, path: str) -> tuple[dict[str, Route], list[str]]:
        """The routes of a path by their methods, and the values of its parameters; none if there is none."""
        node, values = self._tree, []
        for part in path.split("/"):
            if not part:
                continue
            inner = node.get(part)
            if inner is None or part == _ANY:
                inner = node.get(_ANY)
                if inner is None:
                    return {}, []
                values.append(part)
            node = inner
        return node.get("", {}), values

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        methods, values = self.found(scope["path"])
        route = methods.get(scope["method"])
        if route is None:
            return self._none(scope, methods)
        scope["segue_route"] = route
        request = Request(scope, receive, self, dict(zip(route.params, values, strict=True)))
        try:
            return await route.serve(request)
        except SegueError as fault:
            return _refused(fault, route)
        except TooLarge:
            raise
        except Exception as fault:
            return self._fault(fault)

    def _none(self, scope: Scope, methods: dict[str, Route]) -> Answer:
        """What is said where there is no route, or none of this method."""
        if not methods:
            return problem(404, problems.body_of(404, "Not Found"))
        more = {"OPTIONS", "HEAD"} if "GET" in methods else {"OPTIONS"}
        allow = [header("allow", ", ".join(sorted({*methods, *more})))]
        if scope["method"] == "OPTIONS":
            scope["segue_route"] = next(iter(methods.values()))
            return Answer(b"", "", 204, allow)
        return problem(405, problems.body_of(405, "Method Not Allowed"), allow)

    def _fault(self, fault: Exception) -> Answer:
        """A fault of ours or of the machine, logged by kind and place. Its text is not told: it may hold what
        was asked."""
        import traceback

        places = traceback.extract_tb(fault.__traceback__)[-6:]
        where = [f"{one.filename.rpartition('segue/')[2]}:{one.lineno}" for one in places]
        self.front.log(event="fault", kind=type(fault).__name__, where=where)
        found = problems.of_machine(fault) if isinstance(fault, OSError) else None
        if found is not None:
            return _told(*found)
        return problem(500, problems.body_of(500, "a fault of the server, which it has logged"))

    async def _live(self, receive: Receive, send: Send) -> None:
        """From the start of the server to its end."""
        await receive()
        async with self._running:
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def _refused(fault: SegueError, route: Route) -> Answer:
    """One of our errors, as the route answers it."""
    status, body, headers = problems.of_error(fault)
    if status == 400:
        status = body["status"] = route.about.invalid
    return _told(status, body, headers)


def _told(status: int, body: dict[str, Any], headers: dict[str, str]) -> Answer:
    return problem(status, body, [header(name, value) for name, value in headers.items()])


def problem(status: int, body: dict[str, Any], headers: Sequence[tuple[bytes, bytes]] = ()) -> Answer:
    """What went wrong."""
    return Answer(msgspec.json.encode(body, enc_hook=str), problems.TYPE, status, headers)
