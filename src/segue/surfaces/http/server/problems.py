"""What went wrong, as problem details (RFC 9457), from the one tree of errors."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from ....errors import SegueError, of_os

TYPE = "application/problem+json"
_FORESEEN: dict[int, tuple[str, str]] = {
    400: ("usage", "the request is not what this route takes"),
    401: ("not_known", "no key, or one that this server does not know"),
    403: ("not_allowed", "the key's role, project or agent is another one"),
    404: ("unknown", "there is no such thing, or no such route"),
    405: ("usage", "this route does not take this method"),
    409: ("conflict", "it was refused as things stand, or somebody else was faster"),
    413: ("too_large", "the request is larger than this server takes"),
    415: ("usage", "the content is of a type that this route does not take"),
    421: ("not_known", "the request names another host"),
    422: ("usage", "the request is well formed, and says what cannot be"),
    429: ("rate_limited", "too many requests with this key"),
    500: ("unforeseen", "a fault of the server, which it has logged"),
    502: ("agent", "a program that the server asked did not answer as it should"),
    503: ("store", "the store cannot be reached now, or is busy"),
}


class Problem(msgspec.Struct, omit_defaults=True):
    """What went wrong: ``code`` is stable, ``detail`` is for people, ``hint`` names a safe next step."""

    type: str
    title: str
    status: int
    detail: str
    code: str = "error"
    hint: str = ""


def about(status: int) -> str:
    """What a status means here."""
    return _FORESEEN.get(status, ("error", "something went wrong"))[1]


def of_error(fault: SegueError) -> tuple[int, dict[str, Any], dict[str, str]]:
    """(status, body, headers) of one of our errors."""
    status = fault.http_status
    found = body_of(status, fault.message, code=fault.code, hint=fault.hint)
    found.update({name: value for name, value in fault.facts().items() if name not in found})
    headers = {}
    if fault.retryable:
        seconds = getattr(fault, "retry_after_seconds", 1.0)
        headers["retry-after"] = str(max(1, math.ceil(seconds)))
    if status == 401:
        headers["www-authenticate"] = 'Bearer realm="segue"'
    return status, found, headers


def of_machine(fault: OSError) -> tuple[int, dict[str, Any], dict[str, str]] | None:
    """The same of an error of the server's machine, as of a full disk, without paths; None if it is none."""
    if fault.errno is None:
        return None
    return of_error(of_os(OSError(fault.errno, fault.strerror)))


def body_of(status: int, detail: str, *, code: str = "", hint: str = "") -> dict[str, Any]:
    """Problem details; their ``type`` names the error, as the reference does."""
    code = code or _FORESEEN.get(status, ("error", ""))[0]
    return {
        "type": f"urn:segue:error:{code}", "title": about(status), "status": status, "detail": detail,
        "code": code, "hint": hint,
    }  # fmt: skip
