"""JSON that may be torn: the value that begins somewhere in a text, whatever comes after it.

Python's own decoder can say where a value ends; it is loaded only when something is torn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def _decoder() -> Callable[[str, int], tuple[Any, int]]:
    from json import JSONDecoder

    return JSONDecoder(strict=False).raw_decode


def decode_prefix(text: str, at: int = 0) -> tuple[Any, int]:
    """The JSON value that begins at ``at``, and where it ends. Raises ValueError or RecursionError."""
    return _decoder()(text, at)
