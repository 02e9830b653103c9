"""How a route is declared: its method and path, the role that it needs, and what it may answer.

A route is a plain function that works on a ``Visit``; it runs in a thread, and what it raises of our errors
becomes problem details. Its role is checked here and nowhere else: one without a role cannot be declared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cached_property, partial
from inspect import Parameter as Signed
from inspect import iscoroutinefunction, signature
from typing import Any, TypeVar, get_type_hints

import msgspec
from litestar import MediaType, Request, Response, delete, get, patch, post, put
from litestar.exceptions import HTTPException
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler

from ...core.access import ROLES, Access
from ...core.door import clean_name, clean_text
from ...errors import SegueError, UsageError
from ...services.book import Saved
from ...services.segue import Segue
from ...services.session_index import SessionIndex
from ..render import compact
from . import problems
from .front import Front

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
ACTOR, RUN, PROJECT, REPOSITORY = "segue-actor", "segue-run", "segue-project", "segue-repository"
OPEN = ("/", "/health", "/ready", "/openapi.json")
"""Paths that ask for no key."""
OURS = ("visit", "request", "data")
"""Arguments that are no parameters."""
WORKERS = 40
"""So many requests are worked on at once; the others wait their turn."""
_METHODS = {"GET": get, "POST": post, "PUT": put, "PATCH": patch, "DELETE": delete}
_USUAL = (400, 401, 403, 413, 421, 429, 500, 503)
_WRITING = (409, 422)


class Visit:
    """A request: who asks, and the sessions of the project that is asked about."""

    def __init__(
        self, front: Front, access: Access, actor: str = "", run: str = "", repository: str = ""
    ) -> None:
        self.front = front
        self.access = access
        self._actor = actor
        self._run = run
        self._repository = repository

    @cached_property
    def segue(self) -> Segue:
        """The sessions, as the one who asks: an agent's key as that agent."""
        return self.as_actor(self._actor)

    @property
    def index(self) -> SessionIndex:
        """Which session has a feature, and whose a session is."""
        return self.front.projects.index(self.access.project)

    def as_actor(self, actor: str) -> Segue:
        """The sessions as an agent that the request names."""
        return self.front.projects.segue(self.access, actor=actor, run=self._run, repository=self._repository)


def visit_of(request: Request[Any, Any, Any]) -> Visit:
    """The visit of a request that the gate has let in."""
    headers = request.headers
    access: Access = request.scope["segue_access"]  # type: ignore[typeddict-item]
    actor = clean_text(headers.get(ACTOR, ""), what="actor", limit=256)
    run = headers.get(RUN, "")
    repository = clean_text(headers.get(REPOSITORY, ""), what="repository", limit=512)
    named = clean_name(run, what="run id") if run else ""
    return Visit(request.app.state.front, access, actor, named, repository)


def route(
    method: str, path: str, *, need: str, status: int = 200, tags: Sequence[str] = (),
    errors: Sequence[int] = (404,), media_type: str = MediaType.JSON, body: Any = None, answer: Any = None,
    also: Sequence[str] = (), invalid: int = 400, encode: Callable[[Any], bytes] = compact, **more: Any,
) -> Callable[[F], HTTPRouteHandler]:  # fmt: skip
    """Declare a route; ``need`` is the lowest role that may use it, or empty for an open one. ``body`` and
    ``answer`` are examples; ``also`` are other types of content; ``errors`` what can go wrong beyond the
    usual; ``invalid`` is the status of what is not what the route takes. What the function gives is answered
    as `--json` prints it, every field named."""
    assert need in ROLES or (not need and path in OPEN), f"{path} needs a role"
    foreseen = {
        *(_USUAL if need else ()),
        *(_WRITING if need and method != "GET" else ()),
        *errors,
        *((invalid,) if need else ()),
    }
    threaded = more.pop("sync_to_thread", True)
    opt = {"need": need, "body": body, "answer": answer, "also": also, "errors": sorted(foreseen)}
    opt["invalid"] = invalid
    made = _METHODS[method](path, status_code=status, opt=opt, tags=list(tags), media_type=media_type, **more)

    def declared(function: F) -> HTTPRouteHandler:
        handler: HTTPRouteHandler = made(_answering(function, need, status, media_type, threaded, encode))
        handler.opt["saves"] = get_type_hints(function).get("return") is Saved
        return handler

    return declared


def _answering(
    function: F, need: str, status: int, media_type: str, threaded: bool, encode: Callable[[Any], bytes]
) -> Callable[..., Any]:
    """The function as the framework calls it: with a request, of which it takes what it names, if the role
    of the key is enough."""
    takes = Taking(function)

    def ready(given: dict[str, Any]) -> Any:
        """What is answered, as bytes: made where the work is done, not where all others wait."""
        found = function(**given)
        if isinstance(found, Response) or media_type != MediaType.JSON or status == 204:
            return found
        return Response(encode(found), status_code=status, media_type=media_type)

    async def answered(request: Request[Any, Any, Any]) -> Response[Any] | None:
        if need:
            access: Access = request.scope["segue_access"]  # type: ignore[typeddict-item]
            request.scope["segue_need"] = need  # type: ignore[typeddict-unknown-key]
            access.demand(need)
        body = await request.body() if takes.body is not None else b""
        given = takes.from_request(request, body)
        if takes.waits:
            found = await function(**given)
        else:
            found = await in_thread(partial(ready, given)) if threaded else ready(given)
        if isinstance(found, Response):
            return found
        if status == 204:
            return None
        content = encode(found) if media_type == MediaType.JSON else found
        return Response(content, status_code=status, media_type=media_type)

    answered.__name__, answered.__doc__ = function.__name__, function.__doc__
    answered.__annotations__["return"] = "None" if status == 204 else "Response[Any]"
    answered.__wrapped__ = function  # type: ignore[attr-defined]
    answered.__signature__ = signature(answered, follow_wrapped=False)  # type: ignore[attr-defined]
    return answered


async def in_thread(call: Callable[[], T]) -> T:
    """What a call gives, run in a thread with the context of the request."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_workers, copy_context().run, call)


_workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="segue-request")


class Taking:
    """What a function takes of a request: by its signature, each checked as its type says."""

    def __init__(self, function: Callable[..., Any]) -> None:
        hints = get_type_hints(function, include_extras=True)
        self.waits = iscoroutinefunction(function)
        self.body = hints.get("data")
        self.named = {
            name: (hints[name], one.default)
            for name, one in signature(function).parameters.items()
            if name not in OURS
        }
        self.ours = [name for name in signature(function).parameters if name in ("visit", "request")]

    def from_request(self, request: Request[Any, Any, Any], body: bytes) -> dict[str, Any]:
        """The arguments of a call; UsageError if the request does not fit."""
        given = {**dict(request.query_params), **request.path_params}
        unknown = next((name for name in given if name not in self.named), None)
        if unknown is not None:
            raise UsageError(f"there is no parameter {unknown[:60]!r}", hint="see /openapi.json")
        found: dict[str, Any] = {}
        for name, (hint, default) in self.named.items():
            if name in given:
                found[name] = _fitting(given[name], hint, f"parameter {name}")
            elif default is Signed.empty:
                raise UsageError(f"the parameter {name} is missing", hint="see /openapi.json")
        if self.body is not None:
            found["data"] = _decoded(body, self.body)
        if "visit" in self.ours:
            found["visit"] = visit_of(request)
        if "request" in self.ours:
            found["request"] = request
        return found


def _fitting(value: str, hint: Any, what: str) -> Any:
    try:
        return msgspec.convert(value, hint, strict=False)
    except msgspec.ValidationError as fault:
        raise UsageError(f"{what}: {fault}", hint="see /openapi.json") from None


def _decoded(body: bytes, hint: Any) -> Any:
    try:
        return msgspec.json.decode(body or b"{}", type=hint)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        raise UsageError(f"the body does not fit: {str(fault)[:500]}", hint="see /openapi.json") from None


# -- what went wrong -------------------------------------------------------------------------------


def answer_error(request: Request[Any, Any, Any], fault: SegueError) -> Response[bytes]:
    """One of ours."""
    status, body, headers = problems.of_error(fault)
    if status == 400:
        status = body["status"] = _invalid(request)
    return _problem(status, body, headers)


def _invalid(request: Request[Any, Any, Any]) -> int:
    """What the route that was asked answers to what it does not take."""
    handler: BaseRouteHandler | None = request.scope.get("route_handler")
    return int(handler.opt.get("invalid", 400)) if handler is not None else 400


def answer_http(request: Request[Any, Any, Any], fault: HTTPException) -> Response[bytes]:
    """One of the framework's: a path, a method or a body that does not fit."""
    detail = fault.detail or "the request does not fit"
    extra = fault.extra
    if isinstance(extra, list) and extra:
        told = [
            f"{one.get('key', '')}: {one.get('message', '')}".strip(": ")
            for one in extra
            if isinstance(one, dict)
        ]
        detail = "; ".join(told[:5]) or detail
    headers = {n.lower(): v for n, v in (fault.headers or {}).items() if n.lower() == "allow"}
    status = _invalid(request) if fault.status_code == 400 else fault.status_code
    return _problem(status, problems.body_of(status, str(detail)[:2000]), headers)


def answer_unforeseen(request: Request[Any, Any, Any], fault: Exception) -> Response[bytes]:
    """A fault of ours: logged by its kind and place. Its text may hold what was asked, and stands nowhere."""
    import traceback

    places = traceback.extract_tb(fault.__traceback__)[-6:]
    where = [f"{one.filename.rpartition('segue/')[2]}:{one.lineno}" for one in places]
    request.app.state.front.log(event="fault", kind=type(fault).__name__, where=where)
    return _problem(500, problems.body_of(500, "a fault of the server, which it has logged"), {})


def _problem(status: int, body: dict[str, Any], headers: dict[str, str]) -> Response[bytes]:
    content = msgspec.json.encode(body, enc_hook=str)
    return Response(content, status_code=status, media_type=problems.TYPE, headers=headers)
