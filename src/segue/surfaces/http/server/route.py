"""How a route is declared: its method and path, the role that it needs, and what it may answer.

A route is a plain function with a decorator. It works on a ``Caller``, runs in a thread, and raises our
errors, which become problem details. Its arguments are taken from the request by their names and checked as
their types say: ``body`` is the decoded body, any other is a parameter of the path or of the query. Its role
is checked here and nowhere else: a route without a role cannot be declared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from inspect import Parameter, iscoroutinefunction, signature
from typing import Any, get_type_hints

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ....api.segue import Segue
from ....api.session import Session
from ....core.server.access import ROLES, Access
from ....errors import UsageError
from ....services.server.session_index import SessionIndex
from ....services.sessions.repository import Saved
from ...render import compact
from .commit_queue import in_thread
from .context import ServerContext

JSON, TEXT = "application/json", "text/plain"
ACTOR, RUN, PROJECT, REPOSITORY = "segue-actor", "segue-run", "segue-project", "segue-repository"
OPEN_PATHS = ("/", "/health", "/ready", "/openapi.json")
"""Paths that need no key."""
ACCESS = "segue.access"
"""The scope's entry for what the key of a request gives access to."""
REQUEST_ID = "segue.request_id"
"""The scope's entry for the id of a request, as in its log line and its response."""
OPERATION, ROLE, PATH = "segue.operation", "segue.role", "segue.path"
"""The scope's entries once a route was found: the operation, the role that the call needs, and the declared
path."""
_USUAL_ERRORS = (400, 401, 403, 413, 414, 421, 429, 431, 500, 503)
_WRITE_ERRORS = (409, 422, 507)
_SEE_DESCRIPTION = "see /openapi.json"


class Caller:
    """Who sent a request, and the sessions of the project that it is about."""

    def __init__(
        self, server: ServerContext, access: Access, actor: str = "", run: str = "", repository: str = ""
    ) -> None:
        self.server = server
        self.access = access
        self._actor = actor
        self._run = run
        self._repository = repository

    @classmethod
    def of(cls, server: ServerContext, access: Access, headers: Mapping[str, str]) -> Caller:
        """The caller that the headers of a request name, whose key the pipeline has looked up."""
        return cls(server, access, *(headers.get(name, "") for name in (ACTOR, RUN, REPOSITORY)))

    @cached_property
    def segue(self) -> Segue:
        """The sessions, as the caller sees them: an agent's key as that agent."""
        return self.as_actor(self._actor)

    @property
    def index(self) -> SessionIndex:
        """Which session has a feature, and whose a session is."""
        return self.server.projects.index(self.access.project)

    def as_actor(self, actor: str) -> Segue:
        """The sessions as an agent that the request names sees them."""
        found = self.server.projects.workspace(
            self.access, actor=actor, run=self._run, repository=self._repository
        )
        return Segue.of(found)

    def session(self, id: str) -> Session:
        """The session that a path names; UnknownSession if it is not in this project."""
        return self.segue.attach(id)


class Arguments:
    """The arguments that a function takes from a request, by its signature."""

    def __init__(self, function: Callable[..., Any]) -> None:
        hints = get_type_hints(function, include_extras=True)
        named = signature(function).parameters
        self.body = hints.get("body")
        self.parameters = {
            name: (hints[name], one.default)
            for name, one in named.items()
            if name not in ("body", "caller", "request")
        }
        """Those of the path and of the query: the type of each, and its default."""
        self._caller, self._request = "caller" in named, "request" in named

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(self.body)

    async def read(self, request: Request) -> dict[str, Any]:
        """The arguments of a call. Raises UsageError if the request does not fit."""
        body = await request.body() if self.body is not None else b""
        found = self._parameters(request)
        if self.body is not None:
            found["body"] = self._decoded(body)
        if self._caller:
            found["caller"] = Caller.of(request.app.state.server, request.scope[ACCESS], request.headers)
        if self._request:
            found["request"] = request
        return found

    def _parameters(self, request: Request) -> dict[str, Any]:
        given = request.path_params
        if request.scope[
            "query_string"
        ]:  # of a duplicate parameter the first one counts; one in the path comes before all
            given = {**dict(reversed(request.query_params.multi_items())), **given}
        unknown = next((name for name in given if name not in self.parameters), None)
        if unknown is not None:
            raise UsageError(f"there is no parameter {unknown[:60]!r}", hint=_SEE_DESCRIPTION)
        found: dict[str, Any] = {}
        for name, (hint, default) in self.parameters.items():
            if name in given:
                found[name] = _converted(name, given[name], hint)
            elif default is Parameter.empty:
                raise UsageError(f"the parameter {name} is missing", hint=_SEE_DESCRIPTION)
        return found

    def _decoded(self, body: bytes) -> Any:
        try:
            return self._decoder.decode(body or b"{}")
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
            raise UsageError(f"the body is not valid: {str(fault)[:500]}", hint=_SEE_DESCRIPTION) from None


def _converted(name: str, value: str, hint: Any) -> Any:
    try:
        return msgspec.convert(value, hint, strict=False)
    except msgspec.ValidationError as fault:
        raise UsageError(f"parameter {name}: {fault}", hint=_SEE_DESCRIPTION) from None


@dataclass(eq=False)
class Operation:
    """One method on one path, declared as the decorator of the function that carries it out."""

    method: str
    path: str
    _: KW_ONLY
    role: str
    """The lowest role that may use it; empty for a path that needs no key."""
    status: int = 200
    tag: str = ""
    """The group that it is described in; by default the name of its module."""
    errors: Sequence[int] = (404,)
    """Statuses of errors beyond the usual ones."""
    media_type: str = JSON
    also: Sequence[str] = ()
    """Other content types that it may respond with."""
    body: Any = None
    """An example of a body, for the description."""
    response: Any = None
    """An example of a response."""
    invalid: int = 400
    """The status for a request that does not fit."""
    encode: Callable[[Any], bytes] = compact
    """Encodes what the function returns; by default as `--json` prints it, with every field named."""
    described: bool = True
    threaded: bool = True
    """Whether it runs in a thread; without one it must not wait for anything."""
    together: bool | Callable[[Any], bool] = False
    """Whether it mainly writes to sessions, so that it may share a commit with others: always, or for certain
    bodies."""
    function: Callable[..., Any] = field(init=False)
    arguments: Arguments = field(init=False)
    _waits: bool = field(init=False)

    def __post_init__(self) -> None:
        assert self.role in ROLES or (not self.role and self.path in OPEN_PATHS), f"{self.path} needs a role"

    def __call__(self, function: Callable[..., Any]) -> Operation:
        """Declare that this function carries it out."""
        self.function = function
        self.tag = self.tag or function.__module__.rpartition(".")[2]
        self.arguments = Arguments(function)
        self._waits = iscoroutinefunction(function)
        return self

    @property
    def refusals(self) -> list[int]:
        """The statuses of all its errors."""
        found = {*self.errors}
        if self.role:
            found |= {*_USUAL_ERRORS, self.invalid, *(_WRITE_ERRORS if self.method != "GET" else ())}
        return sorted(found)

    @property
    def returns(self) -> Any:
        """The type of its response."""
        return get_type_hints(self.function, include_extras=True).get("return")

    @property
    def saves(self) -> bool:
        """Whether its response is what was saved, and nothing else."""
        return self.returns is Saved

    async def respond(self, request: Request) -> Response:
        """Carry out a request whose key the pipeline has looked up. Raises NotAllowed if its role is too
        low."""
        access: Access | None = request.scope.get(ACCESS)
        if self.role:
            assert access is not None
            request.scope[ROLE] = self.role
            access.demand(self.role)
        arguments = await self.arguments.read(request)
        if self._waits:
            found: Response = await self.function(**arguments)
            return found
        work = partial(self._response, arguments)
        if access and (self.together is True or (self.together and self.together(arguments["body"]))):
            server: ServerContext = request.app.state.server
            return await server.write(access.project, work)
        return await in_thread(work) if self.threaded else work()

    def _response(self, arguments: dict[str, Any]) -> Response:
        """The response with its content as bytes, encoded in the worker thread and not in the event loop."""
        found = self.function(**arguments)
        if isinstance(found, Response):
            return found
        if self.status == 204:
            return Response(status_code=204)
        content = self.encode(found) if self.media_type == JSON else found.encode("utf-8", "replace")
        return Response(content, self.status, media_type=self.media_type)


route = Operation


class PathEndpoint:
    """The operations of one path, as an ASGI application; it answers OPTIONS and other methods itself."""

    def __init__(self, path: str, operations: Iterable[Operation]) -> None:
        self.path = path
        self._operations = {one.method: one for one in operations}
        methods = {*self._operations, "OPTIONS", *(("HEAD",) if "GET" in self._operations else ())}
        self._allow = {"allow": ", ".join(sorted(methods))}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[PATH], head = self.path, scope["method"] == "HEAD"
        operation = self._operations.get("GET" if head else scope["method"])
        if operation is not None:
            scope[OPERATION] = operation
            response = await operation.respond(Request(scope, receive))
            if head and isinstance(response, StreamingResponse):  # nobody would read the stream
                response = Response(status_code=response.status_code, headers=response.headers)
        elif scope["method"] == "OPTIONS":
            response = Response(status_code=204, headers=self._allow)
        else:
            raise HTTPException(405, headers=self._allow)
        await response(scope, receive, send)


class PathRoutes(BaseRoute):
    """Every path, for Starlette's router: a request is compared only with paths that begin with the same part
    and have as many. Trying a hundred patterns in turn takes 50 to 100 µs; this takes 10."""

    def __init__(self, endpoints: Mapping[str, ASGIApp]) -> None:
        """``endpoints`` are by path. The first part of a path must be literal; where two paths fit, a literal
        part wins over a parameter."""
        self._routes: dict[tuple[str, int], list[Route]] = defaultdict(list)
        for path in sorted(endpoints, key=lambda path: [part.startswith("{") for part in path.split("/")]):
            self._routes[self._shape(path)].append(Route(path, endpoints[path]))

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] == "http":
            for one in self._routes.get(self._shape(scope["path"]), ()):
                match, found = one.matches(scope)
                if match is not Match.NONE:  # endpoints answer whatever method it is
                    return Match.FULL, found
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["endpoint"](scope, receive, send)

    @staticmethod
    def _shape(path: str) -> tuple[str, int]:
        return path.split("/", 2)[1], path.count("/")


def endpoints_of(operations: Iterable[Operation]) -> dict[str, ASGIApp]:
    """The endpoint of each path that operations are declared for."""
    paths: dict[str, list[Operation]] = defaultdict(list)
    for one in operations:
        paths[one.path].append(one)
    return {path: PathEndpoint(path, there) for path, there in paths.items()}
