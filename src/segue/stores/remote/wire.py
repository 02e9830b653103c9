"""What stands in a request to a server's store and in its answer: MessagePack, a type for each method.

Both sides read by these types, so that what does not fit is refused before anything happens. Events travel as
they are stored (header, body, hash), and are proven by whoever reads them. A write carries an ``attempt``, a
random name, by which a server knows a request that comes a second time while the first is under way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from ...core.base import canonical
from ...core.base.values import Value
from ...core.journal.event import Event, read_event
from ...core.memories.model import Memory, MemoryAudit, MemoryFilter, MemoryReader, Vote
from ...core.memories.ranking import Texts
from ...errors import DamagedError
from ..base import Append, Carried, MemoryChange, Rewrite, RunRow, Snapshot, StoredMemory

T = TypeVar("T")
EventRow = tuple[bytes, bytes, bytes, bool]
"""Header, body, hash, erased."""


# -- the journal -----------------------------------------------------------------------------------


class AppendAsk(Value):
    """``journal/append``."""

    appends: list[Append]
    pieces: dict[str, bytes] = {}
    memories: ChangeIn | None = None
    attempt: str = ""


class ReadAsk(Value):
    """``journal/read``."""

    stream: str
    after: int = 0
    limit: int = 0


class StreamPage(Value):
    """Events of a stream; ``more`` if the server stopped before it had all that was asked for."""

    rows: list[EventRow]
    more: bool = False


class NameAsk(Value):
    """A stream, a prefix or a key."""

    name: str = ""


class NamesAsk(Value):
    """Addresses of pieces, or keys of runs."""

    names: list[str]


class SnapshotsAsk(Value):
    """``journal/snapshots``."""

    streams: list[str]
    cards: bool = False


class KeepAsk(Value):
    """``journal/keep``."""

    snapshot: Snapshot


class EraseAsk(Value):
    """``journal/erase``."""

    rewrites: list[Rewrite]
    pieces: dict[str, bytes] = {}
    appends: list[Append] = []
    attempt: str = ""


class DropAsk(Value):
    """``journal/drop``."""

    streams: list[Append]
    pieces: list[str] = []
    beside: dict[str, int] | None = None
    attempt: str = ""


class About(Value):
    """``journal/about``: what the server says of itself, and of the key."""

    segue: str = ""
    project: str = ""
    role: str = ""
    agent: str = ""


# -- runs ------------------------------------------------------------------------------------------


class PutAsk(Value):
    """``runs/put``."""

    rows: list[RunRow]


class RowsAsk(Value):
    """``runs/rows``."""

    projects: list[str] = []
    session: str = ""


# -- memories --------------------------------------------------------------------------------------


class KeptIn(Value):
    """A memory as it is kept, as it is read from the wire."""

    memory: Memory
    words: str = ""
    model: str = ""
    vector: bytes = b""

    def kept(self) -> StoredMemory:
        """The same as the port has it."""
        return StoredMemory(self.memory, self.words, self.model, self.vector)


class CarriedIn(Value):
    """A memory with all that is kept of it."""

    no: int
    kept: KeptIn
    votes: list[Vote] = []
    trail: list[MemoryAudit] = []

    def carried(self) -> Carried:
        """The same as the port has it."""
        return Carried(self.no, self.kept.kept(), self.votes, self.trail)


class ChangeIn(Value):
    """What happens to memories."""

    adds: list[KeptIn] = []
    puts: list[KeptIn] = []
    votes: list[Vote] = []
    recalls: list[tuple[str, int, str]] = []
    vectors: list[KeptIn] = []
    trail: list[MemoryAudit] = []

    def change(self) -> MemoryChange:
        """The same as the port has it."""
        adds, puts, vectors = ([one.kept() for one in of] for of in (self.adds, self.puts, self.vectors))
        return MemoryChange(adds, puts, self.votes, self.recalls, vectors, self.trail)


class WriteAsk(Value):
    """``memories/write``."""

    change: ChangeIn
    attempt: str = ""


class GetAsk(Value):
    """``memories/get``."""

    ids: list[str]
    reader: MemoryReader


class ListingAsk(Value):
    """``memories/listing``."""

    reader: MemoryReader
    where: MemoryFilter
    now: str
    limit: int = 0


class MatchAsk(Value):
    """``memories/match``."""

    reader: MemoryReader
    words: list[str]
    where: MemoryFilter
    limit: int


class NearAsk(Value):
    """``memories/near``."""

    reader: MemoryReader
    model: str
    vector: bytes
    where: MemoryFilter
    limit: int


class NumbersAsk(Value):
    """``memories/take`` and ``memories/places``."""

    numbers: list[int]
    reader: MemoryReader
    reach: int = 0


class TrailAsk(Value):
    """``memories/trail``."""

    reader: MemoryReader
    id: str = ""
    limit: int = 100


class UnembeddedAsk(Value):
    """``memories/unembedded``."""

    model: str
    limit: int
    within: int = 0


class CarriedAsk(Value):
    """``memories/carried``."""

    after: int = 0
    limit: int = 500


class TextAsk(Value):
    """``memories/compact``."""

    text: str = ""


TextsIn = Texts

# -- bytes -----------------------------------------------------------------------------------------

_encoder = msgspec.msgpack.Encoder()
_decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}


def encode(value: Any) -> bytes:
    """A value as bytes; halves of surrogate pairs, which are no text, become question marks."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_plain(msgspec.to_builtins(value, builtin_types=(bytes,))))


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_plain(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def decode(data: bytes, kind: type[T] | Any) -> T:
    """Bytes as a value of this type; raises ``msgspec.MsgspecError`` if they are none."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.msgpack.Decoder(kind)
    found: T = decoder.decode(data)
    return found


# -- events ----------------------------------------------------------------------------------------


def rows_of(events: Iterable[Event]) -> list[EventRow]:
    """Events as they travel."""
    return [(event.header(), event.body, event.hash, event.erased) for event in events]


def event_of(row: EventRow, stream: str, version: int = 0) -> Event:
    """The event of a row, proven; DamagedError if it is not what was written."""
    header, body, own, erased = row
    try:
        event = read_event(header, body, own, erased=erased)
        reason = "" if event.intact() else "the body does not have the hash that it was stored with"
        placed = event.stream == stream and version in (0, event.version)
        if canonical.digest(header) != own or not placed:
            reason = "the envelope does not have the hash of the event"
        if not reason:
            return event
    except (msgspec.MsgspecError, TypeError, ValueError):
        reason = "the row is not one of ours"
    raise DamagedError("the journal", f"{stream} version {version or '?'}", reason)


def said_by(event: Event, draft: Any) -> bool:
    """Whether an event is what this draft became; a body that was erased since counts by its hash."""
    own = (event.kind, event.at, event.actor, event.run, event.format)
    told = (draft.kind, draft.at, draft.actor, draft.run, draft.format)
    return own == told and event.body_hash == canonical.digest(draft.body)


def same_drafts(events: Sequence[Event], drafts: Sequence[Any]) -> bool:
    """Whether these events are what these drafts became, all of them, in one commit."""
    return len(events) == len(drafts) and all(map(said_by, events, drafts))
