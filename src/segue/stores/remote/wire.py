"""What travels between a store and a server, as bytes: MessagePack, and events as they are stored.

Events are proven by whoever reads them, from header, body and hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from ...core.base import canonical
from ...core.base.text import encodable
from ...core.base.values import Value
from ...core.journal.event import Draft, Event

T = TypeVar("T")
EventRow = tuple[bytes, bytes, bytes, bool]
"""Header, body, hash, erased."""

_encoder = msgspec.msgpack.Encoder()
_decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}


class StreamPage(Value):
    """Events of a stream; ``more`` if the server stopped before it had all that was asked for."""

    rows: list[EventRow]
    more: bool = False


def encode(value: Any) -> bytes:
    """A value as bytes; halves of surrogate pairs, which are no text, become question marks."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_plain(msgspec.to_builtins(value, builtin_types=(bytes,))))


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
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


def rows_of(events: Iterable[Event]) -> list[EventRow]:
    """Events as they travel."""
    return [(event.header(), event.body, event.hash, event.erased) for event in events]


def same_drafts(events: Sequence[Event], drafts: Sequence[Draft]) -> bool:
    """Whether these events are what these drafts became, all of them; an erased body counts by its hash."""

    def became(event: Event, draft: Draft) -> bool:
        own = (event.kind, event.at, event.actor, event.run, event.format)
        sent = (draft.kind, draft.at, draft.actor, draft.run, draft.format)
        return own == sent and event.body_hash == canonical.digest(draft.body)

    return len(events) == len(drafts) and all(map(became, events, drafts))
