"""Recognising identifiers in texts, and shortening the ids of runs."""

from __future__ import annotations

from ..base.lazy import regex

NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*(?:[._:-][A-Za-z0-9_]+)*")
LENGTH_MIN = 6
_SHAPE = regex(r"[^_]_[^_]|[a-z][A-Z]|\w\.\w")


def may_name(piece: str) -> bool:
    """A quick test that rules out most words: whether a piece of text can contain an identifier."""
    if len(piece) < LENGTH_MIN:
        return False
    return "_" in piece or "." in piece or not (piece.islower() or piece.istitle() or piece.isupper())


def is_name(token: str) -> bool:
    """Whether a token looks like an identifier rather than a word."""
    return LENGTH_MIN <= len(token) <= 60 and _SHAPE.search(token) is not None


def short_run(native: str) -> str:
    """The shortest prefix of a run's native id that distinguishes it from others.

    A random UUID is cut to eight characters, a time-based one to its time; any other id is returned whole.
    """
    if len(native) == 36 and native[8] == native[13] == "-":
        return native[:8] if native[14] == "4" else native[:18]
    return native
