"""The file of an embedding: a row of values for each piece of a word, and the pieces by their spelling.

It is mapped, not read, and nothing in it is parsed: a hash table in the file finds the number of a piece, and
the number gives the place of its row. A value is one of sixteen levels, and a byte of a row holds two of
them, the first in its lower half. Every number in the file is little-endian. The header carries a hash over
everything but the rows, which is compared when the file is opened; a row has a checksum, which the hash
covers and which is compared when the row is first used. So a damaged file is an error and never a wrong
vector, and opening it takes a few milliseconds.

====================  =======================================================================
header                magic, format, width, pieces, slots, bytes of spellings, unit, SHA-256
slots                 for each slot of the table the number of a piece plus one; 0 for none
ends                  where the spelling of each piece ends
levels                the sixteen values that a dimension can have, each plus 128
scales                for each piece, in units: what its row is multiplied with
bias                  for each dimension, a float
checksums             for each piece, the CRC-32 of its row
spellings             of all pieces, one after the other
rows                  for each piece, for each two dimensions, the numbers of their levels
====================  =======================================================================
"""

from __future__ import annotations

import mmap
import struct
import sys
from array import array
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from zlib import crc32

from ..._files import open_file
from ...core.base.canonical import sha256
from ...errors import DamagedError

SHIPPED = Path(__file__).parent / "static-128.bin"
"""The file that comes with Segue; `tools/embedding` makes it."""
MAGIC = b"SEGUEVEC"
FORMAT = 2
WHAT = "the embedding"
LEVELS = 16
_HEADER = struct.Struct("<8sIIIIId")
_HASH_BYTES = 32
_BEGIN = _HEADER.size + _HASH_BYTES


class WeightsFile:
    """A file of weights, opened. Raises DamagedError if it is missing, or not as it was written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with open_file(path) as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as fault:  # an empty file cannot be mapped
            reason = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
            raise self._damaged(reason.lower()) from fault
        whole = memoryview(self._map)
        if len(whole) < _BEGIN or whole[: len(MAGIC)] != MAGIC:
            raise self._damaged("it is not a weights file")
        _, format, self.width, self.count, slots, spelling_bytes, self.unit = _HEADER.unpack_from(whole)
        if format != FORMAT:
            raise self._damaged(f"it has format {format}, and this version of Segue reads format {FORMAT}")
        sizes = [
            2 * slots,
            4 * self.count,
            LEVELS,
            2 * self.count,
            4 * self.width,
            4 * self.count,
            spelling_bytes,
        ]
        parts, at = [], _BEGIN
        for size in sizes:
            parts.append(whole[at : at + size])
            at += size
        if self.width % 2 or len(whole) != at + self.count * self.width // 2:
            raise self._damaged("it is incomplete")
        if _hash(whole[: _HEADER.size], whole[_BEGIN:at]) != whole[_HEADER.size : _BEGIN]:
            raise self._damaged("it does not match the hash stored in it")
        self._slots, self._ends = _numbers(parts[0], "H"), _numbers(parts[1], "I")
        self._lower = bytes(parts[2][code & 15] for code in range(256))
        self._upper = bytes(parts[2][code >> 4] for code in range(256))
        self.scales, self.bias = _numbers(parts[3], "H"), _numbers(parts[4], "f")
        self._checksums = _numbers(parts[5], "I")
        self._spellings = bytes(parts[6])
        self._rows_begin = at
        self._mask = slots - 1

    def _damaged(self, reason: str) -> DamagedError:
        return DamagedError(WHAT, str(self.path), reason)

    def number(self, piece: str) -> int | None:
        """The number of a piece; None if there is no such piece."""
        spelling = piece.encode("utf-8", "replace")
        slot = crc32(spelling) & self._mask
        while found := self._slots[slot]:
            if self._spelling(found - 1) == spelling:
                return int(found) - 1
            slot = slot + 1 & self._mask
        return None

    def row(self, number: int) -> bytes:
        """The values of a piece, each plus 128. Raises DamagedError if they are not what was written."""
        start = self._rows_begin + number * self.width // 2
        codes = self._map[start : start + self.width // 2]
        if crc32(codes) != self._checksums[number]:
            raise self._damaged(f"the row of piece {number} does not match its checksum")
        row = bytearray(self.width)
        row[::2], row[1::2] = codes.translate(self._lower), codes.translate(self._upper)
        return bytes(row)

    def check(self) -> None:
        """Compare every row with its checksum. Raises DamagedError."""
        for number in range(self.count):
            self.row(number)

    def _spelling(self, number: int) -> bytes:
        return self._spellings[self._ends[number - 1] if number else 0 : self._ends[number]]

    def pieces(self) -> list[str]:
        """All pieces in the order of their numbers."""
        return [self._spelling(number).decode() for number in range(self.count)]


@cache
def opened(path: Path) -> WeightsFile:
    """A file of weights, opened once in a process. Raises DamagedError."""
    return WeightsFile(path)


def shipped() -> WeightsFile:
    """The weights that come with Segue. Raises DamagedError."""
    return opened(SHIPPED)


def laid_out(
    pieces: Sequence[str], rows: Sequence[bytes], scales: Sequence[float], bias: Sequence[float],
    levels: Sequence[int],
) -> bytes:  # fmt: skip
    """The bytes of a file of these pieces, each with a scale, and a level (its number) for each dimension."""
    unit = max(scales) / 0xFFFF
    spellings = [piece.encode() for piece in pieces]
    slots = array("H", bytes(2 << (2 * len(pieces) - 1).bit_length()))
    ends, end = array("I"), 0
    for number, spelling in enumerate(spellings):
        slot = crc32(spelling) & len(slots) - 1
        while slots[slot]:
            slot = slot + 1 & len(slots) - 1
        slots[slot] = number + 1
        end += len(spelling)
        ends.append(end)
    head = _HEADER.pack(MAGIC, FORMAT, len(bias), len(pieces), len(slots), end, unit)
    whole_scales = array("H", [max(1, round(scale / unit)) for scale in scales])
    codes = [bytes(low | high << 4 for low, high in zip(row[::2], row[1::2], strict=True)) for row in rows]
    moved = array("B", [level + 128 for level in levels])
    checksums = array("I", map(crc32, codes))
    numbers: list[array[int] | array[float]] = [
        slots, ends, moved, whole_scales, array("f", bias), checksums
    ]  # fmt: skip
    body = b"".join([*map(_little, numbers), *spellings])
    return b"".join([head, _hash(memoryview(head), memoryview(body)), body, *codes])


def _hash(head: memoryview, body: memoryview) -> bytes:
    made = sha256(body)
    made.update(head)
    return made.digest()


def _little(numbers: array[int] | array[float]) -> bytes:
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


def _numbers(part: memoryview, code: str) -> Sequence[int]:
    if sys.byteorder == "little":
        return part.cast(code)  # type: ignore[call-overload,no-any-return]
    numbers = array(code, bytes(part))
    numbers.byteswap()
    return numbers
