"""Errors as problem details (RFC 9457)."""

from __future__ import annotations

import math
from typing import Any

import msgspec
from starlette.responses import Response

from ....errors import SegueError

MEDIA_TYPE = "application/problem+json"
_STATUSES: dict[int, tuple[str, str]] = {
    400: ("usage", "the request is not valid for this route"),
    401: ("not_known", "no key, or one that this server does not know"),
    403: ("not_allowed", "the key is for another role, project or agent"),
    404: ("unknown", "it does not exist, or there is no such route"),
    405: ("usage", "this route does not support this method"),
    408: ("usage", "the request took too long to arrive"),
    409: ("conflict", "not possible in the current state, or somebody else was faster"),
    413: ("too_large", "the request is larger than this server accepts"),
    414: ("too_large", "the URL is longer than this server accepts"),
    415: ("usage", "this route does not accept this type of content"),
    421: ("not_known", "the request names another host"),
    422: ("usage", "the request is well formed, but asks for something impossible"),
    429: ("rate_limited", "too many requests with this key, or of this project"),
    431: ("too_large", "the headers are too long or too many for this server"),
    500: ("unforeseen", "an error in the server; it is in the server's log"),
    501: ("usage", "the body uses a transfer coding that this server does not support"),
    502: ("agent", "a program that the server depends on failed"),
    503: ("store", "the store cannot be reached now, or it or the server is busy"),
    507: ("over_quota", "the project has used up a quota; what it has is kept"),
}


class Problem(msgspec.Struct):
    """What went wrong: ``code`` is stable, ``detail`` is for people, ``hint`` names a safe next step."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str


def meaning(status: int) -> str:
    """What a status means here."""
    return _STATUSES.get(status, ("error", "something went wrong"))[1]


def problem(status: int, detail: str, *, code: str = "", hint: str = "") -> Problem:
    """Problem details; ``type`` names the error as the reference does."""
    code = code or _STATUSES.get(status, ("error", ""))[0]
    return Problem(f"urn:segue:error:{code}", meaning(status), status, detail, code, hint)


def response(found: Problem, headers: dict[str, str] | None = None, **facts: Any) -> Response:
    """The response for a problem, with ``facts`` after the usual fields."""
    usual = msgspec.structs.asdict(found)
    content = msgspec.json.encode({**usual, **facts, **usual}, enc_hook=str)
    return Response(content, found.status, headers, MEDIA_TYPE)


def of_error(fault: SegueError, *, invalid: int = 400, request: str = "") -> Response:
    """The response for a SegueError; ``invalid`` is the status for a request that does not fit the route,
    ``request`` its id."""
    headers = {}
    if fault.retryable:
        seconds = getattr(fault, "retry_after_seconds", 1.0)
        headers["retry-after"] = str(max(1, math.ceil(seconds)))
    if fault.http_status == 401:
        headers["www-authenticate"] = 'Bearer realm="segue"'
    found = problem(fault.http_status, fault.message, code=fault.code, hint=fault.hint)
    if found.status == 400:
        found.status = invalid
    return response(found, headers, **fault.facts(), **({"request": request} if request else {}))
