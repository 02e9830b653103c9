"""Pieces of checkpoints as they are stored, also those of before."""

from __future__ import annotations

import pytest

from segue.core.graphs.saved_values import SavedValues, State
from segue.core.journal.pieces import address
from segue.effects.files.compression import compress
from segue.errors import DamagedError
from segue.services.graphs.loading import Loader, sealed
from segue.stores.base import Append
from segue.stores.memory.store import VolatileStore

GENERATION = b"12345678"
STATE = State(("m", b"checkpoint"), ("m", b"metadata"), {"all": ("b", b"word " * 200)}, "before")


def stored(piece: bytes) -> tuple[VolatileStore, str]:
    """A store that holds a piece."""
    store, name = VolatileStore(), address(piece)
    store.append(Append("s", 0), pieces={name: piece})
    return store, name


def test_a_piece_is_shorter_than_its_bytes_and_is_read_as_it_was() -> None:
    body = SavedValues().save(STATE).body
    name, piece = sealed(GENERATION, body)
    store, there = stored(piece)
    assert there == name and len(piece) < len(body) // 2
    assert Loader(store).state(name, "s") == STATE


def test_a_piece_that_was_compressed_without_names_is_read() -> None:
    store, name = stored(GENERATION + b"\x01" + compress(SavedValues().save(STATE).body))
    assert Loader(store).state(name, "s") == STATE


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_piece_that_lost_its_end_is_told_as_damaged(cut: int) -> None:
    store, name = stored(sealed(GENERATION, SavedValues().save(STATE).body)[1][:-cut])
    with pytest.raises(DamagedError):
        Loader(store).state(name, "s")
