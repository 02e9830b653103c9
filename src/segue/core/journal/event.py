"""Events, the declared facts that the journal consists of: envelope, body, and the chain of hashes.

An event is an envelope around a body. The envelope is the same for every kind and never
changes its meaning; each kind has a frozen type for its body, stored as canonical JSON. A body
may gain fields with defaults; any other change raises ``FORMAT`` and needs an upcast. A kind that
this version does not know is kept and skipped by the fold, so that an older Segue can read, and
pass on, what a newer one wrote.

An event's hash covers its header, which contains the predecessor's hash and the *hash* of the
body. A body can therefore be erased without breaking the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import msgspec

from ..base import canonical as canon
from ..base.canonical import SHORT_BYTES, short_sha256
from ..base.values import Value


class Event(Value, gc=False):
    """A committed event."""

    stream: str
    version: int
    """Its position in the stream, from 1."""
    kind: str
    at: str
    """UTC, ISO 8601 with microseconds and ``Z``: sorts as text."""
    actor: str
    """Who declared it: ``user``, or the name of an agent."""
    body: bytes
    """Canonical JSON."""
    body_hash: bytes
    prev: bytes
    """The hash of the predecessor, ``canonical.GENESIS`` for the first event."""
    hash: bytes
    """The hash of its own header, which its successor has as ``prev``."""
    run: str = ""
    """The run in which it was declared, if any."""
    format: int = 1
    """The version of the body's format."""
    left: int = 0
    """How many events of the same commit follow. A stream that ends with ``left > 0`` lost some of them."""
    erased: bool = False
    """Whether a scrub rewrote the body; ``body_hash`` is still that of the original."""

    def header(self) -> bytes:
        """The envelope as it is hashed and stored: a canonical JSON array with hashes in base64."""
        return _header_encoder.encode(
            (self.stream, self.version, self.kind, self.format, self.at, self.actor, self.run, self.left,
             self.body_hash, self.prev)
        )  # fmt: skip

    def intact(self) -> bool:
        """Whether the body matches its hash. An erased body cannot, and counts as intact."""
        return self.erased or canon.digest(self.body) == self.body_hash

    def chained(self) -> bool:
        """Whether the envelope matches the event's hash."""
        return canon.digest(self.header()) == self.hash


_header_encoder = msgspec.json.Encoder()
_header_decoder = msgspec.json.Decoder(tuple[str, int, str, int, str, str, str, int, bytes, bytes])


def read_event(header: bytes, body: bytes, own_hash: bytes, *, erased: bool) -> Event:
    """The event of a stored row. Raises ``msgspec.MsgspecError`` if the header is malformed."""
    stream, version, kind, form, at, actor, run, left, body_hash, prev = _header_decoder.decode(header)
    return Event(stream, version, kind, at, actor, body, body_hash, prev, own_hash, run, form, left, erased)


class Draft(Value, gc=False):
    """An event that has no position in a stream yet."""

    kind: str
    body: bytes
    at: str
    actor: str
    run: str = ""
    format: int = 1


class Body(Value, omit_defaults=True, gc=False):
    """The base of all bodies. Fields that have their default value are not stored."""

    KIND: ClassVar[str] = ""
    FORMAT: ClassVar[int] = 1


class Gap(Body):
    KIND = "session.gap"
    first: int
    last: int
    """The first and the last version that could not be recovered from the damaged journal."""
    reason: str = ""


class Erased(Body):
    KIND = "journal.erased"
    versions: list[int]
    bodies: list[str]
    """The hex hashes of the rewritten bodies, in the order of ``versions``."""


_bodies: dict[str, type[Body]] = {}
_decoders: dict[str, msgspec.json.Decoder[Any]] = {}

UPCASTS: dict[tuple[str, int], Callable[[Any], Any]] = {}
"""For each (kind, format), the function that converts a decoded body to the next format."""


def body_of(kind: str) -> type[Body] | None:
    """The body type of a kind, if its module is loaded (``core.event_kinds`` loads all), or None."""
    if kind not in _bodies:
        _bodies.update((body.KIND, body) for body in Body.__subclasses__())
    return _bodies.get(kind)


def read_body(event: Event) -> Body | None:
    """The typed body, or None if this version does not know its kind, its format or its fields."""
    body_type = body_of(event.kind)
    if body_type is None or event.format > body_type.FORMAT:
        return None
    try:
        if event.format < body_type.FORMAT:
            return _upcast(event, body_type)
        decoder = _decoders.get(event.kind)
        if decoder is None:
            decoder = _decoders[event.kind] = msgspec.json.Decoder(body_type)
        body: Body = decoder.decode(event.body)
        return body
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _upcast(event: Event, body_type: type[Body]) -> Body | None:
    raw = canon.decode(event.body)
    for older in range(event.format, body_type.FORMAT):
        upcast = UPCASTS.get((event.kind, older))
        if upcast is None:
            return None
        raw = upcast(raw)
    body: Body = msgspec.convert(raw, body_type)
    return body


def draft(body: Body, *, at: str, actor: str, run: str = "") -> Draft:
    """A draft of an event with this body."""
    return Draft(kind=body.KIND, body=canon.encode(body), at=at, actor=actor, run=run, format=body.FORMAT)


def seal(stream: str, after: int, prev: bytes, drafts: Sequence[Draft]) -> list[Event]:
    """The events that the drafts become when they are appended after version ``after`` of a stream."""
    return [event for event, _ in seal_rows(stream, after, prev, drafts)]


def seal_rows(stream: str, after: int, prev: bytes, drafts: Sequence[Draft]) -> list[tuple[Event, bytes]]:
    """Like ``seal``, each event together with its header, which is what stores write."""
    rows: list[tuple[Event, bytes]] = []
    for number, draft in enumerate(drafts, 1):
        row = seal_row(stream, after + number, prev, draft, len(drafts) - number)
        rows.append(row)
        prev = row[0].hash
    return rows


def seal_row(stream: str, version: int, prev: bytes, d: Draft, left: int = 0) -> tuple[Event, bytes]:
    """The event that a draft becomes at a version, and its header."""
    kind, body, at, actor, run, form = d.kind, d.body, d.at, d.actor, d.run, d.format
    body_hash = short_sha256(body).digest() if len(body) < SHORT_BYTES else canon.digest(body)
    header = _header_encoder.encode((stream, version, kind, form, at, actor, run, left, body_hash, prev))
    own_hash = short_sha256(header).digest()
    return Event(stream, version, kind, at, actor, body, body_hash, prev, own_hash, run, form, left), header
