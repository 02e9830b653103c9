"""Large values that change little, saved often: a rope of content-addressed pieces.

A value is one MessagePack byte string, cut into pieces that are stored once under their hash;
joining the pieces gives it back. Lists and objects with many elements are cut between them,
at places that the elements themselves choose, so that dropping the first one moves no other
cut. A save compares the elements with a private copy of those saved before, encodes only the
ones that differ, and names only the pieces that are new.

What is loaded is equal to what was saved. Python holds ``1 == True``: elements with such
values are compared by their bytes instead.
"""

from __future__ import annotations

import hashlib
import operator
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate, compress
from typing import Any

import msgspec

from ..errors import UsageError
from .values import Value

SECTION_ELEMENTS = 16
"""A list or object with so many elements is cut between them."""
_ALONE_BYTES = 512
_GROUP_BYTES_MAX = 2048
_CUT_BYTES = 4096
"""What has no elements, such as a long text, is cut at this size."""
_BLOCK_PIECES = 128
_LOOK_AHEAD = 64
_DEPTH_MAX = 6

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder()
_PLAIN = frozenset((str, int, float, bytes, type(None)))

Splices = tuple[tuple[int, int, list[str]], ...]


def address(piece: bytes) -> str:
    """The name of a piece: half a SHA-256, in hex."""
    return hashlib.sha256(piece).hexdigest()[:32]


class _Piece:
    """Some neighbouring elements, their private copies and their encoding."""

    __slots__ = ("address", "body", "closed", "delicate", "shadow")

    def __init__(self, shadow: list[Any], body: bytes, delicate: bool, closed: bool) -> None:
        self.shadow, self.body, self.delicate, self.closed = shadow, body, delicate, closed
        self.address = address(body)


class _Block:
    """Some neighbouring pieces of a section, compared at once."""

    __slots__ = ("delicate", "pieces", "shadow", "size")

    def __init__(self, pieces: list[_Piece], shadow: list[Any], size: int, delicate: bool) -> None:
        self.pieces, self.shadow, self.size, self.delicate = pieces, shadow, size, delicate

    @classmethod
    def of(cls, pieces: list[_Piece]) -> _Block:
        """A block of new pieces."""
        if len(pieces) == 1:
            (piece,) = pieces
            return cls(pieces, piece.shadow, len(piece.body), piece.delicate)
        shadow = [element for piece in pieces for element in piece.shadow]
        return cls(pieces, shadow, sum(len(p.body) for p in pieces), any(p.delicate for p in pieces))

    def until(self, stop: int) -> _Block:
        """The pieces before a place."""
        return self._part(self.pieces[:stop], self.pieces[stop:], slice(0, self._elements(stop)))

    def since(self, start: int) -> _Block:
        """The pieces from a place on."""
        return self._part(self.pieces[start:], self.pieces[:start], slice(self._elements(start), None))

    def _elements(self, place: int) -> int:
        if len(self.shadow) == len(self.pieces):  # one element a piece, as with large elements
            return place
        return sum([len(piece.shadow) for piece in self.pieces[:place]])

    def _part(self, pieces: list[_Piece], others: list[_Piece], elements: slice) -> _Block:
        if len(others) < len(pieces):
            size = self.size - sum([len(piece.body) for piece in others])
        else:
            size = sum([len(piece.body) for piece in pieces])
        delicate = self.delicate and any(piece.delicate for piece in pieces)
        return _Block(pieces, self.shadow[elements], size, delicate)

    def joined(self, other: _Block) -> _Block:
        """This block and the one behind it."""
        return _Block(
            self.pieces + other.pieces, self.shadow + other.shadow, self.size + other.size,
            self.delicate or other.delicate,
        )  # fmt: skip


class _Section:
    """Bytes without elements, then the elements of one list or object."""

    __slots__ = ("blocks", "pairs", "prefix")

    def __init__(self, prefix: list[_Piece], pairs: bool, blocks: list[_Block]) -> None:
        self.prefix, self.pairs, self.blocks = prefix, pairs, blocks

    def pieces(self) -> Iterator[_Piece]:
        yield from self.prefix
        for block in self.blocks:
            yield from block.pieces


class Rope:
    """A saved value. Immutable."""

    __slots__ = ("sections",)

    def __init__(self, sections: list[_Section]) -> None:
        self.sections = sections

    def pieces(self) -> Iterator[_Piece]:
        """All pieces, in order."""
        for section in self.sections:
            yield from section.pieces()

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of all pieces, in order."""
        return tuple([p.address for p in self.pieces()])

    def value(self) -> Any:
        """The value, as plain data of the caller's own."""
        return decode(b"".join([p.body for p in self.pieces()]))


EMPTY = Rope([])


class Saving(Value):
    """A save that is ready for the journal."""

    rope: Rope
    size: int
    splices: Splices
    """What changes in the list of addresses, applied in order."""
    fresh: dict[str, bytes]
    """Pieces that the rope before did not have."""


def encode(value: Any) -> bytes:
    """The bytes of a value; refuses what cannot be stored."""
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as fault:
        raise UsageError(
            f"this state cannot be saved: {fault}",
            hint="use null, booleans, numbers, text, lists and objects",
        ) from fault


def decode(body: bytes) -> Any:
    """The value of such bytes; raises ``msgspec.DecodeError`` on any others."""
    return _decoder.decode(body)


def save(old: Rope, value: Any) -> Saving:
    """What of a value is new since ``old``."""
    weave = _Weave()
    sections, size = [], 0
    for number, (prefix, pairs, elements) in enumerate(_sections(value)):
        before = old.sections[number] if number < len(old.sections) else _Section([], pairs, [])
        cut = weave.prefix(before.prefix, prefix)
        if before.pairs != pairs:
            weave.skip(sum(len(block.pieces) for block in before.blocks))
            before = _Section([], pairs, [])
        blocks = weave.elements(before.blocks, elements, pairs) if elements or before.blocks else []
        sections.append(_Section(cut, pairs, blocks))
        size += len(prefix) + sum([block.size for block in blocks])
    weave.skip(sum(1 for section in old.sections[len(sections) :] for _ in section.pieces()))
    return Saving(Rope(sections), size, tuple(weave.splices), weave.fresh)


def load(bodies: list[bytes], addresses: tuple[str, ...]) -> tuple[Rope, bool]:
    """The rope of pieces that a store gave back, and whether its cuts are those that are stored."""
    rope = save(EMPTY, decode(b"".join(bodies))).rope
    return rope, rope.addresses == addresses


def resplice(addresses: tuple[str, ...], rope: Rope) -> tuple[Splices, dict[str, bytes]]:
    """The one splice from stored addresses to those of a rope, with the pieces that it needs."""
    new = rope.addresses
    start = next((i for i, (a, b) in enumerate(zip(addresses, new, strict=False)) if a != b), None)
    if start is None:
        start = min(len(addresses), len(new))
    fresh = {p.address: p.body for p in rope.pieces()}
    return ((start, len(addresses) - start, list(new[start:])),), fresh


def _sections(value: Any) -> list[tuple[bytes, bool, list[Any]]]:
    """(bytes before, whether elements are pairs, elements) for every part with many elements."""
    found: list[tuple[bytes, bool, list[Any]]] = []
    prefix = _walk(value, 0, b"", found)
    if prefix:
        found.append((prefix, False, []))
    return found


def _walk(value: Any, depth: int, prefix: bytes, found: list[tuple[bytes, bool, list[Any]]]) -> bytes:
    """Add the parts of a value to those found; the bytes behind the last of them."""
    kind = type(value)
    if kind is dict and len(value) < SECTION_ELEMENTS and depth < _DEPTH_MAX:
        prefix += _header(len(value), 0x80, 0xDE)
        for name, child in value.items():
            prefix += encode(name)
            prefix = _walk(child, depth + 1, prefix, found)
        return prefix
    if (kind is not list and kind is not dict) or len(value) < SECTION_ELEMENTS:
        body = encode(value)
        if kind is not list or len(body) < _GROUP_BYTES_MAX:
            return prefix + body
    if kind is list:
        found.append((prefix + _header(len(value), 0x90, 0xDC), False, value))
    else:
        found.append((prefix + _header(len(value), 0x80, 0xDE), True, list(value.items())))
    return b""


def _header(length: int, small: int, large: int) -> bytes:
    if length < 16:
        return bytes((small | length,))
    return (
        bytes((large,)) + length.to_bytes(2, "big")
        if length < 65536
        else bytes((large + 1,)) + length.to_bytes(4, "big")
    )


def _shadow(value: Any) -> tuple[Any, bool]:
    """A private copy of a value's containers, and whether ``==`` is too coarse for it."""
    kind = type(value)
    if kind is str:
        return value, False
    if kind in _PLAIN:
        return value, value in (0, 1) if kind is int or kind is float else False
    if kind is dict:
        values = value.values()
        if {*map(type, value), *map(type, values)} <= _PLAIN:
            return value.copy(), 0 in values or 1 in values or 0 in value or 1 in value
        pairs = [(_shadow(k), _shadow(v)) for k, v in value.items()]
        return {k[0]: v[0] for k, v in pairs}, any(k[1] or v[1] for k, v in pairs)
    if kind is list or kind is tuple:
        copies = [_shadow(v) for v in value]
        return kind([c[0] for c in copies]), any(c[1] for c in copies)
    return value, True


def _place(elements: list[Any], wanted: Any, start: int) -> int:
    """Where an element stands in a list from a place on; 0 if nowhere."""
    try:
        return elements.index(wanted, start)
    except ValueError:
        return 0


def _encode_pair(pair: Any) -> bytes:
    return encode(pair[0]) + encode(pair[1])


class _Weave:
    """The new rope in the making: what is taken over, what goes, what comes."""

    def __init__(self) -> None:
        self.count = 0
        self.splices: list[tuple[int, int, list[str]]] = []
        self.fresh: dict[str, bytes] = {}

    def prefix(self, old: list[_Piece], body: bytes) -> list[_Piece]:
        """Pieces for bytes without elements: those of before at both ends, cuts between."""
        if len(old) == 1 and len(body) <= _CUT_BYTES:
            if old[0].body != body:
                self.skip(1)
                old = [_Piece([], body, False, True)]
                self.come(old)
            else:
                self.count += 1
            return old
        start, at = 0, 0
        while start < len(old) and body.startswith(old[start].body, at):
            at += len(old[start].body)
            start += 1
        stop, end = len(old), len(body)
        while stop > start and body.endswith(old[stop - 1].body, at, end):
            end -= len(old[stop - 1].body)
            stop -= 1
        self.count += start
        self.skip(stop - start)
        cuts = [
            _Piece([], body[i : min(i + _CUT_BYTES, end)], False, True) for i in range(at, end, _CUT_BYTES)
        ]
        self.come(cuts)
        self.count += len(old) - stop
        return [*old[:start], *cuts, *old[stop:]]

    def skip(self, pieces: int) -> None:
        if pieces:
            self._splice(pieces, [])

    def come(self, pieces: list[_Piece]) -> None:
        if pieces:
            for piece in pieces:
                self.fresh[piece.address] = piece.body
            self._splice(0, [p.address for p in pieces])
            self.count += len(pieces)

    def _splice(self, gone: int, come: list[str]) -> None:
        if self.splices:
            place, before, names = self.splices[-1]
            if place + len(names) == self.count:
                self.splices[-1] = (place, before + gone, names + come)
                return
        self.splices.append((self.count, gone, come))

    def elements(self, old: list[_Block], live: list[Any], pairs: bool) -> list[_Block]:
        """Blocks for the elements of a section: old ones where they fit, new ones elsewhere."""
        walk = _Elements(self, live, _encode_pair if pairs else encode)
        which = place = 0
        while which < len(old):
            rest = old[which].since(place) if place else old[which]
            fitting, count = walk.fitting(rest), len(rest.pieces)
            if fitting == count:
                walk.take(rest)
                which, place = which + 1, 0
                continue
            if fitting:
                walk.take(rest.until(fitting))
            place += fitting
            if fitting + 1 < count and walk.fits(rest.pieces[fitting + 1], walk.at):
                self.skip(1)  # the most frequent case: one is gone
                place += 1
                continue
            gone = walk.resync(_ahead(old, which, place))
            if gone is None:
                self.skip(count - fitting + sum(len(block.pieces) for block in old[which + 1 :]))
                break
            place += gone
            while which < len(old) and place >= len(old[which].pieces):
                place -= len(old[which].pieces)
                which += 1
        walk.come_until(len(live))
        return walk.finish()


def _ahead(blocks: list[_Block], which: int, place: int) -> list[_Piece]:
    pieces = blocks[which].pieces[place : place + _LOOK_AHEAD]
    for block in blocks[which + 1 :]:
        if len(pieces) >= _LOOK_AHEAD:
            break
        pieces += block.pieces[: _LOOK_AHEAD - len(pieces)]
    return pieces


class _Elements:
    """A walk over the live elements of one section."""

    def __init__(self, weave: _Weave, live: list[Any], encode_one: Callable[[Any], bytes]) -> None:
        self.weave, self.live, self.encode_one = weave, live, encode_one
        self.at = 0
        self.blocks: list[_Block] = []

    def fitting(self, block: _Block) -> int:
        """How many leading pieces of a block stand at this place now, to the byte."""
        pieces, shadow = block.pieces, block.shadow
        live = self.live[self.at : self.at + len(shadow)]
        if not live or live[0] != shadow[0]:
            return 0
        count = len(pieces)
        if live != shadow:
            same = min(len(live), len(shadow))
            same = next(compress(range(same), map(operator.ne, live, shadow)), same)
            count = same  # if there is one element a piece, as with large elements
            if len(shadow) != len(pieces):
                count = bisect_right(list(accumulate([len(piece.shadow) for piece in pieces])), same)
        if block.delicate:
            at = self.at
            for place, piece in enumerate(pieces[:count]):
                if piece.delicate and not self.fits(piece, at):
                    return place
                at += len(piece.shadow)
        return count

    def fits(self, piece: _Piece, at: int) -> bool:
        """Whether the saved elements of a piece stand at a place now, to the byte."""
        live = self.live[at : at + len(piece.shadow)]
        if live != piece.shadow:
            return False
        return not piece.delicate or b"".join(map(self.encode_one, live)) == piece.body

    def take(self, block: _Block) -> None:
        """Go past a block that fits."""
        self.blocks.append(block)
        self.at += len(block.shadow)
        self.weave.count += len(block.pieces)

    def resync(self, ahead: list[_Piece]) -> int | None:
        """Behind a difference: how many old pieces are gone; what is new before the next comes."""
        window = self.live[self.at : self.at + 4 * _LOOK_AHEAD]
        if not window:
            return None
        firsts = [piece.shadow[0] for piece in ahead]
        gone = 0
        while gone := _place(firsts, window[0], gone + 1):
            if self.fits(ahead[gone], self.at):
                self.weave.skip(gone)
                return gone
        for gone, piece in enumerate(ahead):
            offset = _place(window, firsts[gone], 1)
            if offset and self.fits(piece, self.at + offset):
                self.weave.skip(gone)
                self.come_until(self.at + offset)
                return gone
        return None

    def come_until(self, end: int) -> None:
        """New pieces for the elements up to a place; they end where an element says so."""
        if self.at >= end:
            return
        self._reopen()
        pieces: list[_Piece] = []
        group: list[Any] = []
        body, delicate = b"", False
        for element in self.live[self.at : end]:
            own = self.encode_one(element)
            copy, coarse = _shadow(element)
            group.append(copy)
            body, delicate = body + own, delicate or coarse
            if len(own) >= _ALONE_BYTES or len(body) >= _GROUP_BYTES_MAX or not zlib.crc32(own) & 7:
                pieces.append(_Piece(group, body, delicate, True))
                group, body, delicate = [], b"", False
        if group:
            pieces.append(_Piece(group, body, delicate, False))
        self.weave.come(pieces)
        for start in range(0, len(pieces), _BLOCK_PIECES):
            self.blocks.append(_Block.of(pieces[start : start + _BLOCK_PIECES]))
        self.at = end

    def _reopen(self) -> None:
        """Take the last piece back if it ended only because the elements did."""
        if not self.blocks:
            return
        block = self.blocks[-1]
        piece = block.pieces[-1]
        if piece.closed or piece.address in self.weave.fresh:
            return
        self.blocks.pop()
        if len(block.pieces) > 1:
            self.blocks.append(block.until(len(block.pieces) - 1))
        self.at -= len(piece.shadow)
        self.weave.count -= 1
        self.weave.skip(1)

    def finish(self) -> list[_Block]:
        """The blocks; small neighbours are joined, so that many edits do not wear them down."""
        joined: list[_Block] = []
        for block in self.blocks:
            if joined and len(joined[-1].pieces) + len(block.pieces) <= _BLOCK_PIECES:
                block = joined.pop().joined(block)
            joined.append(block)
        return joined
