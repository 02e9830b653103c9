"""The chain of hashes of a stream: verifying it.

``faults`` verifies a whole stream. How a stream is rebuilt from what is left of it is in ``histories.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...errors import DamagedError
from ..base import canonical
from ..base.values import Value
from .event import Erased, Event, read_body


class ChainFault(Value):
    """A place in a stream that is not as it was written."""

    stream: str
    version: int
    reason: str


def faults(stream: str, events: Sequence[Event]) -> list[ChainFault]:
    """Everything that is wrong with a stream from version 1 on; empty if it is intact."""
    found: list[ChainFault] = []
    prev = canonical.GENESIS
    scrubbed = _scrubbed_bodies(events)
    for expected, event in enumerate(events, 1):
        if event.version != expected:
            found.append(ChainFault(stream, expected, "an event is missing"))
            break
        if event.prev != prev:
            found.append(ChainFault(stream, expected, "it does not follow its predecessor"))
        if not event.chained():
            found.append(ChainFault(stream, expected, "its envelope was changed"))
        body_hash = canonical.digest(event.body)
        if body_hash != event.body_hash and scrubbed.get(event.version) != body_hash.hex():
            found.append(ChainFault(stream, expected, "its body was changed"))
        prev = event.hash
    if events and events[-1].left:
        found.append(ChainFault(stream, events[-1].version, "the rest of its commit is missing"))
    return found


def linked(stream: str, after: int, events: Sequence[Event]) -> None:
    """Raises DamagedError unless each event follows the one before it.

    The first event is not compared with its predecessor, unless ``after`` is 0.
    """
    version, prev = after, b"" if after else canonical.GENESIS
    for event in events:
        version += 1
        if event.version != version or (prev and event.prev != prev):
            where = f"{stream} version {version}"
            raise DamagedError("the journal", where, "it does not follow its predecessor")
        prev = event.hash


def _scrubbed_bodies(events: Iterable[Event]) -> dict[int, str]:
    """The hashes of the bodies that recorded scrubs wrote, by version."""
    scrubbed: dict[int, str] = {}
    for event in events:
        if event.kind == Erased.KIND:
            body = read_body(event)
            if isinstance(body, Erased):
                scrubbed.update(zip(body.versions, body.bodies, strict=False))
    return scrubbed
