"""Canonical JSON and the hash chain.

Equal values give equal bytes, on every machine and in every version: keys sorted, no white
space, UTF-8 unescaped, shortest numbers. What JSON cannot hold (NaN, infinities, lone
surrogates) is refused rather than changed. An event's hash is that of its header, which names
its predecessor's hash and the *hash* of its body: a body can be erased, and the chain still
verifies.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from typing import Any

import msgspec

from ...errors import UsageError


def _own_sha256() -> Any:
    for module in ("_sha2", "_sha256"):  # of Python 3.12, of 3.11
        with suppress(ImportError):
            return import_module(module).sha256
    return sha256


SHORT_BYTES = 512
short_sha256 = _own_sha256()
"""The interpreter's own: slower a byte than OpenSSL's, but it begins at once."""
_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder()

GENESIS = bytes(32)
"""The predecessor's hash of a stream's first event."""


encode = _encoder.encode
"""The canonical bytes of a value that is known to be plain (our own Structs)."""


def encode_strict(value: Any) -> bytes:
    """The canonical bytes of a foreign value; refuses what would come back changed."""
    try:
        body = _encoder.encode(value)
        same = _same(value, _decoder.decode(body))
    except (TypeError, ValueError, OverflowError, RecursionError) as fault:
        raise UsageError(
            f"not a JSON value: {fault}", hint="use null, booleans, numbers, text, lists and objects"
        ) from fault
    if not same:
        raise UsageError(
            "not a JSON value: it would come back changed", hint="NaN, bytes and tuples are not JSON"
        )
    return body


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_same(v, b[k]) for k, v in a.items())
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and bool(a == b)


def decode(body: bytes | str) -> Any:
    """The value of canonical (or any) JSON bytes."""
    return _decoder.decode(body)


def digest(body: bytes) -> bytes:
    """The 32 bytes that stand for a body."""
    return sha256(body).digest()
