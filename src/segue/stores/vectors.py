"""Vectors as bytes, and the nearest of them: a scan, for every store.

A vector is kept as signed bytes (cosine does not mind the scale) and as one bit a dimension. Small
collections are compared by their bytes; large ones by bits first, then the best by their bytes.

The bits stand in columns, a byte of each vector, so that a table of 256 distances serves a whole column at
once. A bit counts by how far the question is from zero in its dimension: what is near zero tells little, and
without that four times as many had to be compared by their bytes. With numpy it is fast; without it Python's
own long integers add up the columns, which is fast enough. Behind ``VectorIndex`` another index can stand.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from operator import mul
from typing import Any, Protocol

from ..core.memories.ranking import Pairs

SHORTLIST_MIN = 400
HAMMING_SHORTLIST_MIN = 1_536
"""Where the bits are only counted."""
HIDDEN = 255
_ALL = bytes(range(256))
LANE_BYTES = 4
PLAIN_ROWS_MAX = 4_096
PLAIN_SCANS_MAX = 4
"""Loading numpy takes longer than a few scans of a few; it pays for a process that asks more."""
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


def _loaded_numpy() -> Any:
    """numpy, where this process has loaded it."""
    return numpy_or_none() if "numpy" in sys.modules else None


def asks_once(asked: int) -> bool:
    """Whether a process has not asked often, and has no numpy yet: loading that takes longer than a scan."""
    return asked < PLAIN_SCANS_MAX and "numpy" not in sys.modules


class ScanIndex:
    """The bits of all vectors, in this process."""

    needs_rows = True

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._groups: list[int] = []
        self._columns: list[bytearray] = []
        self._hidden: tuple[frozenset[int], bytes, int] = (frozenset(), b"", 0)
        """The groups that were last asked for, a byte for each vector, 0 where it is in one of them, and how
        many are."""
        self._asked = 0

    def add(self, rows: Iterable[tuple[int, int, bytes]]) -> None:
        new = list(rows)
        if not new:
            return
        width = len(self._columns) or len(new[0][2])
        self._columns = self._columns or [bytearray() for _ in range(width)]
        self._numbers += [no for no, _, _ in new]
        self._groups += [group for _, group, _ in new]
        joined = b"".join(bits.ljust(width, b"\0")[:width] for _, _, bits in new)
        for place, column in enumerate(self._columns):
            column += joined[place::width]

    def near(
        self, vector: bytes, groups: Collection[int], only: Collection[int] | None, most: int, bodies: Bodies
    ) -> Pairs:
        if len(self._numbers) > PLAIN_ROWS_MAX and not asks_once(self._asked):
            numpy_or_none()  # loaded, it is used
        self._asked += 1
        hidden, shown = self._hidden_of(frozenset(groups))
        if only is not None:
            left_out = bytes(0 if no in only else HIDDEN for no in self._numbers)
            hidden = _either(hidden, left_out)
            shown = hidden.count(0)
        shortlist = max(SHORTLIST_MIN, most)
        if shown <= shortlist:
            far = hidden
        else:
            far = self._far(vector)
            far = far if shown == len(far) else _either(far, hidden)
        numbers = self._numbers
        return by_bytes(vector, bodies([numbers[place] for place in _lowest(far, shortlist)]), most)

    def _hidden_of(self, groups: frozenset[int]) -> tuple[bytes, int]:
        if self._hidden[0] != groups or len(self._hidden[1]) != len(self._groups):
            hidden = bytes(0 if group in groups else HIDDEN for group in self._groups)
            self._hidden = (groups, hidden, hidden.count(0))
        return self._hidden[1:]

    def _far(self, vector: bytes) -> bytes:
        """How far each vector is from this one by its bits, from 0 to 254."""
        tables = _tables(vector, len(self._columns))
        parts = (column.translate(table) for column, table in zip(self._columns, tables, strict=True))
        if (np := _loaded_numpy()) is not None:
            return bytes(sum(np.frombuffer(part, dtype=np.uint8) for part in parts))
        total = sum(int.from_bytes(part, "little") for part in parts)
        return total.to_bytes(len(self._numbers), "little")


def _tables(vector: bytes, columns: int) -> list[bytes]:
    """For each byte of the bits, how far its 256 values are from a vector: together at most 254."""
    asked = array("b", vector).tolist()
    asked[:0] = [0] * (8 * columns - len(asked))
    scale = (HIDDEN - 1 - columns) / (sum(map(abs, asked)) or 1)
    tables = []
    for place in range(columns):
        table = [0.5]  # so that it is rounded, not cut
        for value in reversed(asked[8 * place : 8 * place + 8]):
            clear, is_set = (value * scale, 0.0) if value > 0 else (0.0, -value * scale)
            table = [far + clear for far in table] + [far + is_set for far in table]
        tables.append(bytes(map(int, table)))
    return tables


def _either(one: bytes, other: bytes) -> bytes:
    """The bits that are set in one of two texts of the same length."""
    return (int.from_bytes(one, "little") | int.from_bytes(other, "little")).to_bytes(len(one), "little")


def _lowest(values: bytes, wanted: int) -> list[int]:
    """The places of so many of the lowest values and of what equals the last, but never of ``HIDDEN``."""
    low, high, left = 0, HIDDEN - 1, values
    while low < high:
        middle = (low + high) // 2
        within = left.translate(None, _ALL[middle + 1 :])
        if len(within) >= wanted:
            high, left = middle, within
        else:
            low = middle + 1
    marked = values.translate(b"\1" * (low + 1) + bytes(HIDDEN - low))
    places, place = [], marked.find(1)
    while place >= 0:
        places.append(place)
        place = marked.find(1, place + 1)
    return places


def by_bytes(vector: bytes, bodies: Mapping[int, bytes], most: int) -> Pairs:
    """The nearest of these, by their bytes."""
    numbers = [no for no, body in bodies.items() if len(body) == len(vector)]
    found = cosines(vector, b"".join(bodies[no] for no in numbers))
    others = [(no, 0.0) for no, body in bodies.items() if len(body) != len(vector)]
    return _nearest([*zip(numbers, found, strict=True), *others], most)


def cosines(vector: bytes, joined: bytes) -> list[float]:
    """The cosine of a vector and each of those that are joined."""
    count = len(joined) // len(vector) if vector else 0
    asked = array("b", vector).tolist()
    dots, squares = (_numpy_products if _loaded_numpy() else _products)(asked, joined, count)
    own = sum(value * value for value in asked)
    return [
        dot / (square * own) ** 0.5 if square and own else 0.0
        for dot, square in zip(dots, squares, strict=True)
    ]


def _products(asked: Sequence[int], joined: bytes, count: int) -> tuple[list[int], Sequence[int]]:
    """(with ``asked``, with itself): the products of all that are joined, a dimension of all of them at a
    time, with a lane of a long integer for each of them."""
    moved, low, high = (joined.translate(table) for table in _TABLES)
    width, above, below, squares = len(asked), 0, 0, 0
    lanes, square_lanes = bytearray(LANE_BYTES * count), bytearray(LANE_BYTES * count)
    for place, value in enumerate(asked):
        square_lanes[::LANE_BYTES] = low[place::width]
        square_lanes[1::LANE_BYTES] = high[place::width]
        squares += int.from_bytes(square_lanes, "little")
        lanes[::LANE_BYTES] = moved[place::width]
        if value > 0:
            above += int.from_bytes(lanes, "little") * value
        elif value < 0:
            below += int.from_bytes(lanes, "little") * -value
    middle = 128 * sum(asked)
    both = zip(_lanes(above, count), _lanes(below, count), strict=True)
    return [plus - minus - middle for plus, minus in both], _lanes(squares, count)


def _numpy_products(asked: Sequence[int], joined: bytes, count: int) -> tuple[list[int], list[int]]:
    np: Any = _loaded_numpy()
    matrix = np.frombuffer(joined, dtype=np.int8).reshape(count, len(asked)).astype(np.float64)
    dots = matrix @ np.array(asked, dtype=np.float64)  # whole numbers, and so exact
    return dots.astype(int).tolist(), np.einsum("ij,ij->i", matrix, matrix).astype(int).tolist()


def _lanes(whole: int, count: int) -> array[int]:
    lanes = array("I", whole.to_bytes(LANE_BYTES * count, "little"))
    if sys.byteorder == "big":
        lanes.byteswap()
    return lanes


def _signed(value: int) -> int:
    return value - 256 if value > 127 else value


_TABLES = (
    bytes(_signed(value) + 128 for value in range(256)),
    bytes(_signed(value) ** 2 & 0xFF for value in range(256)),
    bytes(_signed(value) ** 2 >> 8 for value in range(256)),
)
"""For a signed byte: itself plus 128, and the lower and the upper byte of its square."""


def _nearest(scored: Pairs, most: int) -> Pairs:
    return sorted(scored, key=lambda pair: (-pair[1], -pair[0]))[:most]
