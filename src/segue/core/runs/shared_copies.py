"""Copies of transcripts that others can read: which pieces they consist of, and where a text is split.

A copy grows at its end. Existing pieces are never split differently, so that only new ones are sent; if a
transcript was rewritten, the pieces that are still the same are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..base.values import Value
from .events import TranscriptShared

PIECE_BYTES = 256 << 10
"""The size of a piece before compression."""
PREFIX = "transcript/"


class SharedCopy(Value):
    """A copy as it is in the store."""

    size: int = 0
    hash: str = ""
    pieces: tuple[tuple[str, int], ...] = ()
    """The address of each piece, and how many bytes of the copy it contains."""


def stream_of(key: str) -> str:
    """The stream of a run's transcript."""
    return PREFIX + key


def fold(before: SharedCopy, body: TranscriptShared) -> SharedCopy:
    """The copy after an event."""
    return SharedCopy(body.size, body.hash, (*before.pieces[: body.stays], *body.pieces))


def history(bodies: Iterable[TranscriptShared]) -> Iterator[SharedCopy]:
    """The versions of a copy that together name every piece it ever had.

    These are the last version, and each version before some of its pieces were replaced.
    """
    copy = SharedCopy()
    for body in bodies:
        if body.stays < len(copy.pieces):
            yield copy
        copy = fold(copy, body)
    yield copy


def lengths(known: Sequence[int], size: int) -> list[int]:
    """The lengths of the pieces of a text of this size: the known ones as far as they fit, then equal
    ones."""
    result: list[int] = []
    left = size
    for length in known:
        if not 0 < length <= left:
            break
        result.append(length)
        left -= length
    while left:
        result.append(min(left, PIECE_BYTES))
        left -= result[-1]
    return result
