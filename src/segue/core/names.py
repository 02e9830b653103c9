"""What looks like an identifier in a text."""

from __future__ import annotations

from .patterns import regex

NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*(?:[._:-][A-Za-z0-9_]+)*")
_SHAPE = regex(r"[^_]_[^_]|[a-z][A-Z]|\w\.\w")


def is_name(token: str) -> bool:
    """Does it look like an identifier, not like a word?"""
    return 6 <= len(token) <= 60 and _SHAPE.search(token) is not None
