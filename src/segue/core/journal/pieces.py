"""Large values that change little, saved often: a rope of content-addressed pieces.

A value is one MessagePack byte string, cut into pieces that are stored once under their hash;
joining the pieces gives it back. Lists and objects with many elements are cut between them,
at places that the elements themselves choose, so that dropping the first one moves no other
cut. A save compares the elements with a private copy of those saved before, encodes only the
ones that differ, and names only the pieces that are new.

What is loaded is equal to what was saved. In Python ``1 == True``, so the copies hold something stricter in
place of such values, and elements for which that is not possible are compared by their bytes.
"""

from __future__ import annotations

import operator
from binascii import crc32
from itertools import accumulate, compress, takewhile
from typing import Any

import msgspec

from ...errors import UsageError
from ..base.canonical import sha256
from .shadow_copies import shadow

SECTION_ELEMENTS = 16
"""A list or object with at least this many elements is cut between them."""
_ALONE_BYTES = 512
_GROUP_BYTES_MAX = 2048
_CUT_BYTES = 4096
"""What has no elements, such as a long text, is cut at this size."""
_LOOK_AHEAD = 64
_AT_ONCE = 256
"""How many elements are compared at once."""
_DEPTH_MAX = 6

_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder()

Splices = tuple[tuple[int, int, list[str]], ...]


def address(piece: bytes) -> str:
    """The name of a piece: half a SHA-256, in hex."""
    return sha256(piece).hexdigest()[:32]


class _Piece:
    """The encoding of some neighbouring elements, or bytes without elements."""

    __slots__ = ("address", "body", "closed", "count", "delicate")

    def __init__(self, body: bytes, count: int, delicate: bool, closed: bool) -> None:
        self.body, self.count, self.delicate, self.closed = body, count, delicate, closed
        self.address = address(body)


class _Section:
    """Bytes without elements, then the elements of one list or object, with private copies of them."""

    __slots__ = ("delicate", "pairs", "pieces", "prefix", "shadow", "size")

    def __init__(self, pairs: bool) -> None:
        self.pairs = pairs
        self.prefix: list[_Piece] = []
        self.pieces: list[_Piece] = []
        self.shadow: list[Any] = []
        self.size = self.delicate = 0


class Rope:
    """A saved value. It changes when a save of another value is settled, and not before."""

    __slots__ = ("sections",)

    def __init__(self) -> None:
        self.sections: list[_Section] = []

    def pieces(self) -> list[_Piece]:
        """All pieces, in order."""
        return [piece for section in self.sections for piece in (*section.prefix, *section.pieces)]

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of all pieces, in order."""
        return tuple([p.address for p in self.pieces()])

    def value(self) -> Any:
        """The value, as plain data of the caller's own."""
        return decode(b"".join([p.body for p in self.pieces()]))


class Saving:
    """A save that is ready for the journal."""

    __slots__ = ("_walks", "fresh", "rope", "size", "splices")

    def __init__(self, rope: Rope, size: int, walks: list[_Walk], weave: _Weave) -> None:
        self.rope, self.size, self._walks = rope, size, walks
        self.splices: Splices = tuple(weave.splices)
        """What changes in the list of addresses, applied in order."""
        self.fresh = weave.fresh
        """Pieces that the previous rope did not have."""

    def settle(self) -> Rope:
        """The rope, brought to the state of this save. To be called once, after the save is durable."""
        for walk in self._walks:
            walk.settle()
        self.rope.sections = [walk.section for walk in self._walks]
        return self.rope


def encode(value: Any) -> bytes:
    """The bytes of a value; refuses what cannot be stored."""
    try:
        return _encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as fault:
        raise _unsaved(fault) from fault


def _unsaved(fault: Exception) -> UsageError:
    hint = "use null, booleans, numbers, text, lists and objects"
    return UsageError(f"this state cannot be saved: {fault}", hint=hint)


def decode(body: bytes) -> Any:
    """The value that ``encode`` made the bytes from. Raises ``msgspec.DecodeError`` for others."""
    return _decoder.decode(body)


def save(old: Rope, value: Any) -> Saving:
    """The save of a value, with what is new in it compared with ``old``."""
    weave, size = _Weave(), 0
    walks: list[_Walk] = []
    sections = old.sections
    try:
        for number, (prefix, pairs, live) in enumerate(_sections(value)):
            section = sections[number] if number < len(sections) else _Section(pairs)
            cut = weave.prefix(section.prefix, prefix)
            if section.pairs != pairs:
                weave.splice(len(section.pieces), [])
                section = _Section(pairs)
            done = _Walk(weave, section, cut, live).went()
            walks.append(done)
            size += len(prefix) + done.size
    except (TypeError, ValueError, OverflowError, RecursionError) as fault:
        raise _unsaved(fault) from fault
    for section in sections[len(walks) :]:
        weave.splice(len(section.prefix) + len(section.pieces), [])
    return Saving(old, size, walks, weave)


def load(bodies: list[bytes], addresses: tuple[str, ...]) -> tuple[Rope, bool]:
    """The rope of pieces that a store gave back, and whether its cuts are those that are stored."""
    rope = save(Rope(), decode(b"".join(bodies))).settle()
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
    """Add the parts of a value to those found, and return the bytes after the last of them."""
    kind = type(value)
    if kind is dict and len(value) < SECTION_ELEMENTS and depth < _DEPTH_MAX:
        prefix += _HEADS[len(value)]
        for name, child in value.items():
            prefix = _walk(child, depth + 1, prefix + _encode(name), found)
        return prefix
    if (kind is not list and kind is not dict) or len(value) < SECTION_ELEMENTS:
        body = _encode(value)
        if kind is not list or len(body) < _GROUP_BYTES_MAX:
            return prefix + body
    if kind is list:
        found.append((prefix + _header(len(value), 0x90), False, value))
    else:
        found.append((prefix + _header(len(value), 0x80), True, list(value.items())))
    return b""


def _header(length: int, kind: int) -> bytes:
    if length < 16:
        return bytes((kind | length,))
    wide, size = (0, 2) if length < 65536 else (1, 4)
    return bytes(((0xDC if kind == 0x90 else 0xDE) + wide,)) + length.to_bytes(size, "big")


_HEADS = [_header(length, 0x80) for length in range(SECTION_ELEMENTS)]


def _place(elements: list[Any], wanted: Any, start: int) -> int:
    """The index of an element in a list, at or after ``start``; 0 if it is not there."""
    try:
        return elements.index(wanted, start)
    except ValueError:
        return 0


def _encode_pair(pair: Any) -> bytes:
    return _encode(pair[0]) + _encode(pair[1])


class _Weave:
    """A new rope while it is made: which pieces are kept, removed and added."""

    __slots__ = ("count", "fresh", "splices")

    def __init__(self) -> None:
        self.count = 0
        """How many pieces it has up to here."""
        self.splices: list[tuple[int, int, list[str]]] = []
        self.fresh: dict[str, bytes] = {}

    def prefix(self, old: list[_Piece], body: bytes) -> list[_Piece]:
        """Pieces for bytes without elements: the old ones at both ends, new ones between."""
        if len(old) == 1 and len(body) <= _CUT_BYTES:
            if old[0].body == body:
                self.count += 1
                return old
            cuts = [_Piece(body, 0, False, True)]
            self.splice(1, cuts)
            return cuts
        start, at = 0, 0
        while start < len(old) and body.startswith(old[start].body, at):
            at += len(old[start].body)
            start += 1
        stop, end = len(old), len(body)
        while stop > start and body.endswith(old[stop - 1].body, at, end):
            end -= len(old[stop - 1].body)
            stop -= 1
        self.count += start
        cuts = [
            _Piece(body[i : min(i + _CUT_BYTES, end)], 0, False, True) for i in range(at, end, _CUT_BYTES)
        ]
        self.splice(stop - start, cuts)
        self.count += len(old) - stop
        return [*old[:start], *cuts, *old[stop:]]

    def splice(self, gone: int, come: list[_Piece]) -> None:
        """Replace the next ``gone`` pieces by these."""
        if not gone and not come:
            return
        place, names = self.count, [piece.address for piece in come]
        for piece in come:
            self.fresh[piece.address] = piece.body
        self.count += len(come)
        if self.splices:
            before, lost, others = self.splices[-1]
            if before + len(others) == place:
                self.splices[-1] = (before, lost + gone, others + names)
                return
        self.splices.append((place, gone, names))


class _Walk:
    """A walk over the elements of one section: old pieces where they fit, new ones elsewhere."""

    def __init__(self, weave: _Weave, section: _Section, prefix: list[_Piece], live: list[Any]) -> None:
        self.weave, self.section, self.prefix, self.live = weave, section, prefix, live
        self.piece = self.element = self.at = 0
        """The indexes of the next old piece, of the next old element, and of the next present element."""
        self.base = weave.count
        self.size, self.delicate = section.size, section.delicate
        self.open = False
        """Whether the piece before this place is an old one that ended only because the elements did."""
        self.edits: list[tuple[int, int, list[_Piece], int, int, list[Any]]] = []
        """(index, how many to remove, pieces to insert; the same for the copies), applied in order."""

    def settle(self) -> None:
        """Bring the section to the state of the elements that were walked over."""
        section = self.section
        pieces, shadow = section.pieces, section.shadow
        for place, gone, come, at, lost, copies in self.edits:
            pieces[place : place + gone] = come
            shadow[at : at + lost] = copies
        section.prefix, section.size, section.delicate = self.prefix, self.size, self.delicate

    def went(self) -> _Walk:
        """The walk, at the end of the elements."""
        pieces = self.section.pieces
        count = len(pieces)
        while self.piece < count:
            self.take()
            place = self.piece
            if place + 1 < count:
                element = self.element + pieces[place].count
                if self.fits(place + 1, element, self.at):  # the most frequent case: one is gone
                    self.edit(1, self.at)
                    continue
                end = self.at + pieces[place].count
                if self.fits(place + 1, element, end):  # the next: one was changed
                    self.edit(1, end)
                    continue
            if place < count and not self.resync():
                self.edit(count - place, len(self.live))
                return self
        self.edit(0, len(self.live))
        return self

    def take(self) -> None:
        """Keep the old pieces whose elements are at this place, byte for byte."""
        section = self.section
        pieces, element, place = section.pieces, self.element, self.piece
        if self.at >= len(self.live) or self.live[self.at] != section.shadow[element]:
            return
        same = _run(section.shadow, element, self.live, self.at)
        count = len(pieces) - place
        if element + same < len(section.shadow):
            count = same  # if there is one element a piece, as with large elements
            if len(section.shadow) != len(pieces):
                ends = accumulate([piece.count for piece in pieces[place : place + same]])
                whole = [*takewhile(same.__ge__, ends)]
                count, same = len(whole), whole[-1] if whole else 0
        if section.delicate:
            count, same = self.exact(count, same)
        if count:
            self.piece = place = place + count
            self.element = element + same
            self.at += same
            self.weave.count += count
            self.open = not pieces[place - 1].closed

    def exact(self, count: int, same: int) -> tuple[int, int]:
        """How many of the next pieces, and of their elements, are the same byte for byte."""
        at = self.at
        for number, piece in enumerate(self.section.pieces[self.piece : self.piece + count]):
            if piece.delicate and not self.spelled(piece, at):
                return number, at - self.at
            at += piece.count
        return count, same

    def spelled(self, piece: _Piece, at: int) -> bool:
        """Whether the bytes of a piece are those of the elements at a place."""
        encode_one = _encode_pair if self.section.pairs else _encode
        return b"".join(map(encode_one, self.live[at : at + piece.count])) == piece.body

    def fits(self, place: int, element: int, at: int) -> bool:
        """Whether the elements of an old piece are equal to those that are now at ``at``."""
        piece = self.section.pieces[place]
        if self.live[at : at + piece.count] != self.section.shadow[element : element + piece.count]:
            return False
        return not piece.delicate or self.spelled(piece, at)

    def resync(self) -> bool:
        """After a difference: continue where the elements of an old piece occur again, if they do."""
        at, place = self.at, self.piece
        window = self.live[at : at + 4 * _LOOK_AHEAD]
        if not window:
            return False
        ahead = self.section.pieces[place : place + _LOOK_AHEAD]
        starts = list(accumulate([piece.count for piece in ahead[:-1]], initial=self.element))
        firsts = [self.section.shadow[start] for start in starts]
        gone = 0
        while gone := _place(firsts, window[0], gone + 1):
            if self.fits(place + gone, starts[gone], at):
                self.edit(gone, at)
                return True
        for gone, first in enumerate(firsts):
            offset = _place(window, first, 1)
            if offset and self.fits(place + gone, starts[gone], at + offset):
                self.edit(gone, at + offset)
                return True
        return False

    def edit(self, gone: int, end: int) -> None:
        """Replace the next ``gone`` old pieces by new ones for the elements up to ``end``."""
        weave, old = self.weave, self.section.pieces
        start, place = self.at, self.piece
        if start < end and self.open:  # take the last piece back
            place, gone, weave.count = place - 1, gone + 1, weave.count - 1
            start -= old[place].count
        if not gone and start >= end:
            return
        lost = 0
        for piece in old[place : place + gone]:
            lost += piece.count
            self.size -= len(piece.body)
            self.delicate -= piece.delicate
        come, copies = self.cut(start, end) if start < end else ([], [])
        self.edits.append((weave.count - self.base, gone, come, start, lost, copies))
        weave.splice(gone, come)
        self.element += lost - (self.at - start)
        self.piece, self.at, self.open = place + gone, end, False

    def cut(self, start: int, end: int) -> tuple[list[_Piece], list[Any]]:
        """New pieces for elements, which end where an element says so, and private copies of these."""
        pieces: list[_Piece] = []
        copies: list[Any] = []
        encode_one = _encode_pair if self.section.pairs else _encode
        body, count, delicate = b"", 0, False
        for element in self.live[start:end]:
            own = encode_one(element)
            copy, coarse = shadow(element)
            copies.append(copy)
            body += own
            count += 1
            delicate = delicate or coarse
            if len(own) >= _ALONE_BYTES or len(body) >= _GROUP_BYTES_MAX or not crc32(own) & 7:
                pieces.append(_Piece(body, count, delicate, True))
                self.size += len(body)
                self.delicate += delicate
                body, count, delicate = b"", 0, False
        if count:
            pieces.append(_Piece(body, count, delicate, False))
            self.size += len(body)
            self.delicate += delicate
        return pieces, copies


def _run(old: list[Any], element: int, live: list[Any], at: int) -> int:
    """How many elements of two lists are equal, from an index of each on."""
    length, same = min(len(old) - element, len(live) - at), 0
    while same < length:
        stop = min(same + _AT_ONCE, length)
        copies, there = old[element + same : element + stop], live[at + same : at + stop]
        if there != copies:
            return same + next(compress(range(stop - same), map(operator.ne, there, copies)), 0)
        same = stop
    return length
