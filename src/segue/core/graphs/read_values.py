"""States read back from records and pieces, and values that are packed, so that reading takes few pieces.

A state may lie in as many pieces as it has elements. What is packed are copies of the values that a base had,
with the places that their bytes have in pieces: whoever has them reads from pieces only what is newer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ...errors import DamagedError
from ..base.values import Value
from .saved_values import (
    ADDRESS_BYTES,
    BASE,
    OWN,
    Kept,
    Place,
    Record,
    SavedValues,
    State,
    Typed,
    flat,
    unflat,
)


class Packed(Value, array_like=True, gc=False):
    """The values of a base, one after the other."""

    pieces: bytes
    """The addresses of the pieces that hold their bytes, one after the other."""
    values: list[tuple[list[int], bytes]]
    """The spans of each value, whose sources count from 0, and the value."""

    def addresses(self) -> list[bytes]:
        """The addresses of the pieces that need not be read."""
        return _addresses(self.pieces)


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(Packed)


def packed(values: SavedValues) -> bytes:
    """The values as they were saved last, which was in a base."""
    numbers: dict[bytes, int] = {}
    told = [
        (flat([(numbers.setdefault(a, len(numbers)), s, n) for a, s, n in places]), values.kept[name].body)
        for name, places in values.base_places.items()
    ]
    return _encode(Packed(b"".join(numbers), told))


def read_packed(body: bytes) -> Packed | None:
    """What was packed; None if it cannot be read, since it is in pieces, too."""
    try:
        return _decoder.decode(body)
    except msgspec.MsgspecError:
        return None


class Sources:
    """Bytes of pieces, by where they are."""

    def __init__(self) -> None:
        self.fresh: dict[bytes, bytes] = {}
        self._packed: dict[bytes, list[tuple[int, int, int, bytes]]] = {}

    def unpack(self, values: Packed) -> None:
        """Know the bytes of packed values, too."""
        named = values.addresses()
        for told, body in values.values:
            at = 0
            for number, start, length in unflat(told):
                self._packed.setdefault(named[number], []).append((start, start + length, at - start, body))
                at += length

    def missing(self, places: Iterable[Place]) -> list[bytes]:
        """The addresses of the pieces that must be read for these."""
        fresh, known = self.fresh, self._packed
        found: dict[bytes, None] = {}
        for address, start, length in places:
            if address not in fresh:
                for first, last, _, _ in known.get(address, ()):
                    if first <= start and start + length <= last:
                        break
                else:
                    found[address] = None
        return list(found)

    def joined(self, places: Iterable[Place]) -> bytes:
        """The bytes of places, one after the other. Raises KeyError and ValueError."""
        fresh, found = self.fresh, []
        for address, start, length in places:
            body, at = fresh.get(address), start
            if body is None:
                for first, last, shift, packed_body in self._packed[address]:
                    if first <= start and start + length <= last:
                        body, at = packed_body, start + shift
                        break
                else:
                    raise KeyError(address)
            if at + length > len(body):
                raise ValueError(address)
            found.append(body[at : at + length])
        return b"".join(found)


class Reader:
    """Reads states; it remembers the values of the base that was read last."""

    def __init__(self) -> None:
        self._root = b""
        self._places: dict[str, list[Place]] = {}
        self._bodies: dict[str, bytes] | None = None

    def places(self, address: bytes, record: Record, base: Record | None) -> Iterator[Place]:
        """Where the bytes of a state are that are not known yet. Raises DamagedError."""
        try:
            self._take_base(address, record, base)
            if self._bodies is None:
                for places in self._places.values():
                    yield from places
            if base is not None:
                named = [*record.addresses(), address]
                for _, told in record.spans.values():
                    yield from (
                        (address if k == OWN else named[k - 1], s, n) for k, s, n in unflat(told) if k != BASE
                    )
        except (ValueError, IndexError) as fault:
            raise _broken(address) from fault

    def _take_base(self, address: bytes, record: Record, base: Record | None) -> None:
        root = record.base or address
        if self._root != root:
            whole = base if base is not None else record
            named = [root, *whole.addresses()]
            self._places = {
                name: [(named[k if k > 0 else 0], s, n) for k, s, n in unflat(told)]
                for name, (_, told) in whole.spans.items()
            }
            self._root, self._bodies = root, None

    def state(self, address: bytes, record: Record, base: Record | None, sources: Sources) -> State:
        """A state, of which ``sources`` have all ``places``. Raises DamagedError."""
        try:
            self._take_base(address, record, base)
            if self._bodies is None:
                self._bodies = {name: sources.joined(places) for name, places in self._places.items()}
            channels: dict[str, Typed] = dict(record.inline)
            if base is None:
                for name, (form, _) in record.spans.items():
                    channels[name] = (form, self._bodies[name])
            else:
                named = [*record.addresses(), address]
                for name, (form, told) in record.spans.items():
                    channels[name] = (form, self._woven(name, unflat(told), address, named, sources))
        except (KeyError, ValueError, IndexError) as fault:
            raise _broken(address) from fault
        return State(record.checkpoint, record.metadata, channels, record.parent)

    def _woven(
        self, name: str, spans: Iterable[tuple[int, int, int]], address: bytes, named: list[bytes],
        sources: Sources,
    ) -> bytes:  # fmt: skip
        """A value of which the base has a part."""
        assert self._bodies is not None
        found = []
        for source, start, length in spans:
            if source == BASE:
                part = self._bodies[name][start : start + length]
                if len(part) != length:
                    raise ValueError(name)
            else:
                part = sources.joined([(address if source == OWN else named[source - 1], start, length)])
            found.append(part)
        return b"".join(found)

    def values(self, address: bytes, record: Record, base: Record | None, state: State) -> SavedValues:
        """What a save after a state builds on, which was just read."""
        values = SavedValues()
        values.base, values.base_places = self._root, dict(self._places)
        whole = base if base is not None else record
        spans = sum(len(told) for _, told in whole.spans.values())
        values.base_cost = max(len(whole.pieces) + 4 * spans, 512)
        if base is None:
            for name, (form, _) in record.spans.items():
                body = state.channels[name][1]
                values.kept[name] = Kept(form, body, [(BASE, 0, len(body))])
            return values
        values.pieces = [*record.addresses(), address]
        own = len(values.pieces)
        for name, (form, told) in record.spans.items():
            found = [(own if k == OWN else k, s, n) for k, s, n in unflat(told)]
            values.kept[name] = Kept(form, state.channels[name][1], found)
        told_bytes = len(record.pieces) + 4 * sum(len(told) for _, told in record.spans.values())
        values.written = told_bytes * own // 2  # of those since the base, which grew one by one
        return values


def _addresses(joined: bytes) -> list[bytes]:
    return [joined[at : at + ADDRESS_BYTES] for at in range(0, len(joined), ADDRESS_BYTES)]


def _broken(address: bytes) -> DamagedError:
    return DamagedError("a checkpoint", address.hex(), "it names what is not there")
