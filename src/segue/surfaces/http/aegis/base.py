"""What all routes of Aegis Memory's API share: how they are declared, and the limits of fields.

The types of these routes have the fields that its SDK 2.7.0 sends (``…In``) and reads (``…Out``), and a few
more. What is not named in a type is passed over, as their own server does: a program that sends more still
works.
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
"""The namespace of whoever names none."""


def encoded(value: Any) -> bytes:
    """JSON of values that name every field as they are; a lone surrogate becomes a marked hole."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return compact(value)


aegis_route = partial(route, tag="aegis", invalid=422, encode=encoded)
"""Declares a route; a request that does not fit is 422 there."""


def agent_of(caller: Caller, agent: str | None) -> str:
    """The agent that a request names, or that its key is bound to; NotAllowed if it is another's key."""
    return caller.access.act_as(agent or "")


def namespace_label(namespace: str) -> str:
    """A namespace as the labels of sessions have it: the default one is empty."""
    return "" if namespace == DEFAULT else namespace


def milliseconds_since(begun: float) -> float:
    """How many milliseconds went by since a moment of ``time.perf_counter``."""
    return round((time.perf_counter() - begun) * 1000, 3)
