"""``Rows``: a persistent list, that is, an immutable sequence that is cheap to extend and to change.

``fold`` is pure, and a checkpoint must cost the same on a state of 1 KB and of 1 MB. A tuple
would be copied whole at every event; ``Rows`` shares all but one chunk of 64 with its
predecessor. Lookup by key uses a dictionary that all descendants of a ``Rows`` share. An entry
of it is only a hint and is verified against the rows at every use, so sharing is never visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Generic, TypeVar, overload

T = TypeVar("T")
_CHUNK = 64


class Rows(Sequence[T], Generic[T]):
    """An immutable sequence with cheap ``append`` and ``replace``."""

    __slots__ = ("_chunks", "_hints", "_tail")

    def __init__(self, rows: Iterable[T] = ()) -> None:
        flat = tuple(rows)
        full = len(flat) - len(flat) % _CHUNK
        self._chunks: tuple[tuple[T, ...], ...] = tuple(flat[i : i + _CHUNK] for i in range(0, full, _CHUNK))
        self._tail: tuple[T, ...] = flat[full:]
        self._hints: dict[str, int] | None = None

    def _derived(self, chunks: tuple[tuple[T, ...], ...], tail: tuple[T, ...]) -> Rows[T]:
        new: Rows[T] = Rows.__new__(Rows)
        new._chunks, new._tail, new._hints = chunks, tail, self._hints
        return new

    def __len__(self) -> int:
        return len(self._chunks) * _CHUNK + len(self._tail)

    def __iter__(self) -> Iterator[T]:
        for chunk in self._chunks:
            yield from chunk
        yield from self._tail

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        number, offset = divmod(index, _CHUNK)
        return self._chunks[number][offset] if number < len(self._chunks) else self._tail[offset]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and self._tail == other._tail and self._chunks == other._chunks

    def __hash__(self) -> int:
        return hash((len(self), self._tail))

    def __repr__(self) -> str:
        return f"Rows({list(self)!r})"

    def flat(self) -> tuple[T, ...]:
        """All rows as one tuple, which is faster to iterate over."""
        return (*chain.from_iterable(self._chunks), *self._tail)

    def append(self, row: T) -> Rows[T]:
        """A new list with one more row."""
        tail = (*self._tail, row)
        if len(tail) == _CHUNK:
            return self._derived((*self._chunks, tail), ())
        return self._derived(self._chunks, tail)

    def replace(self, index: int, row: T) -> Rows[T]:
        """A new list in which the row at ``index`` is another one."""
        number, offset = divmod(index, _CHUNK)
        if number == len(self._chunks):
            return self._derived(self._chunks, (*self._tail[:offset], row, *self._tail[offset + 1 :]))
        old = self._chunks[number]
        chunk = (*old[:offset], row, *old[offset + 1 :])
        return self._derived((*self._chunks[:number], chunk, *self._chunks[number + 1 :]), self._tail)

    def find(self, key: str, key_of: Callable[[T], str]) -> int:
        """The index of the row with this key, or -1. A row's key must never change."""
        if self._hints is None:
            self._hints = self._index(key_of)
        index = self._hints.get(key, -1)
        if index < 0 or (index < len(self) and key_of(self[index]) == key):
            return index
        self._hints = self._index(key_of)  # another descendant of our ancestor wrote there
        return self._hints.get(key, -1)

    def _index(self, key_of: Callable[[T], str]) -> dict[str, int]:
        return {key_of(row): i for i, row in enumerate(self.flat())}

    def append_keyed(self, key: str, row: T, key_of: Callable[[T], str]) -> Rows[T]:
        """``append`` for lists that are searched with ``find``; keeps the index up to date."""
        hints = self._hints if self._hints is not None and len(self) else self._index(key_of)
        grown = self.append(row)
        grown._hints = hints
        hints[key] = len(self)
        return grown
