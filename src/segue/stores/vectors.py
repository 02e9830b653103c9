"""Vectors as bytes, and the nearest of them: a scan, for every store.

A vector is kept as signed bytes (cosine does not mind the scale) and as two bits a dimension: whether it is
well below zero, and whether it is well above. Small collections are compared by their bytes; large ones by
bits first, then the best by their bytes.

The bits stand in columns, a byte of each vector, so that a table of 256 distances serves a whole column at
once, in which a bit counts by how far the question is from zero in its dimension. What a vector has in common
with the question is worth the more the fewer bits it has, so vectors with about as many are told apart. With
numpy it is fast; without it Python's own long integers add up the columns, which is fast enough.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from math import log2
from operator import mul
from typing import Any, NamedTuple

from ..core.memories.ranking import Pairs

SHORTLIST_MIN = 600
HIDDEN = 255
WELL_BEYOND = 0.6
DENSITY_STEPS = 6
_BYTES_COUNTED = 31
"""Of so many bytes the bits can be counted in one."""
_FIXED = 16
_HALF = 1 << _FIXED - 1
_ALL = bytes(range(256))
LANE_BYTES = 4
PLAIN_ROWS_MAX = 4_096
PLAIN_SCANS_MAX = 4
"""Loading numpy takes longer than a few scans of a few; it pays for a process that asks more."""
Bodies = Callable[[Sequence[int]], dict[int, bytes]]


class VectorBits(NamedTuple):
    """Vectors whose bits are equally long, as an index takes them in: what each has, in the same order."""

    numbers: Sequence[int]
    groups: Sequence[int]
    bits: bytes
    """One behind the other."""


def joined(rows: Iterable[tuple[int, int, bytes]]) -> list[VectorBits]:
    """(number, group, bits) of vectors, those together whose bits are equally long."""
    by_width: dict[int, list[tuple[int, int, bytes]]] = {}
    for row in rows:
        by_width.setdefault(len(row[2]), []).append(row)
    return [
        VectorBits([no for no, _, _ in some], [group for _, group, _ in some], b"".join(r[2] for r in some))
        for some in by_width.values()
    ]


def packed(vector: Sequence[float]) -> bytes:
    """A vector as signed bytes."""
    most = max(map(abs, vector), default=0.0) or 1.0
    return array("b", [round(127 * x / most) for x in vector]).tobytes()


def bits_of(body: bytes) -> bytes:
    """Two bits a dimension: first for all of them whether it is well below zero, then whether it is well
    above, which is beyond a share of its root mean square."""
    far = int(WELL_BEYOND * (sum(map(_SQUARES.__getitem__, body)) / max(1, len(body))) ** 0.5)
    below = b"0" * 128 + b"1" * (128 - far) + b"0" * far
    above = b"0" * (far + 1) + b"1" * (127 - far) + b"0" * 128
    return _packed_bits(body.translate(below)) + _packed_bits(body.translate(above))


def signs_of(body: bytes) -> bytes:
    """One bit a dimension, as vectors had it before they had two: whether it is above zero."""
    return _packed_bits(body.translate(b"0" + b"1" * 127 + b"0" * 128))


def _packed_bits(digits: bytes) -> bytes:
    return int(digits or b"0", 2).to_bytes((len(digits) + 7) // 8, "big")


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


class _Part:
    """Vectors whose bits are equally long: their numbers, their groups, and their bits in columns."""

    def __init__(self, width: int) -> None:
        self.numbers: list[int] = []
        self._groups: list[int] = []
        self._different_groups: set[int] = set()
        self.columns = [bytearray() for _ in range(width)]
        self._densities = bytearray()
        self._masks: list[tuple[float, int]] = []
        """For those with about as many bits: how many they have, and a byte for each vector, all ones where
        it is one of them. Made when they are first needed."""

    def add(self, some: VectorBits) -> None:
        self.numbers += some.numbers
        self._groups += some.groups
        self._different_groups.update(some.groups)
        width, shares = len(self.columns), -(-len(self.columns) // _BYTES_COUNTED)
        counts = [0] * shares
        for place, column in enumerate(self.columns):
            more = some.bits[place::width]
            column += more
            counts[place % shares] += int.from_bytes(more.translate(_BIT_COUNTS), "little")
        self._densities += _densities(counts, len(some.numbers))
        self._masks = []

    def hidden(self, groups: Collection[int]) -> bytes:
        """A byte for each vector: 0 where it is in one of these groups."""
        if self._different_groups.issubset(groups):
            return bytes(len(self._groups))
        return bytes(0 if group in groups else HIDDEN for group in self._groups)

    def far(self, asked: Question) -> bytes:
        """How far each vector is from a question by its bits, from 0 to 254."""
        tables = asked.tables(len(self.columns))
        if not tables:
            return bytes([HIDDEN - 1]) * len(self.numbers)
        parts = (column.translate(table) for column, table in zip(self.columns, tables, strict=True))
        if (np := _loaded_numpy()) is not None:
            sums = bytes(sum(np.frombuffer(part, dtype=np.uint8) for part in parts))
        else:
            total = sum(int.from_bytes(part, "little") for part in parts)
            sums = total.to_bytes(len(self.numbers), "little")
        far = 0
        for bits, mask in self._by_density():
            meant = sums.translate(asked.distances(len(self.columns), bits))
            far |= int.from_bytes(meant, "little") & mask
        return far.to_bytes(len(self.numbers), "little")

    def _by_density(self) -> list[tuple[float, int]]:
        if not self._masks:
            for kind in set(self._densities):
                only = bytes(kind) + b"\xff" + bytes(255 - kind)
                mask = int.from_bytes(self._densities.translate(only), "little")
                self._masks.append((2 ** ((kind - 1) / DENSITY_STEPS) if kind else 0.0, mask))
        return self._masks


class Question:
    """A vector that others are compared with by their bits."""

    def __init__(self, vector: bytes) -> None:
        self._values = array("b", vector).tolist()
        self._sum = sum(map(abs, self._values)) or 1
        self._length = sum(value * value for value in self._values) ** 0.5 or 1.0
        self._plane = (len(vector) + 7) // 8
        self._tables: dict[int, list[bytes]] = {}

    def tables(self, width: int) -> list[bytes]:
        """For each of so many bytes of bits, how far its 256 values are: together at most 254. None if no
        bits of such a vector are as long."""
        if width not in self._tables:
            plane = [0] * (8 * self._plane - len(self._values)) + self._values
            kinds = {self._plane: plane, 2 * self._plane: [-value for value in plane] + plane}
            self._tables[width] = _tables(kinds[width], self._scale(width)) if width in kinds else []
        return self._tables[width]

    def _scale(self, width: int) -> float:
        """What the distances in tables are multiplied with; of two bits for a dimension both can be wrong."""
        return (HIDDEN - 1 - width) / (self._sum * (width // self._plane))

    def distances(self, width: int, bits: float) -> bytes:
        """What a sum of distances in tables means for vectors with so many bits, on a scale for all."""
        step = 3 - width // self._plane
        """A single bit tells of both directions, and so counts twice."""
        if step == 2:
            bits = len(self._values)
        unit = (HIDDEN - 1) / (self._length * max(bits, 1.0) ** 0.5)
        fall, begin = unit * step / self._scale(width), HIDDEN - 1 - unit * self._sum
        return bytes(
            min(HIDDEN - 1, max(0, round(begin + fall * distance))) for distance in range(HIDDEN + 1)
        )


class ScanIndex:
    """The bits of all vectors, in this process."""

    def __init__(self) -> None:
        self._parts: dict[int, _Part] = {}
        """By the bytes of bits."""
        self._numbers: list[int] = []
        self._hidden: tuple[frozenset[int], bytes, int] = (frozenset(), b"", 0)
        """The groups that were last asked for, a byte for each vector, 0 where it is in one of them, and how
        many are."""
        self._asked = 0

    def add(self, vectors: Iterable[VectorBits]) -> None:
        for some in vectors:
            width = len(some.bits) // len(some.numbers)
            if width not in self._parts:
                self._parts[width] = _Part(width)
            self._parts[width].add(some)
            self._numbers = []
        if not self._numbers:
            for part in self._parts.values():
                self._numbers += part.numbers
            self._hidden = (frozenset(), b"", 0)

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
            asked = Question(vector)
            far = b"".join(part.far(asked) for part in self._parts.values())
            far = far if shown == len(far) else _either(far, hidden)
        numbers = self._numbers
        return by_bytes(vector, bodies([numbers[place] for place in _lowest(far, shortlist)]), most)

    def _hidden_of(self, groups: frozenset[int]) -> tuple[bytes, int]:
        if self._hidden[0] != groups:
            hidden = b"".join(part.hidden(groups) for part in self._parts.values())
            self._hidden = (groups, hidden, hidden.count(0))
        return self._hidden[1:]


def _tables(weights: Sequence[int], scale: float) -> list[bytes]:
    """For each eight bits, how far its 256 values are: what is lost by bits that are clear where the weight
    is above zero, and set where it is below."""
    tables = []
    for place in range(0, len(weights), 8):
        table = [_HALF]
        for weight in reversed(weights[place : place + 8]):
            more = int(abs(weight) * scale * 2 * _HALF)
            further = [far + more for far in table]
            table = further + table if weight > 0 else table + further
        tables.append(bytes([far >> _FIXED for far in table]))
    return tables


def _densities(counts: Sequence[int], many: int) -> bytes:
    """A byte for each of so many vectors: which count as alike, by how many bits they have, at most an eighth
    apart. The bits of each share of their columns were counted, a byte for each vector."""
    shares = len(counts)
    if not shares:
        return bytes(many)
    part = bytes(value // shares for value in range(256))
    total = sum(int.from_bytes(one.to_bytes(many, "little").translate(part), "little") for one in counts)
    return total.to_bytes(many, "little").translate(bytes(_density(value * shares) for value in range(256)))


@cache
def _density(count: int) -> int:
    return 1 + round(DENSITY_STEPS * log2(count)) if count else 0


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


_BIT_COUNTS = bytes(value.bit_count() for value in range(256))
_SQUARES = [_signed(value) ** 2 for value in range(256)]
_TABLES = (
    bytes(_signed(value) + 128 for value in range(256)),
    bytes(square & 0xFF for square in _SQUARES),
    bytes(square >> 8 for square in _SQUARES),
)
"""For a signed byte: itself plus 128, and the lower and the upper byte of its square."""


def _nearest(scored: Pairs, most: int) -> Pairs:
    return sorted(scored, key=lambda pair: (-pair[1], -pair[0]))[:most]
