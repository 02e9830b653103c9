"""``Places``: an immutable, sorted sequence of whole numbers that is cheap to add to and to take from.

A plan has lists of the places of its items by status. As tuples they would be copied whole at every event,
which makes folding a plan of tens of thousands of items slow. ``Places`` shares all but one chunk with its
predecessor.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import overload

_CHUNK_MAX = 256


class Places(Sequence[int]):
    """An immutable sequence of ascending numbers, each at most once; equal to a tuple of the same."""

    __slots__ = ("_chunks", "_length")

    def __init__(self, places: Iterable[int] = ()) -> None:
        flat = sorted(set(places))
        self._chunks = tuple(tuple(flat[i : i + _CHUNK_MAX]) for i in range(0, len(flat), _CHUNK_MAX))
        self._length = len(flat)

    def _derived(self, chunks: tuple[tuple[int, ...], ...], length: int) -> Places:
        new: Places = Places.__new__(Places)
        new._chunks, new._length = chunks, length
        return new

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self._chunks)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...
    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        if isinstance(index, int) and index in (0, -1) and self._chunks:
            return self._chunks[index][index]
        return self.flat()[index]

    def __contains__(self, place: object) -> bool:
        return isinstance(place, int) and self._find(place)[2]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Places):
            return self is other or (len(self) == len(other) and self.flat() == other.flat())
        return isinstance(other, tuple) and self.flat() == other

    def __hash__(self) -> int:
        return hash(self.flat())

    def __repr__(self) -> str:
        return f"Places({list(self)!r})"

    def flat(self) -> tuple[int, ...]:
        """All places as one tuple."""
        return tuple(chain.from_iterable(self._chunks))

    def _find(self, place: int) -> tuple[int, int, bool]:
        """The chunk that a place is in or belongs into, the position there, and whether it is there."""
        number = bisect_left(self._chunks, place, key=lambda chunk: chunk[-1])
        if number == len(self._chunks):
            return number, 0, False
        chunk = self._chunks[number]
        at = bisect_left(chunk, place)
        return number, at, chunk[at] == place

    def added(self, place: int) -> Places:
        """With one more place; the same if it is there."""
        chunks = self._chunks
        if not chunks or chunks[-1][-1] < place:  # behind all others
            if chunks and len(chunks[-1]) < _CHUNK_MAX:
                return self._derived((*chunks[:-1], (*chunks[-1], place)), self._length + 1)
            return self._derived((*chunks, (place,)), self._length + 1)
        number, at, there = self._find(place)
        if there:
            return self
        chunk = (*chunks[number][:at], place, *chunks[number][at:])
        half = len(chunk) // 2
        parts = (chunk,) if len(chunk) <= _CHUNK_MAX else (chunk[:half], chunk[half:])
        return self._derived((*chunks[:number], *parts, *chunks[number + 1 :]), self._length + 1)

    def removed(self, place: int) -> Places:
        """Without a place; the same if it is not there."""
        number, at, there = self._find(place)
        if not there:
            return self
        old = self._chunks[number]
        parts = ((*old[:at], *old[at + 1 :]),) if len(old) > 1 else ()
        chunks = (*self._chunks[:number], *parts, *self._chunks[number + 1 :])
        return self._derived(chunks, self._length - 1)
