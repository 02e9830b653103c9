"""What looks like an identifier in a text, and how much of a run's own id tells it from others."""

from __future__ import annotations

from ..base.lazy import regex

NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*(?:[._:-][A-Za-z0-9_]+)*")
LENGTH_MIN = 6
_SHAPE = regex(r"[^_]_[^_]|[a-z][A-Z]|\w\.\w")


def may_name(piece: str) -> bool:
    """Whether a piece of text can hold an identifier; no, for most words, without looking closely."""
    if len(piece) < LENGTH_MIN:
        return False
    return "_" in piece or "." in piece or not (piece.islower() or piece.istitle() or piece.isupper())


def is_name(token: str) -> bool:
    """Does it look like an identifier, not like a word?"""
    return LENGTH_MIN <= len(token) <= 60 and _SHAPE.search(token) is not None


def short_run(native: str) -> str:
    """As much of a run's own id as tells it from others: of a random UUID a part, of one that begins with the
    time all of the time, of anything else everything."""
    if len(native) == 36 and native[8] == native[13] == "-":
        return native[:8] if native[14] == "4" else native[:18]
    return native
