"""Values that are saved often: what is read is what was saved, and what is stored is what changed."""

from __future__ import annotations

import hashlib
import random

from hypothesis import given, settings, strategies as st

from segue.core.graphs.difference import difference
from segue.core.graphs.read_values import Packed, Reader, Sources, packed, read_packed
from segue.core.graphs.saved_values import SavedValues, State, read_piece, read_record


class Pieces:
    """Where the pieces of the tests are."""

    def __init__(self) -> None:
        self.bodies: dict[bytes, bytes] = {}
        self.packed: Packed | None = None
        self.read = 0

    def save(self, values: SavedValues, state: State, *, pack: bool = False) -> bytes:
        saving = values.save(state)
        address = hashlib.sha256(saving.body).digest()[:16]
        self.bodies[address] = saving.body
        saving.settle(address)
        if pack and saving.is_base:
            self.packed = read_packed(packed(values))
        return address

    def load(self, address: bytes, reader: Reader) -> tuple[State, SavedValues]:
        record = read_record(read_piece(self.bodies[address]))
        base = read_record(read_piece(self.bodies[record.base])) if record.base else None
        sources = Sources()
        if self.packed is not None:
            sources.unpack(self.packed)
        places = list(reader.places(address, record, base))
        for name in sources.missing(places):
            sources.fresh[name] = read_piece(self.bodies[name]).fresh
            self.read += 1
        state = reader.state(address, record, base, sources)
        return state, reader.values(address, record, base, state)


def state_of(**channels: bytes) -> State:
    return State(("m", b"checkpoint"), ("m", b"metadata"), {name: ("b", v) for name, v in channels.items()})


edits = st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 600), st.binary(max_size=600)), max_size=6)


@given(st.binary(max_size=4000), edits, st.sampled_from([b"", b"ab", b"0123456789" * 30]))
def test_the_parts_of_a_value_are_the_value(
    old: bytes, changes: list[tuple[int, int, bytes]], more: bytes
) -> None:
    new = bytearray(old + more)
    for place, gone, come in changes:
        new[place : place + gone] = come
    old += more * 2
    parts = difference(old, bytes(new))
    assert b"".join(old[p[0] : p[1]] if isinstance(p, tuple) else p for p in parts) == new


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60))
def test_every_state_is_read_as_it_was_saved(seed: int, count: int) -> None:
    draw, pieces, values = random.Random(seed), Pieces(), SavedValues()
    elements: list[bytes] = []
    saved: list[tuple[bytes, State]] = []
    for step in range(count):
        kind = draw.randrange(8)
        if kind < 4:
            elements.append(draw.randbytes(draw.randrange(700)))
        elif kind == 4 and elements:
            elements[draw.randrange(len(elements))] = draw.randbytes(draw.randrange(700))
        elif kind == 5 and elements:
            del elements[draw.randrange(len(elements))]
        elif kind == 6:
            elements = elements[: draw.randrange(4)]
        more = {"now_and_then": draw.randbytes(300)} if step % 5 < 2 else {}
        state = state_of(all=b"".join(elements), short=b"%d" % step, **more)
        address = pieces.save(values, state, pack=draw.random() < 0.5)
        saved.append((address, state))
        if draw.random() < 0.2:  # another process goes on
            _, values = pieces.load(address, Reader())
    reader = Reader()
    for address, state in draw.sample(saved, len(saved)):
        assert pieces.load(address, reader)[0] == state


def test_of_a_long_list_that_grows_only_what_is_new_is_stored() -> None:
    draw, pieces, values = random.Random(1), Pieces(), SavedValues()
    elements = [draw.randbytes(1000) for _ in range(1000)]
    pieces.save(values, state_of(all=b"".join(elements)))
    first = sum(map(len, pieces.bodies.values()))
    for _ in range(300):
        elements = [*elements[1:], draw.randbytes(1000)]
        elements[draw.randrange(1000)] = draw.randbytes(1000)
        pieces.save(values, state_of(all=b"\xdc\x03\xe8" + b"".join(elements)))
    assert sum(map(len, pieces.bodies.values())) - first < 300 * 5_000


def test_a_value_in_many_short_pieces_is_put_together_again() -> None:
    pieces, values, body, address = Pieces(), SavedValues(), b"", b""
    for step in range(2000):
        body += b"%08d" % step
        address = pieces.save(values, state_of(all=body))
    record = read_record(read_piece(pieces.bodies[address]))
    assert len(record.addresses()) < 200
    assert pieces.load(address, Reader())[0].channels["all"] == ("b", body)


def test_a_packed_state_is_read_from_few_pieces_and_so_is_what_follows_it() -> None:
    draw, pieces, values = random.Random(3), Pieces(), SavedValues()
    elements, address = [draw.randbytes(1000) for _ in range(100)], b""
    for step in range(300):
        elements = [*elements[1:], draw.randbytes(1000)]
        address = pieces.save(values, state_of(all=b"".join(elements)), pack=step < 280)
    unpacked, pieces.packed = pieces.packed, None
    assert pieces.load(address, Reader())[0] == state_of(all=b"".join(elements))
    assert pieces.read > 80
    pieces.packed, pieces.read = unpacked, 0
    assert pieces.load(address, Reader())[0] == state_of(all=b"".join(elements))
    assert pieces.read < 50


def test_what_is_packed_and_cannot_be_read_is_left() -> None:
    assert read_packed(b"\x93nonsense") is None
