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


class ShortTexts:
    """Compresses many short texts one after the other, at the lowest level, and decompresses them. Making
    ready costs more than the work itself, and is done once. ``names`` are words that are in many of them, as
    one text, without which they cannot be decompressed. For one thread at a time."""

    def __init__(self, names: bytes) -> None:
        zstd = _zstd()
        self._names = zstd.ZstdDict(names, is_raw=True)
        self._compressor = zstd.ZstdCompressor(1, zstd_dict=self._names.as_digested_dict)
        self._decompressor, self._fault = zstd.ZstdDecompressor, zstd.ZstdError

    def compress(self, body: bytes) -> bytes:
        """The bytes compressed."""
        compressed: bytes = self._compressor.compress(body, self._compressor.FLUSH_FRAME)
        return compressed

    def decompress(self, body: bytes) -> bytes:
        """The bytes that were compressed; ValueError if these are not compressed bytes."""
        decompressor = self._decompressor(self._names)
        try:
            whole: bytes = decompressor.decompress(body)
        except self._fault as fault:
            raise ValueError(str(fault)) from fault
        if not decompressor.eof or decompressor.unused_data:
            raise ValueError("the compressed data is cut off")
        return whole
