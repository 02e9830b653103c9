"""A memory as stores that have rows keep it: a body, a hash of it, and its counts beside it."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from ..core.base import canonical
from ..core.base.lazy import json_decoder
from ..core.memories.model import Memory
from ..errors import DamagedError

_bodies = json_decoder(Memory)


def body_of(memory: Memory) -> tuple[bytes, bytes]:
    """(body, its hash): the memory without its counts, which change without it."""
    body = msgspec.json.encode(replace(memory, helpful=0, harmful=0, recalled=0, recalled_at=""))
    return body, canonical.digest(body)[:8]


def memory_of(row: tuple[Any, ...]) -> Memory:
    """The memory in a row; DamagedError if the body is not what was stored."""
    no, body, own, helpful, harmful, recalled, at = row[:7]
    try:
        if canonical.digest(body)[:8] == own:
            memory = _bodies.decode(body)
            if not (helpful or harmful or recalled):
                return memory
            return replace(memory, helpful=helpful, harmful=harmful, recalled=recalled, recalled_at=at)
    except (msgspec.MsgspecError, TypeError, ValueError):  # a damaged row may hold anything
        pass
    raise DamagedError("a memory", f"row {no}", "its bytes do not have the hash that they were stored with")
