"""Pieces of checkpoints as they are stored, and states put together from them.

A piece begins with the name of its generation, so that no two generations share one: what an old generation
named can be removed without a look at anything else.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import msgspec

from ...core.base.values import Value
from ...core.graphs.read_values import Packed, Reader, Sources, packed, read_packed
from ...core.graphs.saved_values import Piece, Record, SavedValues, State, Typed, read_piece, read_record
from ...core.journal.pieces import address
from ...core.sessions.snapshot import sealed as snapshot_seal, unsealed as snapshot_unseal
from ...effects.files.compression import ShortTexts, compress, decompress
from ...errors import DamagedError
from ...stores.base import Journal
from .series import Entry

GENERATION_BYTES = 8
_PLAIN, _COMPRESSED, _WITH_NAMES = b"\x00", b"\x01", b"\x02"
"""How the bytes of a piece are stored; compressed without names until there were some."""
_COMPRESS_BYTES_MIN = 200
PACK_FORMAT = 1
_ASK_FOR_PACK = 12
"""With fewer pieces to read it is not looked for what is packed."""


NAMES = (
    b"additional_kwargs\x80\xb1response_metadata\x80\xaatool_calls\x90\xb2invalid_tool_calls\x90"
    b"\xaeusage_metadata\xc0\xacinput_tokens\xadoutput_tokens\xactotal_tokens\xa4name\xa4args\xa4type"
    b"\xa6system\xa4tool\xaclangchain_core.messages.tool\xabToolMessage\xactool_call_id\xa6status\xa7success"
    b"langchain_core.messages.ai\xa9AIMessage\x83\xa7content\xa2id\xa4type\xa2ai\xb3model_validate_json"
    b"langchain_core.messages.human\xacHumanMessage\x83\xa7content\xa2id\xa4type\xa5human\xb3model_validate_json"
    b"__pregel_tasks\xa9__start__\xaabranch:to:\xadversions_seen\xa7messages\xa5agent\xa5tools"
    b"\xa6source\xa5input\xa4loop\xa4step\xa7parents\x80\xa6run_id\xa9thread_id"
    b"\x93\xa7msgpack\xc4\x01empty\xc4\x00null\x87\xa1v\x04\xa2ts\xd9 2026-01-01T00:00:00.000000+00:00"
    b"\xa2id\xd9$1f100000-0000-6000-8000-000000000000\xb0channel_values\xb0channel_versions\x83"
    b"\xadversions_seen\x82\xa9__input__\x80\xb0updated_channels\xc0"
)
"""Words that are in most checkpoints of LangGraph, with which pieces are compressed. What was compressed with
them needs exactly these bytes: other words get another form, and these stay."""


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


def _short_texts() -> ShortTexts:
    found: ShortTexts | None = getattr(_ready, "short_texts", None)
    if found is None:
        found = _ready.short_texts = ShortTexts(NAMES)
    return found


def sealed(generation: bytes, body: bytes) -> tuple[str, bytes]:
    """A piece as it is stored, with its address."""
    shorter = _short_texts().compress(body) if len(body) >= _COMPRESS_BYTES_MIN else body
    if len(shorter) < len(body):
        piece = generation + _WITH_NAMES + shorter
    else:
        piece = generation + _PLAIN + body
    return address(piece), piece


def _unsealed(name: str, piece: bytes) -> bytes:
    form, body = piece[GENERATION_BYTES : GENERATION_BYTES + 1], piece[GENERATION_BYTES + 1 :]
    if form == _PLAIN:
        return body
    try:
        return _short_texts().decompress(body) if form == _WITH_NAMES else decompress(body)
    except ValueError as fault:
        raise DamagedError("a checkpoint", name, str(fault)) from fault


def writes_piece(generation: bytes, writes: TaskWrites) -> tuple[str, bytes]:
    """The piece of some writes."""
    return sealed(generation, _encode((writes, b"")))


def sealed_pack(values: SavedValues) -> bytes:
    """The values of the base that was saved last as they are stored beside the pieces."""
    return snapshot_seal(compress(packed(values)))


def _unsealed_pack(body: bytes) -> Packed | None:
    try:
        return read_packed(decompress(snapshot_unseal(body)))
    except (ValueError, msgspec.MsgspecError):
        return None


class Loader:
    """Reads the pieces of checkpoints, each once."""

    def __init__(self, store: Journal) -> None:
        self._store = store
        self._known: dict[str, Piece] = {}
        self._base: tuple[bytes, Record | None] = (b"", None)
        self._sources = Sources()
        self._reader = Reader()
        self.packs: dict[str, Packed | None] = {}
        """What is packed of streams that were asked for it."""

    def fetch(self, names: Iterable[str]) -> None:
        """Read pieces that will be needed, all at once. Raises DamagedError if one is missing."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._known]
        if not wanted:
            return
        found, fresh = self._store.pieces(wanted), self._sources.fresh
        for name in wanted:
            if name not in found:
                raise DamagedError("a checkpoint", name, "a piece of it is missing")
            piece = self._known[name] = read_piece(_unsealed(name, found[name]))
            fresh[bytes.fromhex(name)] = piece.fresh

    def record(self, name: str) -> Record:
        """The record of a checkpoint, by the address of its piece."""
        self.fetch([name])
        return read_record(self._known[name])

    def state(self, name: str, stream: str) -> State:
        """A checkpoint, by the address of its piece, of a stream."""
        return self._state(name, stream)[0]

    def state_and_values(self, name: str, stream: str) -> tuple[State, SavedValues]:
        """A checkpoint, and what a save after it builds on."""
        state, own, record, base = self._state(name, stream)
        return state, self._reader.values(own, record, base, state)

    def _state(self, name: str, stream: str) -> tuple[State, bytes, Record, Record | None]:
        own, record = bytes.fromhex(name), self.record(name)
        if record.base and self._base[0] != record.base:
            self._base = (record.base, self.record(record.base.hex()))
        base = self._base[1] if record.base else None
        places = list(self._reader.places(own, record, base))
        missing = self._sources.missing(places)
        if len(missing) > _ASK_FOR_PACK and stream not in self.packs:
            kept = self._store.snapshots([stream]).get(stream)
            pack = _unsealed_pack(kept.state) if kept is not None and kept.fold == PACK_FORMAT else None
            self.packs[stream] = pack
            if pack is not None:
                self._sources.unpack(pack)
                missing = self._sources.missing(places)
        self.fetch([address.hex() for address in missing])
        return self._reader.state(own, record, base, self._sources), own, record, base

    def parent(self, entry: Entry) -> str:
        """The id of the checkpoint that one follows; empty if none."""
        return self.record(entry.piece).parent or entry.parent

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
