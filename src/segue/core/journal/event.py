"""Events: declared facts, as they stand in the journal.

An event is an envelope around a body. The envelope is the same for every kind and never
changes meaning; a body is a frozen type per kind, written as canonical JSON. Bodies may gain
fields with defaults; any other change raises ``format`` and adds an upcast. A kind that this
version does not know is kept as it is and skipped by the fold: an older Segue may read, and
pass on, what a newer one wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import msgspec

from ..base import canonical as canon
from ..base.canonical import SHORT_BYTES, short_sha256
from ..base.values import Value


class Event(Value, gc=False):
    """One committed event: envelope and body."""

    stream: str
    version: int
    """Its place in the stream, from 1."""
    kind: str
    at: str
    """UTC, ISO 8601 with microseconds and ``Z``: sorts as text."""
    actor: str
    """Who declared it: ``user``, or the name of an agent."""
    body: bytes
    """Canonical JSON."""
    body_hash: bytes
    prev: bytes
    """The hash of the predecessor, ``canon.GENESIS`` for the first."""
    hash: bytes
    """Its own: what the successor names as ``prev``."""
    run: str = ""
    """The run in which it was declared, if any."""
    format: int = 1
    """The version of the body's shape."""
    left: int = 0
    """How many events of the same commit follow: a tail with left > 0 is half a commit."""
    erased: bool = False
    """The body was rewritten by a scrub; its hash is that of the original."""

    def header(self) -> bytes:
        """The envelope as it is hashed and stored: a canonical JSON array, hashes as base64."""
        return _header_encoder.encode(
            (self.stream, self.version, self.kind, self.format, self.at, self.actor, self.run, self.left,
             self.body_hash, self.prev)
        )  # fmt: skip

    def intact(self) -> bool:
        """Whether the body is the one that was written."""
        return self.erased or canon.digest(self.body) == self.body_hash

    def chained(self) -> bool:
        """Whether the envelope is the one that was written."""
        return canon.digest(self.header()) == self.hash


_header_encoder = msgspec.json.Encoder()
_header_decoder = msgspec.json.Decoder(tuple[str, int, str, int, str, str, str, int, bytes, bytes])


def read_event(header: bytes, body: bytes, own: bytes, *, erased: bool) -> Event:
    """The event of a stored row; raises ``msgspec.MsgspecError`` on a header that is none."""
    stream, version, kind, form, at, actor, run, left, body_hash, prev = _header_decoder.decode(header)
    return Event(stream, version, kind, at, actor, body, body_hash, prev, own, run, form, left, erased)


class Draft(Value, gc=False):
    """An event before the store gave it its place in a stream."""

    kind: str
    body: bytes
    at: str
    actor: str
    run: str = ""
    format: int = 1


class Body(Value, omit_defaults=True, gc=False):
    """Base of all bodies: frozen, written without fields that have their default."""

    KIND: ClassVar[str] = ""
    FORMAT: ClassVar[int] = 1


class Gap(Body):
    KIND = "session.gap"
    first: int
    last: int
    """Versions of the damaged journal that could not be read."""
    reason: str = ""


class Erased(Body):
    KIND = "journal.erased"
    versions: list[int]
    bodies: list[str]
    """The hex hashes of the bodies that stand there now, in the order of ``versions``."""


_bodies: dict[str, type[Body]] = {}
_decoders: dict[str, msgspec.json.Decoder[Any]] = {}

UPCASTS: dict[tuple[str, int], Callable[[Any], Any]] = {}
"""(kind, format) to a function that lifts a decoded body of that format by one."""


def body_of(kind: str) -> type[Body] | None:
    """The type of the bodies of a kind, as far as its module is loaded: ``core.event_kinds`` loads all."""
    found = _bodies.get(kind)
    if found is None:
        _bodies.update((body.KIND, body) for body in Body.__subclasses__())
        found = _bodies.get(kind)
    return found


def read_body(event: Event) -> Body | None:
    """The typed body, or None for a kind, a format or a shape that this version does not know."""
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
        lift = UPCASTS.get((event.kind, older))
        if lift is None:
            return None
        raw = lift(raw)
    body: Body = msgspec.convert(raw, body_type)
    return body


def draft(body: Body, *, at: str, actor: str, run: str = "") -> Draft:
    """A body with its envelope, ready for a store."""
    return Draft(kind=body.KIND, body=canon.encode(body), at=at, actor=actor, run=run, format=body.FORMAT)


def seal(stream: str, after: int, prev: bytes, drafts: Sequence[Draft]) -> list[Event]:
    """The events that these drafts become behind version ``after`` of a stream."""
    return [event for event, _ in seal_rows(stream, after, prev, drafts)]


def seal_rows(stream: str, after: int, prev: bytes, drafts: Sequence[Draft]) -> list[tuple[Event, bytes]]:
    """``seal``, with each event's header: what a store writes."""
    rows: list[tuple[Event, bytes]] = []
    for place, draft in enumerate(drafts, 1):
        row = seal_row(stream, after + place, prev, draft, len(drafts) - place)
        rows.append(row)
        prev = row[0].hash
    return rows


def seal_row(stream: str, version: int, prev: bytes, d: Draft, left: int = 0) -> tuple[Event, bytes]:
    """The event that a draft becomes at its place, and its header."""
    kind, body, at, actor, run, form = d.kind, d.body, d.at, d.actor, d.run, d.format
    body_hash = short_sha256(body).digest() if len(body) < SHORT_BYTES else canon.digest(body)
    header = _header_encoder.encode((stream, version, kind, form, at, actor, run, left, body_hash, prev))
    own = short_sha256(header).digest()
    return Event(stream, version, kind, at, actor, body, body_hash, prev, own, run, form, left), header
