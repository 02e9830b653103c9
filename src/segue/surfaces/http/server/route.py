"""How a route is declared: its method and path, the role that it needs, and what it may answer.

A route is a plain function that works on a ``Visit``; it runs in a thread, and what it raises of our errors
becomes problem details. Its role is checked here and nowhere else: one without a role cannot be declared.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property, partial
from inspect import Parameter as Signed
from inspect import iscoroutinefunction, signature
from typing import Any, TypeVar, get_type_hints

import msgspec

from ....api.segue import Segue
from ....core.base.text import clean_name, clean_text
from ....core.server.access import ROLES, Access
from ....errors import UsageError
from ....services.server.session_index import SessionIndex
from ....services.sessions.repository import Saved
from ...render import compact
from .commit_queue import in_thread
from .context import ServerContext
from .routing import JSON, About, Answer, Request, Route

T = TypeVar("T")
ACTOR, RUN, PROJECT, REPOSITORY = "segue-actor", "segue-run", "segue-project", "segue-repository"
OPEN = ("/", "/health", "/ready", "/openapi.json")
"""Paths that ask for no key."""
Together = bool | Callable[[Any], bool]
OURS = ("visit", "request", "data")
"""Arguments that are no parameters."""
_USUAL = (400, 401, 403, 413, 421, 429, 500, 503)
_WRITING = (409, 422)


class Visit:
    """A request: who asks, and the sessions of the project that is asked about."""

    def __init__(
        self, front: ServerContext, access: Access, actor: str = "", run: str = "", repository: str = ""
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
        found = self.front.projects.workspace(
            self.access, actor=actor, run=self._run, repository=self._repository
        )
        return Segue.of(found)


def visit_of(request: Request) -> Visit:
    """The visit of a request that the gate has let in."""
    headers = request.headers
    actor = clean_text(headers.get(ACTOR, ""), what="actor", limit=256)
    run = headers.get(RUN, "")
    repository = clean_text(headers.get(REPOSITORY, ""), what="repository", limit=512)
    named = clean_name(run, what="run id") if run else ""
    return Visit(request.front, request.access, actor, named, repository)


def route(
    method: str, path: str, *, need: str, status: int = 200, tags: Sequence[str] = (),
    errors: Sequence[int] = (404,), media_type: str = JSON, body: Any = None, answer: Any = None,
    also: Sequence[str] = (), invalid: int = 400, encode: Callable[[Any], bytes] = compact,
    shown: bool = True, threaded: bool = True, together: Together = False,
) -> Callable[[Callable[..., Any]], Route]:  # fmt: skip
    """Declare a route; ``need`` is the lowest role that may use it, or empty for an open one. ``body`` and
    ``answer`` are examples; ``also`` are other types of content; ``errors`` what can go wrong beyond the
    usual; ``invalid`` is the status of what is not what the route takes; one that is not ``shown`` is not
    described. What the function gives is answered as `--json` prints it, every field named. Unless it is
    ``threaded`` it must not wait for anything. What does little but write
    to sessions may be committed ``together`` with what others write: always, or with such bodies."""
    assert need in ROLES or (not need and path in OPEN), f"{path} needs a role"
    foreseen = {
        *(_USUAL if need else ()),
        *(_WRITING if need and method != "GET" else ()),
        *errors,
        *((invalid,) if need else ()),
    }

    def declared(function: Callable[..., Any]) -> Route:
        saves = get_type_hints(function).get("return") is Saved
        about = About(
            need, status, tuple(tags), media_type, tuple(sorted(foreseen)), body, answer, tuple(also),
            invalid, shown, saves,
        )  # fmt: skip
        serve = _serving(function, about, encode, together, threaded)
        return Route(method, path, function, serve, about)

    return declared


def _serving(
    function: Callable[..., Any],
    about: About,
    encode: Callable[[Any], bytes],
    together: Together,
    threaded: bool,
) -> Callable[[Request], Awaitable[Answer]]:
    """The function as it is asked: with a request, of which it takes what it names, if the role of the key
    is enough."""
    takes, need = Taking(function), about.need
    status, kind = about.status, about.media_type

    def ready(given: dict[str, Any]) -> Answer:
        """What is answered, as bytes: made where the work is done, not where all others wait."""
        found = function(**given)
        if isinstance(found, Answer):
            return found
        if status == 204:
            return Answer(b"", "", status)
        return Answer(encode(found) if kind == JSON else found.encode("utf-8", "replace"), kind, status)

    async def serve(request: Request) -> Answer:
        if need:
            request.scope["segue_need"] = need
            request.access.demand(need)
        given = takes.from_request(request, await request.body() if takes.body is not None else b"")
        if takes.waits:
            found: Answer = await function(**given)
            return found
        if together is True or (together and together(given["data"])):
            return await request.front.written(request.access.project, partial(ready, given))
        return await in_thread(partial(ready, given)) if threaded else ready(given)

    return serve


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

    def from_request(self, request: Request, body: bytes) -> dict[str, Any]:
        """The arguments of a call; UsageError if the request does not fit."""
        given = request.named()
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
