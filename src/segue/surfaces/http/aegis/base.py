"""What all routes of Aegis Memory's API share: how they are declared, and the limits of fields.

The types of these routes have the fields that its SDK 2.7.0 sends (``…In``) and reads (``…Out``), and a few
more. Unknown fields are ignored, as by the original server, so that a program that sends more still works.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....core.memories.model import CONTENT_BYTES_MAX, TOP_K_MAX
from ...render import compact
from ..server.route import Caller, route

Name = Annotated[str, Meta(min_length=1, max_length=128)]
Text = Annotated[str, Meta(min_length=1, max_length=CONTENT_BYTES_MAX)]
QueryText = Annotated[str, Meta(min_length=1, max_length=20_000)]
Count = Annotated[int, Meta(ge=1, le=TOP_K_MAX)]
Effectiveness = Annotated[float, Meta(ge=-1.0, le=1.0)]
DEFAULT = "default"
"""The default namespace."""


def encoded(value: Any) -> bytes:
    """Values as JSON; a lone surrogate, which cannot be encoded, is replaced by a mark."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return compact(value)


aegis_route = partial(route, tag="aegis", invalid=422, encode=encoded)
"""Declares a route whose status for a request that does not fit is 422."""


def agent_of(caller: Caller, agent: str | None) -> str:
    """The agent that a request names, or that its key is bound to. Raises NotAllowed for another agent's
    key."""
    return caller.access.act_as(agent or "")


def namespace_label(namespace: str) -> str:
    """A namespace as it is stored with sessions: the default one is empty."""
    return "" if namespace == DEFAULT else namespace


def milliseconds_since(begun: float) -> float:
    """The milliseconds since a time of ``time.perf_counter``."""
    return round((time.perf_counter() - begun) * 1000, 3)
