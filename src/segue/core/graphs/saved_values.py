"""The values of a graph's channels as bytes, saved often: each save stores what is new and names the rest.

What a save stores is one piece: a record, and behind it the bytes that no earlier piece has. The record says
of every channel of which spans of which pieces its value consists; a short value stands in it itself. So that
a record stays short, its spans refer to the values of a *base*, an earlier record that names all of its
spans; once that has been repeated often enough the next record is a base itself. To read any state therefore
takes its own piece, that of its base, and the pieces that these two name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from ...errors import DamagedError
from ..base.values import Value
from .difference import difference

Typed = tuple[str, bytes]
"""What a serializer made of a value: the name of the form, and the bytes."""
Span = tuple[int, int, int]
"""Where some bytes are: the source, the place in it, and how many."""
Place = tuple[bytes, int, int]
"""The same with the address of a piece as the source; an empty one is the piece of the save itself."""

Source = TypeVar("Source", int, bytes)

OWN, BASE = -1, 0
"""Sources of spans: the piece of the record itself, and the channel's value in the base. Others count from 1
and are pieces that the record names; the number behind the last of those is the record's own piece, too."""
INLINE_BYTES = 192
"""A shorter value stands in the record."""
_TIDY_BYTES = 256
"""Neighbouring spans that together are shorter than this are stored anew with what changed beside them."""
_SPAN_BYTES_MEAN = 256
"""A value in shorter spans than that, in the mean, is stored anew as a whole."""
ADDRESS_BYTES = 16


class Record(Value, array_like=True, gc=False):
    """What a checkpoint consists of."""

    checkpoint: Typed
    """The checkpoint without the values of its channels."""
    metadata: Typed
    inline: dict[str, Typed]
    spans: dict[str, tuple[str, list[int]]]
    """The form of each longer value, and its spans, one after the other."""
    base: bytes = b""
    """The address of the base; empty if this is one."""
    pieces: bytes = b""
    """The addresses of the pieces that spans name, one after the other."""
    parent: str = ""
    """The id of the checkpoint that this one follows."""

    def addresses(self) -> list[bytes]:
        """The addresses of the pieces that it names, without its base."""
        return [self.pieces[at : at + ADDRESS_BYTES] for at in range(0, len(self.pieces), ADDRESS_BYTES)]


class Piece(Value, array_like=True, gc=False):
    """What is stored at once: a record, which is read only if it is wanted, and bytes that were new."""

    record: msgspec.Raw
    fresh: bytes = b""


_encode = msgspec.msgpack.Encoder().encode
_piece_decoder = msgspec.msgpack.Decoder(Piece)
_record_decoder = msgspec.msgpack.Decoder(Record)


def read_piece(body: bytes) -> Piece:
    """The piece of these bytes. Raises DamagedError."""
    try:
        return _piece_decoder.decode(body)
    except msgspec.MsgspecError as fault:
        raise DamagedError("a checkpoint", "its piece", str(fault)) from fault


def read_record(piece: Piece) -> Record:
    """The record of a piece that has one. Raises DamagedError."""
    try:
        return _record_decoder.decode(piece.record)
    except msgspec.MsgspecError as fault:
        raise DamagedError("a checkpoint", "its record", str(fault)) from fault


class State(Value):
    """A checkpoint as its serializer made it."""

    checkpoint: Typed
    metadata: Typed
    channels: Mapping[str, Typed]
    parent: str = ""
    """The id of the checkpoint that it follows; of some it is in the stream instead."""


class Kept:
    """A longer value as it was last saved."""

    __slots__ = ("body", "form", "spans")

    def __init__(self, form: str, body: bytes, spans: list[Span]) -> None:
        self.form, self.body, self.spans = form, body, spans


class Saving:
    """A save that is ready for the store."""

    __slots__ = ("_cost", "_kept", "_places", "_values", "body", "fresh_bytes")

    def __init__(
        self, values: SavedValues, body: bytes, kept: dict[str, Kept], cost: int, fresh_bytes: int,
        places: dict[str, list[Place]] | None,
    ) -> None:  # fmt: skip
        self._values, self._kept, self._cost, self._places = values, kept, cost, places
        self.body = body
        self.fresh_bytes = fresh_bytes

    @property
    def is_base(self) -> bool:
        """Whether the record names all of its spans."""
        return self._places is not None

    def settle(self, address: bytes) -> None:
        """Let the next save build on this one, which has this address. To be called once it is durable."""
        values = self._values
        if self._places is not None:
            places = self._places
            values.base, values.pieces, values.written = address, [], 0
            values.base_cost = self._cost
            values.base_places = {
                name: [(a or address, s, n) for a, s, n in found] for name, found in places.items()
            }
            for kept in self._kept.values():
                kept.spans = [(BASE, 0, len(kept.body))]
        else:
            values.written += self._cost
            if self.fresh_bytes:
                values.pieces.append(address)
        values.kept = self._kept


class SavedValues:
    """The values that were saved last, of one series of checkpoints."""

    __slots__ = ("base", "base_cost", "base_places", "kept", "pieces", "written")

    def __init__(self) -> None:
        self.kept: dict[str, Kept] = {}
        self.base = b""
        self.base_places: dict[str, list[Place]] = {}
        self.base_cost = 0
        self.pieces: list[bytes] = []
        """The pieces since the base, which are the sources from 1 on."""
        self.written = 0
        """How many bytes of spans were written since the base."""

    def save(self, state: State) -> Saving:
        """What is to be stored of a state."""
        fresh = bytearray()
        inline: dict[str, Typed] = {}
        kept: dict[str, Kept] = {}
        own = len(self.pieces) + 1
        for name, typed in state.channels.items():
            form, body = typed
            if len(body) < INLINE_BYTES:
                inline[name] = typed
                continue
            before = self.kept.get(name)
            if before is None:
                spans = [(own, len(fresh), len(body))]
                fresh += body
            elif before.body == body:
                spans, body = before.spans, before.body
            else:
                spans = _woven(before, body, fresh, own)
            kept[name] = Kept(form, body, spans)
        cost = ADDRESS_BYTES * len(self.pieces) + 4 * sum([3 * len(one.spans) for one in kept.values()])
        if self.base and self.written + cost < self.base_cost:
            told = {name: (one.form, flat(one.spans)) for name, one in kept.items()}
            named = b"".join(self.pieces)
            record = Record(state.checkpoint, state.metadata, inline, told, self.base, named, state.parent)
            return Saving(self, _encode((record, fresh)), kept, cost, len(fresh), None)
        return self._save_base(state, inline, kept, fresh)

    def _save_base(
        self, state: State, inline: dict[str, Typed], kept: dict[str, Kept], fresh: bytearray
    ) -> Saving:
        """A record that names all of its spans."""
        places = {name: self._absolute(name, one, fresh) for name, one in kept.items()}
        numbers: dict[bytes, int] = {b"": OWN}
        told: dict[str, tuple[str, list[int]]] = {}
        for name, found in places.items():
            spans = [(numbers.setdefault(a, len(numbers)), s, n) for a, s, n in found]
            told[name] = (kept[name].form, flat(spans))
        named = b"".join(numbers)
        record = Record(state.checkpoint, state.metadata, inline, told, b"", named, state.parent)
        cost = len(named) + 4 * sum([len(numbers) for _, numbers in told.values()])
        return Saving(self, _encode((record, fresh)), kept, max(cost, 512), len(fresh), places)

    def _absolute(self, name: str, one: Kept, fresh: bytearray) -> list[Place]:
        """Where the bytes of a value are; one that is in too many pieces goes into the new one as a whole."""
        found: list[Place] = []
        for source, start, length in one.spans:
            if source == BASE:
                found += _cut(self.base_places[name], start, start + length)
            else:
                found.append((self.pieces[source - 1] if source <= len(self.pieces) else b"", start, length))
        if len(found) > 64 + len(one.body) // _SPAN_BYTES_MEAN:
            found = [(b"", len(fresh), len(one.body))]
            fresh += one.body
        return found


def _woven(before: Kept, body: bytes, fresh: bytearray, own: int) -> list[Span]:
    """The spans of a changed value; what is new in it is added to ``fresh``, the source ``own``."""
    spans: list[Span] = []
    end = 0  # of the value so far
    dirty = 0  # where bytes begin that are to be stored anew, of which the last spans may be some

    def store(until: int) -> None:
        start = len(fresh)
        fresh.extend(body[dirty:until])
        spans.append((own, start, until - dirty))

    pending = False
    for part in difference(before.body, body):
        if isinstance(part, bytes):
            if not pending:
                dirty = end - _drop_short(spans)
                pending = True
            end += len(part)
            continue
        for span in _cut(before.spans, *part):
            end += span[2]
            if pending and span[2] < _TIDY_BYTES:
                continue  # stored anew with its neighbour
            if pending:
                store(end - span[2])
                pending = False
            spans.append(span)
    if pending:
        store(end)
    return spans


def _drop_short(spans: list[Span]) -> int:
    """Take the last spans away as long as they are short together, and say how many bytes they were."""
    dropped = 0
    while spans and dropped + spans[-1][2] < _TIDY_BYTES:
        dropped += spans.pop()[2]
    return dropped


def _cut(spans: Iterable[tuple[Source, int, int]], start: int, end: int) -> list[tuple[Source, int, int]]:
    """The spans of a range of a value."""
    found: list[tuple[Source, int, int]] = []
    at = 0
    for span in spans:
        after = at + span[2]
        if after > start:
            if at >= start and after <= end:
                found.append(span)
            else:
                first, last = max(start, at), min(end, after)
                found.append((span[0], span[1] + first - at, last - first))
            if after >= end:
                break
        at = after
    return found


def flat(spans: Iterable[Span]) -> list[int]:
    """Spans as a record has them, one after the other."""
    return [number for span in spans for number in span]


def unflat(told: list[int]) -> list[Span]:
    """The spans of a record. Raises ValueError."""
    numbers = iter(told)
    return list(zip(numbers, numbers, numbers, strict=True))
