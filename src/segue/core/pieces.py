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
import zlib
from collections.abc import Callable, Iterator
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
        shadow = [element for piece in pieces for element in piece.shadow]
        return cls(pieces, shadow, sum(len(p.body) for p in pieces), any(p.delicate for p in pieces))

    def part(self, start: int, stop: int) -> _Block:
        """The pieces from one place to another."""
        pieces = self.pieces
        first, last = start, stop
        if len(self.shadow) != len(pieces):  # else one element a piece, as with large elements
            first = sum(len(p.shadow) for p in pieces[:start])
            last = first + sum(len(p.shadow) for p in pieces[start:stop])
        if 2 * (stop - start) > len(pieces):
            outside = sum(len(p.body) for p in pieces[:start]) + sum(len(p.body) for p in pieces[stop:])
            size = self.size - outside
        else:
            size = sum(len(p.body) for p in pieces[start:stop])
        delicate = self.delicate and any(p.delicate for p in pieces[start:stop])
        return _Block(pieces[start:stop], self.shadow[first:last], size, delicate)

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

    @property
    def size(self) -> int:
        """Bytes of the whole value."""
        prefixes = sum([len(p.body) for s in self.sections for p in s.prefix])
        return prefixes + sum([b.size for s in self.sections for b in s.blocks])

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
    sections = []
    for number, (prefix, pairs, elements) in enumerate(_sections(value)):
        before = old.sections[number] if number < len(old.sections) else _Section([], pairs, [])
        cut = weave.prefix(before.prefix, prefix)
        if before.pairs != pairs:
            weave.skip(sum(len(b.pieces) for b in before.blocks))
            before = _Section([], pairs, [])
        sections.append(_Section(cut, pairs, weave.elements(before.blocks, elements, pairs)))
    weave.skip(sum(1 for section in old.sections[len(sections) :] for _ in section.pieces()))
    rope = Rope(sections)
    return Saving(rope, rope.size, tuple(weave.splices), weave.fresh)


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
        pairs = [(_shadow(k), _shadow(v)) for k, v in value.items()]
        return {k[0]: v[0] for k, v in pairs}, any(k[1] or v[1] for k, v in pairs)
    if kind is list or kind is tuple:
        copies = [_shadow(v) for v in value]
        return kind(c[0] for c in copies), any(c[1] for c in copies)
    return value, True


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
        start, at = 0, 0
        while start < len(old) and body.startswith(old[start].body, at):
            at += len(old[start].body)
            start += 1
        stop, end = len(old), len(body)
        while stop > start and body.endswith(old[stop - 1].body, at, end):
            end -= len(old[stop - 1].body)
            stop -= 1
        self.keep(start)
        self.skip(stop - start)
        cuts = [
            _Piece([], body[i : min(i + _CUT_BYTES, end)], False, True) for i in range(at, end, _CUT_BYTES)
        ]
        self.come(cuts)
        self.keep(len(old) - stop)
        return [*old[:start], *cuts, *old[stop:]]

    def keep(self, pieces: int) -> None:
        self.count += pieces

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
            block = old[which]
            rest = block.part(place, len(block.pieces)) if place else block
            if walk.fits(rest):
                walk.take(rest)
                which, place = which + 1, 0
                continue
            place += walk.take_leading(rest)
            gone = walk.resync(_ahead(old, which, place))
            if gone is None:
                self.skip(len(block.pieces) - place + sum(len(b.pieces) for b in old[which + 1 :]))
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

    def fits(self, part: _Piece | _Block) -> bool:
        """Whether the saved elements stand at this place now, to the byte."""
        live = self.live[self.at : self.at + len(part.shadow)]
        if live != part.shadow:
            return False
        if not part.delicate:
            return True
        body = part.body if isinstance(part, _Piece) else b"".join([p.body for p in part.pieces])
        return b"".join(map(self.encode_one, live)) == body

    def take(self, block: _Block) -> None:
        """Go past a block that fits."""
        self.blocks.append(block)
        self.at += len(block.shadow)
        self.weave.keep(len(block.pieces))

    def take_leading(self, block: _Block) -> int:
        """Go past as many pieces of a block as fit; how many that are."""
        if not self.fits(block.pieces[0]):
            return 0
        low, high = 0, len(block.pieces) - 1
        while low < high:
            middle = (low + high + 1) // 2
            part = block.part(low, middle)
            if self.fits(part):
                self.take(part)
                low = middle
            else:
                high = middle - 1
        return low

    def resync(self, ahead: list[_Piece]) -> int | None:
        """Behind a difference: how many old pieces are gone; what is new before the next comes."""
        for gone in range(1, len(ahead)):
            if self.fits(ahead[gone]):
                self.weave.skip(gone)
                return gone
        window = self.live[self.at : self.at + 4 * _LOOK_AHEAD]
        for gone, piece in enumerate(ahead):
            first = piece.shadow[0]
            for offset in range(len(window)):
                if window[offset] == first:
                    start, self.at = self.at, self.at + offset
                    fits = offset > 0 and self.fits(piece)
                    self.at = start
                    if fits:
                        self.weave.skip(gone)
                        self.come_until(start + offset)
                        return gone
                    break
        return None

    def come_until(self, end: int) -> None:
        """New pieces for the elements up to a place; they end where an element says so."""
        if self.at < end:
            self._reopen()
        pieces: list[_Piece] = []
        group: list[Any] = []
        bodies: list[bytes] = []
        size, delicate = 0, False
        for element in self.live[self.at : end]:
            body = self.encode_one(element)
            copy, coarse = _shadow(element)
            group.append(copy)
            bodies.append(body)
            size, delicate = size + len(body), delicate or coarse
            if len(body) >= _ALONE_BYTES or size >= _GROUP_BYTES_MAX or not zlib.crc32(body) & 7:
                pieces.append(_Piece(group, b"".join(bodies), delicate, True))
                group, bodies, size, delicate = [], [], 0, False
        if group:
            pieces.append(_Piece(group, b"".join(bodies), delicate, False))
        self.weave.come(pieces)
        for start in range(0, len(pieces), _BLOCK_PIECES):
            self.blocks.append(_Block.of(pieces[start : start + _BLOCK_PIECES]))
        self.at = max(self.at, end)

    def _reopen(self) -> None:
        """Take the last piece back if it ended only because the elements did."""
        if not self.blocks or self.blocks[-1].pieces[-1].closed:
            return
        block = self.blocks.pop()
        piece = block.pieces[-1]
        if piece.address in self.weave.fresh:
            self.blocks.append(block)
            return
        if len(block.pieces) > 1:
            self.blocks.append(block.part(0, len(block.pieces) - 1))
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
