"""Canonical JSON, and the hashes made of it.

Equal values give equal bytes, on every machine and in every version: keys are sorted, there is no
whitespace, UTF-8 is not escaped, numbers are as short as possible.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from hashlib import _Hash


def _builtin_sha256() -> Any:
    for module in ("_sha2", "_sha256"):  # in Python 3.12, in 3.11
        with suppress(ImportError):
            return import_module(module).sha256
    import hashlib

    return hashlib.sha256


SHORT_BYTES = 512
LOADING_BYTES = 65_536
"""OpenSSL is not loaded for inputs below this: loading takes a quarter of what a bare Python takes to start,
and a hook seldom has anything longer."""
short_sha256 = _builtin_sha256()
"""The interpreter's own SHA-256: slower per byte than OpenSSL's but without its setup cost, so faster for
inputs below ``SHORT_BYTES``."""

GENESIS = bytes(32)
"""The hash that a stream's first event names as its predecessor's."""


encode = msgspec.json.Encoder(order="sorted").encode
"""The canonical bytes of a value. Only for our own structs: NaN, bytes and tuples would come back changed."""

_decoder = msgspec.json.Decoder()


def decode(body: bytes | str) -> Any:
    """The value of JSON bytes, canonical or not. Raises ``msgspec.DecodeError`` if they are not JSON."""
    return _decoder.decode(body)


def sha256(body: bytes | memoryview) -> _Hash:
    """The SHA-256 of a body, by whichever implementation is faster for it."""
    size = len(body)
    if size < SHORT_BYTES or (size < LOADING_BYTES and "_hashlib" not in sys.modules):
        hash: _Hash = short_sha256(body)
        return hash
    import hashlib

    return hashlib.sha256(body)


def digest(body: bytes) -> bytes:
    """The SHA-256 of a body, as 32 bytes."""
    return sha256(body).digest()
