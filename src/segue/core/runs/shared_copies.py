"""A copy of a transcript that others can read: which pieces it is made of, and where a text is cut.

A copy grows at its end. What is there already is never cut anew, so that only what is new is sent; of one
that was rewritten, the pieces that are still the same stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..base.values import Value
from .events import TranscriptShared

PIECE_BYTES = 256 << 10
"""Of a copy, in one piece, before it is compressed."""
PREFIX = "transcript/"


class SharedCopy(Value):
    """A copy as the store has it."""

    size: int = 0
    hash: str = ""
    pieces: tuple[tuple[str, int], ...] = ()
    """Address, and bytes of the copy in it."""


def stream_of(key: str) -> str:
    """The stream of a run's transcript."""
    return PREFIX + key


def fold(before: SharedCopy, body: TranscriptShared) -> SharedCopy:
    """The copy after an event."""
    return SharedCopy(body.size, body.hash, (*before.pieces[: body.stays], *body.pieces))


def history(bodies: Iterable[TranscriptShared]) -> Iterator[SharedCopy]:
    """Copies that between them have every piece that was ever named: each one before something of it was
    replaced, and the last one."""
    now = SharedCopy()
    for body in bodies:
        if body.stays < len(now.pieces):
            yield now
        now = fold(now, body)
    yield now


def lengths(known: Sequence[int], size: int) -> list[int]:
    """How a text of this size is cut: where it was cut before, as far as that goes, then evenly."""
    found: list[int] = []
    left = size
    for length in known:
        if not 0 < length <= left:
            break
        found.append(length)
        left -= length
    while left:
        found.append(min(left, PIECE_BYTES))
        left -= found[-1]
    return found
