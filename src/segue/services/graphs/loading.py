"""Pieces of checkpoints as they are stored, and states put together from them.

A piece begins with the name of its generation, so that no two generations share one: what an old generation
named can be removed without a look at anything else.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import msgspec

from ...core.base.values import Value
from ...core.graphs.saved_values import (
    Piece,
    Reader,
    Record,
    SavedValues,
    State,
    Typed,
    read_piece,
    read_record,
)
from ...core.journal.pieces import address
from ...effects.files.compression import Compressor, decompress
from ...errors import DamagedError
from ...stores.base import Journal

GENERATION_BYTES = 8
_PLAIN, _COMPRESSED = b"\x00", b"\x01"
_COMPRESS_BYTES_MIN = 400


class TaskWrites(Value, array_like=True):
    """What a task wrote behind a checkpoint."""

    task: str
    path: str
    replaces: bool
    """Whether these take the place of earlier ones; else the first of a place stay."""
    writes: list[tuple[int, str, str, bytes]]
    """The place of each among those of its task, the channel, and the value as it was serialised."""


_writes_decoder = msgspec.msgpack.Decoder(TaskWrites)
_encode = msgspec.msgpack.Encoder().encode


_ready = threading.local()


def sealed(generation: bytes, body: bytes) -> tuple[str, bytes]:
    """A piece as it is stored, with its address."""
    shorter = body
    if len(body) >= _COMPRESS_BYTES_MIN:
        compressor = getattr(_ready, "compressor", None)
        if compressor is None:
            compressor = _ready.compressor = Compressor()
        shorter = compressor.compress(body)
    if len(shorter) < len(body):
        piece = generation + _COMPRESSED + shorter
    else:
        piece = generation + _PLAIN + body
    return address(piece), piece


def _unsealed(name: str, piece: bytes) -> bytes:
    form, body = piece[GENERATION_BYTES : GENERATION_BYTES + 1], piece[GENERATION_BYTES + 1 :]
    if form == _PLAIN:
        return body
    try:
        return decompress(body)
    except ValueError as fault:
        raise DamagedError("a checkpoint", name, str(fault)) from fault


def writes_piece(generation: bytes, writes: TaskWrites) -> tuple[str, bytes]:
    """The piece of some writes."""
    return sealed(generation, _encode((writes, b"")))


class Loader:
    """Reads the pieces of checkpoints, each once."""

    def __init__(self, store: Journal) -> None:
        self._store = store
        self._known: dict[str, Piece] = {}
        self._reader = Reader()

    def fetch(self, names: Iterable[str]) -> None:
        """Read pieces that will be needed, all at once. Raises DamagedError if one is missing."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._known]
        if not wanted:
            return
        found = self._store.pieces(wanted)
        for name in wanted:
            if name not in found:
                raise DamagedError("a checkpoint", name, "a piece of it is missing")
            self._known[name] = read_piece(_unsealed(name, found[name]))

    def record(self, name: str) -> Record:
        """The record of a checkpoint, by the address of its piece."""
        self.fetch([name])
        return read_record(self._known[name])

    def state(self, name: str) -> tuple[State, SavedValues]:
        """A checkpoint, and what a save after it builds on."""
        record = self.record(name)
        base = self.record(record.base.hex()) if record.base else None
        named = [*record.addresses(), *(base.addresses() if base is not None else ())]
        self.fetch([one.hex() for one in named])
        own = bytes.fromhex(name)
        fresh = {one: self._known[one.hex()].fresh for one in (*named, own)}
        if record.base:
            fresh[record.base] = self._known[record.base.hex()].fresh
        return self._reader.restored(own, record, base, fresh)

    def metadata(self, name: str) -> Typed:
        """The metadata of a checkpoint, without its values."""
        return self.record(name).metadata

    def writes(self, names: Sequence[str]) -> list[tuple[str, str, int, str, Typed]]:
        """(path, task, place, channel, value) of the writes in pieces, in the order of the graph: of two in
        the same place the first one holds, unless the second replaces it."""
        held: dict[tuple[str, int], tuple[str, str, int, str, Typed]] = {}
        for found in self.task_writes(names):
            for place, channel, form, body in found.writes:
                if found.replaces or (found.task, place) not in held:
                    held[found.task, place] = (found.path, found.task, place, channel, (form, body))
        return sorted(held.values(), key=lambda write: write[:3])

    def task_writes(self, names: Sequence[str]) -> list[TaskWrites]:
        """What is in these pieces, one by one."""
        self.fetch(names)
        try:
            return [_writes_decoder.decode(self._known[name].record) for name in names]
        except msgspec.MsgspecError as fault:
            raise DamagedError("a checkpoint's writes", names[0], str(fault)) from fault
