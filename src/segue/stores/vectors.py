"""Vectors as bytes, and the nearest of them: a scan, for every store.

A vector is kept as signed bytes (cosine does not mind the scale) and as one bit a dimension. Small
collections are compared by their bytes; large ones by bits first, then the best by their bytes. With numpy
it is fast; without it Python's own long integers count bits, which is fast enough. Behind ``VectorIndex``
another index can stand.
"""

from __future__ import annotations

import heapq
import sys
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from operator import mul
from typing import Any, Protocol

from ..core.memories.ranking import Pairs

EXACT_ROWS_MAX = 2_048
SHORTLIST_MIN = 256
PLAIN_ROWS_MAX = 4_096
PLAIN_SCANS_MAX = 4
Bodies = Callable[[Sequence[int]], dict[int, bytes]]


class VectorIndex(Protocol):
    """The vectors of one model."""

    needs_rows: bool
    """Whether it finds only what was added to it."""

    def add(self, rows: Iterable[tuple[int, int, bytes]]) -> None:
        """(number, group, bits) of more vectors."""

    def near(
        self, vector: bytes, groups: Collection[int], only: Collection[int] | None, most: int, bodies: Bodies
    ) -> Pairs:
        """(number, cosine) of the nearest in these groups, among ``only`` these if given."""


def packed(vector: Sequence[float]) -> bytes:
    """A vector as signed bytes."""
    most = max(map(abs, vector), default=0.0) or 1.0
    return array("b", [round(127 * x / most) for x in vector]).tobytes()


def bits_of(body: bytes) -> bytes:
    """One bit a dimension: whether it is above zero."""
    text = "".join("1" if 0 < x < 128 else "0" for x in body)
    return int(text or "0", 2).to_bytes((len(body) + 7) // 8, "big")


def cosine(one: bytes, other: bytes) -> float:
    """The cosine of two vectors of signed bytes; 0 if they are of different lengths."""
    a, b = array("b", one), array("b", other)
    if len(a) != len(b):
        return 0.0
    length = sum(map(mul, a, a)) * sum(map(mul, b, b))
    return float(sum(map(mul, a, b)) / length**0.5) if length else 0.0


@cache
def numpy_or_none() -> Any:
    """numpy, where it is installed."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy if hasattr(numpy, "bitwise_count") else None


def asks_once(asked: int) -> bool:
    """Whether a process has not asked often, and has no numpy yet: loading that takes longer than a scan."""
    return asked < PLAIN_SCANS_MAX and "numpy" not in sys.modules


def index(count: int, asked: int = 0) -> VectorIndex:
    """The best index that works here for so many: loading numpy takes longer than a scan of a few, and
    pays for whoever has ``asked`` before and so may ask on."""
    if count <= PLAIN_ROWS_MAX and asks_once(asked):
        return PlainIndex()
    return NumpyIndex() if numpy_or_none() is not None else PlainIndex()


class PlainIndex:
    """In Python alone."""

    needs_rows = True

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, int]] = []

    def add(self, rows: Iterable[tuple[int, int, bytes]]) -> None:
        self._rows += [(no, group, int.from_bytes(bits, "big")) for no, group, bits in rows]

    def near(
        self, vector: bytes, groups: Collection[int], only: Collection[int] | None, most: int, bodies: Bodies
    ) -> Pairs:
        asked = int.from_bytes(bits_of(vector), "big")
        wanted = frozenset(groups)
        kept = [
            ((asked ^ bits).bit_count(), -no)
            for no, group, bits in self._rows
            if group in wanted and (only is None or no in only)
        ]
        if len(kept) > EXACT_ROWS_MAX // 8:
            kept = heapq.nsmallest(max(SHORTLIST_MIN, most), kept)
        return by_bytes(vector, bodies([-no for _, no in kept]), most)


def by_bytes(vector: bytes, bodies: Mapping[int, bytes], most: int) -> Pairs:
    """The nearest of these, by their bytes."""
    return _nearest([(no, cosine(vector, body)) for no, body in bodies.items()], most)


def _nearest(scored: Pairs, most: int) -> Pairs:
    return sorted(scored, key=lambda pair: (-pair[1], -pair[0]))[:most]


class NumpyIndex:
    """With numpy: the bits of all vectors in one matrix."""

    needs_rows = True

    def __init__(self) -> None:
        self._numpy = numpy_or_none()
        self._waiting: list[tuple[int, int, bytes]] = []
        self._numbers: Any = None
        self._groups: Any = None
        self._bits: Any = None

    def add(self, rows: Iterable[tuple[int, int, bytes]]) -> None:
        self._waiting += rows

    def _settle(self) -> None:
        np, new = self._numpy, self._waiting
        if not new:
            return
        size = max(len(new[0][2]), 8)
        width = -(-size // 8) * 8
        raw = b"".join(bits.ljust(width, b"\0")[:width] for _, _, bits in new)
        bits = np.frombuffer(raw, dtype=np.uint64).reshape(len(new), -1)
        numbers = np.fromiter((no for no, _, _ in new), dtype=np.int64, count=len(new))
        groups = np.fromiter((group for _, group, _ in new), dtype=np.int64, count=len(new))
        if self._numbers is not None:
            numbers = np.concatenate([self._numbers, numbers])
            groups = np.concatenate([self._groups, groups])
            bits = np.concatenate([self._bits, bits])
        self._numbers, self._groups, self._bits, self._waiting = numbers, groups, bits, []

    def near(
        self, vector: bytes, groups: Collection[int], only: Collection[int] | None, most: int, bodies: Bodies
    ) -> Pairs:
        np = self._numpy
        self._settle()
        if self._numbers is None:
            return []
        wanted = np.fromiter(groups, dtype=np.int64, count=len(groups))
        seen = self._groups == wanted[0] if len(groups) == 1 else np.isin(self._groups, wanted)
        if only is not None:
            seen &= np.isin(self._numbers, np.fromiter(only, dtype=np.int64, count=len(only)))
        numbers, bits = (self._numbers, self._bits) if seen.all() else (self._numbers[seen], self._bits[seen])
        shortlist = max(SHORTLIST_MIN, most)
        if len(numbers) > max(EXACT_ROWS_MAX, shortlist):
            width = bits.shape[1] * 8
            asked = np.frombuffer(bits_of(vector).ljust(width, b"\0")[:width], dtype=np.uint64)
            far = np.zeros(len(numbers), dtype=np.uint16)
            for column, part in enumerate(asked):
                far += np.bitwise_count(bits[:, column] ^ part)
            numbers = numbers[np.argpartition(far, shortlist)[:shortlist]]
        found = {no: body for no, body in bodies(numbers.tolist()).items() if len(body) == len(vector)}
        if not found:
            return []
        matrix = np.frombuffer(b"".join(found.values()), dtype=np.int8).reshape(len(found), -1)
        matrix = matrix.astype(np.float32)
        asked = np.frombuffer(vector, dtype=np.int8).astype(np.float32)
        length = np.sqrt(np.einsum("ij,ij->i", matrix, matrix) * (asked @ asked))
        scores = (matrix @ asked / np.maximum(length, 1e-9)).tolist()
        return _nearest(list(zip(found, scores, strict=True)), most)
