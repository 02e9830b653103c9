"""How a page and an action are declared, and what carries them out.

A page is a function of a visitor and the fields of its address; it returns a ``Page``. An action is a
function of a visitor and the fields of a form; it returns where to go on. Both run in a thread. The role that
each needs is declared, and is that of the operation of the API that does the same.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qs, quote

from anyio import to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ....errors import NotAllowed, NotKnown, SegueError, UsageError, of_os, unwrapped
from ..server.route import PATH, ROLE
from .render import HEADERS, PREFIX, again_page, html, problem_page, redirect
from .visitor import Door, Visitor, form_token, may

FORM_BYTES_MAX = 200_000
FIELD_CHARS_MAX = 100_000
SAID = {
    "paused": "The session is paused.",
    "resumed": "The session is active again.",
    "noted": "The note is saved.",
    "decided": "The decision is saved.",
    "answered": "The answer is saved.",
    "corrected": "The ledger is corrected.",
    "checks": "The checks are running; results appear as they finish.",
    "voted": "The vote is counted.",
    "pruned": "The memories are summarised.",
}
"""What a page may say first, by the word in its address: nobody can put words of their own there."""

Role = Literal["reader", "writer", "admin"]
Fields = Mapping[str, str]


@dataclass(frozen=True)
class Page:
    """A template with what it shows."""

    template: str
    title: str
    context: dict[str, Any]
    status: int = 200


@dataclass(frozen=True)
class Download:
    """A file for the visitor."""

    name: str
    content: bytes
    media_type: str


@dataclass(frozen=True)
class GoTo:
    """Where to go on after an action, and what to say there."""

    path: str
    said: str = ""
    """One of ``SAID``."""


Handler = Callable[..., "Page | Download | GoTo"]


@dataclass(frozen=True)
class Declared:
    """One method on one path."""

    method: str
    path: str
    role: Role
    function: Handler


DECLARED: list[Declared] = []


def page(path: str) -> Callable[[Handler], Handler]:
    """Declare a page, which anybody who was let in may read."""
    return _declare("GET", path, "reader")


def action(path: str, *, role: Role) -> Callable[[Handler], Handler]:
    """Declare what a form does."""
    return _declare("POST", path, role)


def _declare(method: str, path: str, role: Role) -> Callable[[Handler], Handler]:
    def declare(function: Handler) -> Handler:
        DECLARED.append(Declared(method, f"{PREFIX}{path}", role, function))
        return function

    return declare


class PageEndpoint:
    """All methods on one path, as an ASGI application."""

    def __init__(self, door: Door, declared: Iterable[Declared]) -> None:
        self._door = door
        self._declared = {one.method: one for one in declared}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        declared = self._declared.get(method)
        scope[PATH] = next(iter(self._declared.values())).path
        try:
            response = await self._response(request, declared)
        except (SegueError, OSError, ClientDisconnect) as fault:
            if isinstance(fault, NotKnown) and is_followed_link(request):
                response = again_page(address(request))
            else:
                response = problem_page(page_fault(fault))
        await response(scope, receive, send)

    async def _response(self, request: Request, declared: Declared | None) -> Response:
        visitor = await self._door.visitor(request)
        if declared is None:
            return not_supported(sorted(self._declared))
        request.scope[ROLE] = declared.role
        if not may(visitor, declared.role):
            raise NotAllowed(
                f"your role is {visitor.role}, and this needs {declared.role}",
                hint="ask an admin of the server for a key of that role",
            )
        fields = query_fields(request)
        if declared.method == "POST":
            fields = await form_fields(request)
            _check_sender(request, visitor, fields.pop("token", ""))
        _check_lengths(fields)
        return await to_thread.run_sync(_carried_out, declared, visitor, fields, request)


def _carried_out(declared: Declared, visitor: Visitor, fields: Fields, request: Request) -> Response:
    token = form_token(visitor)
    try:
        done = declared.function(visitor, fields, **request.path_params)
    except (SegueError, OSError) as fault:
        return problem_page(page_fault(fault), visitor, token)
    if isinstance(done, GoTo):
        return redirect(f"{done.path}{'&' if '?' in done.path else '?'}said={done.said}")
    if isinstance(done, Download):
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(done.name, safe='')}"}
        return Response(done.content, 200, {**HEADERS, **headers}, done.media_type)
    usual = {
        "visitor": visitor, "token": token, "title": done.title, "said": SAID.get(fields.get("said", ""), ""),
        "path": request.url.path,
    }  # fmt: skip
    return html(done.template, {**usual, **done.context}, done.status)


async def form_fields(request: Request) -> dict[str, str]:
    """The fields of a form. Raises UsageError."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > FORM_BYTES_MAX:
            raise UsageError(f"the form has more than {FORM_BYTES_MAX:,} bytes", hint="write less")
    if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
        raise UsageError("this is not a form", hint="send it from the page")
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=50, errors="strict")
    except ValueError as fault:
        raise UsageError("the form cannot be read", hint="send it from the page") from fault
    return {name: values[0] for name, values in fields.items()}


def query_fields(request: Request) -> dict[str, str]:
    """The fields of an address; of a repeated one the first. Raises UsageError for one that is no text."""
    query = request.scope["query_string"].decode("latin-1")
    try:
        found = parse_qs(query, keep_blank_values=True, max_num_fields=50, errors="strict")
    except ValueError as fault:
        raise UsageError("this address cannot be read", hint="open the page from a link") from fault
    return {name: values[0] for name, values in found.items()}


def is_followed_link(request: Request) -> bool:
    """Whether a browser followed a link from another site, and therefore sent no cookie."""
    site = request.headers.get("sec-fetch-site", "")
    return request.method == "GET" and site in ("cross-site", "same-site")


def address(request: Request) -> str:
    """The path of a request with its query."""
    path, query = quote(request.url.path), request.url.query
    return f"{path}?{query}" if query else path


def page_fault(fault: Exception) -> SegueError:
    """What a page says of a fault."""
    fault = unwrapped(fault)
    if isinstance(fault, SegueError):
        return fault
    if isinstance(fault, OSError):
        return of_os(OSError(fault.errno, fault.strerror))  # without its paths
    return UsageError("the request ended before its form did", hint="send it again")


def not_supported(methods: Iterable[str]) -> Response:
    """The response to a method that a path does not have."""
    allow = {"allow": ", ".join(methods)}
    return Response("this cannot be done here", 405, {**HEADERS, **allow}, "text/plain")


def is_from_elsewhere(request: Request) -> bool:
    """Whether a page of another site sent a request, as its browser says."""
    headers = request.headers
    site, origin = headers.get("sec-fetch-site", "same-origin"), headers.get("origin", "")
    return site != "same-origin" or bool(origin and origin.partition("://")[2] != headers.get("host", ""))


def _check_sender(request: Request, visitor: Visitor, token: str) -> None:
    """Refuse a form that a page of another site sent."""
    if is_from_elsewhere(request) or not hmac.compare_digest(token.encode(), form_token(visitor).encode()):
        raise NotAllowed("this form did not come from a Segue page", hint="load the page again")


def _check_lengths(fields: Fields) -> None:
    for name, value in fields.items():
        if len(value) > FIELD_CHARS_MAX or "\0" in value:
            raise UsageError(f"{name[:40]!r} is too long, or not text", hint="write less")


def number(fields: Fields, name: str, default: int = 0) -> int:
    """A field as a number that is not negative; the default if there is nothing in it. Raises UsageError."""
    value = fields.get(name, "").strip()
    if not value:
        return default
    if not (value.isascii() and value.isdecimal() and len(value) < 10):
        raise UsageError(f"{name} is not a number: {value[:40]!r}", hint="write it in digits")
    return int(value)


def one_of(fields: Fields, name: str, known: Iterable[str]) -> str:
    """A field that is one of these words, or empty. Raises UsageError."""
    value, words = fields.get(name, ""), list(known)
    if value and value not in words:
        raise UsageError(f"there is no {name} {value[:40]!r}", hint=f"one of {', '.join(words)}")
    return value
