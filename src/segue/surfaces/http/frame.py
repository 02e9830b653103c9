"""How a route is declared: its method and path, the role that it needs, and what it may answer.

A route is a plain function that works on a ``Visit``; it runs in a thread, and what it raises of our errors
becomes problem details. Its role is checked here and nowhere else: one without a role cannot be declared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import msgspec
from litestar import MediaType, Request, Response, delete, get, patch, post, put
from litestar.connection import ASGIConnection
from litestar.exceptions import HTTPException
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from litestar.openapi.datastructures import ResponseSpec

from ...core.access import ROLES, Access
from ...errors import SegueError
from ...services.segue import Segue
from . import problems
from .front import Front

F = TypeVar("F", bound=Callable[..., Any])
ACTOR, RUN, PROJECT = "segue-actor", "segue-run", "segue-project"
OPEN = ("/", "/health", "/ready", "/openapi.json")
"""Paths that ask for no key."""
_METHODS = {"GET": get, "POST": post, "PUT": put, "PATCH": patch, "DELETE": delete}
_USUAL = (400, 401, 403, 409, 413, 429, 500, 503)


class Visit:
    """A request: who asks, and the sessions of the project that is asked about."""

    def __init__(self, front: Front, access: Access, actor: str = "", run: str = "") -> None:
        self.front = front
        self.access = access
        self._actor = actor
        self._run = run

    @cached_property
    def segue(self) -> Segue:
        """The sessions, as the one who asks: an agent's key as that agent."""
        return self.as_actor(self._actor)

    def as_actor(self, actor: str) -> Segue:
        """The sessions as an agent that the request names."""
        return self.front.projects.segue(self.access, actor=actor, run=self._run)


def visit_of(request: Request[Any, Any, Any]) -> Visit:
    """The visit of a request that the gate has let in."""
    headers = request.headers
    return Visit(
        request.app.state.front, request.scope["segue_access"],  # type: ignore[typeddict-item]
        headers.get(ACTOR, ""), headers.get(RUN, ""),
    )  # fmt: skip


async def role_is_enough(connection: ASGIConnection[Any, Any, Any, Any], route: BaseRouteHandler) -> None:
    """The guard of every route: refuses a key whose role is too low."""
    need = route.opt.get("need", "admin")
    if need:
        access: Access = connection.scope["segue_access"]  # type: ignore[typeddict-item]
        access.demand(need)


def route(
    method: str, path: str, *, need: str, status: int = 200, tags: Sequence[str] = (),
    errors: Sequence[int] = (404,), media_type: str = MediaType.JSON, **more: Any,
) -> Callable[[F], HTTPRouteHandler]:  # fmt: skip
    """Declare a route; ``need`` is the lowest role that may use it, or empty for an open one."""
    assert need in ROLES or (not need and path in OPEN), f"{path} needs a role"
    responses = {
        code: ResponseSpec(
            problems.Problem,
            generate_examples=False,
            description=problems.about(code),
            media_type=problems.TYPE,
        )
        for code in sorted({*(_USUAL if need else ()), *errors})
    }
    return _METHODS[method](  # type: ignore[no-any-return]
        path, status_code=status, opt={"need": need}, tags=list(tags), responses=responses,
        media_type=media_type, sync_to_thread=more.pop("sync_to_thread", True), **more,
    )  # fmt: skip


# -- what went wrong -------------------------------------------------------------------------------


def answer_error(_: Request[Any, Any, Any], fault: SegueError) -> Response[bytes]:
    """One of ours."""
    status, body, headers = problems.of_error(fault)
    return _problem(status, body, headers)


def answer_http(_: Request[Any, Any, Any], fault: HTTPException) -> Response[bytes]:
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
    return _problem(fault.status_code, problems.body_of(fault.status_code, str(detail)[:2000]), headers)


def answer_unforeseen(request: Request[Any, Any, Any], fault: Exception) -> Response[bytes]:
    """A fault of ours: logged by its kind and place, and never told in full."""
    import traceback

    place = traceback.extract_tb(fault.__traceback__)[-1:]
    where = f"{place[0].filename.rpartition('segue/')[2]}:{place[0].lineno}" if place else ""
    request.app.state.front.log(
        event="fault", kind=type(fault).__name__, where=where, detail=str(fault)[:500]
    )
    return _problem(500, problems.body_of(500, "a fault of the server, which it has logged"), {})


def _problem(status: int, body: dict[str, Any], headers: dict[str, str]) -> Response[bytes]:
    content = msgspec.json.encode(body, enc_hook=str)
    return Response(content, status_code=status, media_type=problems.TYPE, headers=headers)
