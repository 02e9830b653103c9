"""Compression with zstd. The library is imported at first use, because few commands need it."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any


@cache
def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def compress(body: bytes, level: int = 1) -> bytes:
    """The bytes compressed; a higher level is slower and gives fewer bytes."""
    compressed: bytes = _zstd().compress(body, level)
    return compressed


def decompress(body: bytes) -> bytes:
    """The bytes that were compressed; ValueError if these are not compressed bytes."""
    zstd = _zstd()
    try:
        whole: bytes = zstd.decompress(body)
        return whole
    except zstd.ZstdError as fault:
        raise ValueError(str(fault)) from fault


class Compressor:
    """Compresses many short texts one after the other, at the lowest level: making ready costs more than the
    work itself, and is done once. For one thread at a time."""

    def __init__(self) -> None:
        self._compressor = _zstd().ZstdCompressor(1)

    def compress(self, body: bytes) -> bytes:
        """The bytes compressed, as ``compress`` does it."""
        compressed: bytes = self._compressor.compress(body, self._compressor.FLUSH_FRAME)
        return compressed
