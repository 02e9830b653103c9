"""Snapshots: a session's state as bytes, so that a command need not fold thousands of events.

A snapshot is a cache. Equal states give equal bytes, so a rebuilt snapshot can be compared with the stored
one. Raise ``FOLD`` whenever the fold gives another result or the fields of the state change: older snapshots
are then ignored and made anew.
"""

from __future__ import annotations

from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from ..base import canonical
from ..base.persistent_list import Rows
from ..base.persistent_places import Places
from .state import SessionState

FOLD = 4
_SEAL_BYTES = 16
_encoder = msgspec.msgpack.Encoder(enc_hook=lambda rows: rows.flat(), order="deterministic")


@cache
def wire_types() -> dict[str, Any]:
    """The type in which each field of a state is stored: a list for Rows, a tuple for Places, otherwise its
    own type."""
    hints = get_type_hints(SessionState)
    return {name: _wire_type(hints[name]) for name in SessionState.__struct_fields__}


def _wire_type(hint: Any) -> Any:
    if get_origin(hint) is Rows:
        return list[get_args(hint)[0]]  # type: ignore[misc]
    return tuple[int, ...] if hint is Places else hint


@cache
def _decoder() -> msgspec.msgpack.Decoder[Any]:
    fields: list[Any] = [
        (name, wire, msgspec.field(default_factory=list))
        if get_origin(wire) is list
        else (name, wire, () if name in _PLACES else getattr(_EMPTY, name))
        for name, wire in wire_types().items()
    ]
    return msgspec.msgpack.Decoder(msgspec.defstruct("StateOnWire", fields, gc=False))


_EMPTY = SessionState()
_PLACES = tuple(n for n in SessionState.__struct_fields__ if isinstance(getattr(_EMPTY, n), Places))
_ROWS = tuple(n for n in SessionState.__struct_fields__ if isinstance(getattr(_EMPTY, n), Rows | Places))


def sealed(body: bytes) -> bytes:
    """A body preceded by its hash, so that damage to it is noticed."""
    return canonical.digest(body)[:_SEAL_BYTES] + body


def unsealed(body: bytes) -> bytes:
    """The body of ``sealed``. Raises ``msgspec.DecodeError`` if it does not match its hash."""
    if canonical.digest(body[_SEAL_BYTES:])[:_SEAL_BYTES] != body[:_SEAL_BYTES]:
        raise msgspec.DecodeError("the snapshot does not match its hash")
    return body[_SEAL_BYTES:]


def encode(state: SessionState) -> bytes:
    """The bytes of a state. Empty Rows are normalised, because only a field's own default is omitted."""
    for name in _ROWS:
        rows, default = getattr(state, name), getattr(_EMPTY, name)
        if not rows and rows is not default:
            state = msgspec.structs.replace(state, **{name: default})
    return _encoder.encode(state)


def decode(body: bytes) -> SessionState:
    """The state that ``encode`` made the bytes from.

    Raises ``msgspec.MsgspecError`` if they are malformed.
    """
    wire = _decoder().decode(body)
    values: dict[str, Any] = {}
    for name in SessionState.__struct_fields__:
        value = getattr(wire, name)
        values[name] = Rows(value) if isinstance(value, list) else Places(value) if name in _PLACES else value
    return SessionState(**values)
