"""Compression with zstd. The library is imported at first use, because few commands need it."""

from __future__ import annotations

import sys


def compress(body: bytes, level: int = 1) -> bytes:
    """The bytes compressed; a higher level is slower and gives fewer bytes."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.compress(body, level)


def decompress(body: bytes) -> bytes:
    """The bytes that were compressed; ValueError if these are not compressed bytes."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    try:
        return zstd.decompress(body)
    except zstd.ZstdError as fault:
        raise ValueError(str(fault)) from fault
