"""A scene: the world as it was when the work was left, so that what changed since can be told.

It is a probe that is kept. What git knows it does not repeat: a commit stands for all files of that
moment, and only what was not committed is listed, by hashes. Without git the hashes of all files are
listed, as far as there are not too many. No content is ever in it: of the line in focus and those around it
only hashes, by which the line is found again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from ..base.lazy import json_decoder
from ..base.values import Value, parse_digits

AROUND_LINES = 200
LINE_HASH_CHARS = 8
Kind = Literal["created", "modified", "deleted", "renamed", "conflict"]


class Dirty(Value, array_like=True, gc=False):
    """A file that is not as the commit has it."""

    path: str
    kind: Kind
    hash: str = ""
    """As git would name its content; empty if there is none, or if it was not read."""
    source: str = ""
    """The path of before, if it was renamed."""


class Anchor(Value, omit_defaults=True):
    """A place in a file, and hashes of the lines around it."""

    file: str
    line: int
    """From 1."""
    rest: str = ""
    """What stood behind the line in the position, a column for instance."""
    first: int = 1
    """The line of the first hash."""
    lines: tuple[str, ...] = ()


class Scene(Value, omit_defaults=True):
    """The world at a moment."""

    at: float = 0.0
    """Seconds since 1970."""
    reason: str = ""
    """Why it was kept: a trigger, or the words of whoever paused."""
    host: str = ""
    folder: str = ""
    """The top of the working tree."""
    session: str = ""
    version: int = 0
    """Of the session."""
    git: bool = False
    branch: str = ""
    """Empty on a detached head."""
    head: str = ""
    """Empty before the first commit."""
    doing: str = ""
    """merge, rebase, cherry-pick, revert or bisect, while one is under way."""
    stash: str = ""
    """The newest stash."""
    shallow: bool = False
    dirty: tuple[Dirty, ...] = ()
    more: int = 0
    """Changed files that are not listed."""
    files: dict[str, str] = {}
    """Without git: path to hash."""
    notes: dict[str, str] = {}
    """Notes outside the working tree: path to hash."""
    focus: Anchor | None = None
    touched: tuple[str, ...] = ()
    """Files that this work read or changed, from the top of the tree."""
    cut: bool = False
    """Not everything could be looked at in time."""
    derived: str = ""
    """From what it was put together afterwards, if nobody kept it at the moment."""


_decoder = json_decoder(Scene)


_KEPT = {0xDC00 + byte: 0x10FF00 + byte for byte in range(0x80, 0x100)}
"""Bytes of names that are no UTF-8: as Python holds them, and as JSON can."""
_HELD = {kept: held for held, kept in _KEPT.items()}
_SIGN = "\U0010ff80".encode()[:2]


def encode(scene: Scene) -> bytes:
    try:
        return msgspec.json.encode(scene)
    except UnicodeEncodeError:
        return msgspec.json.encode(_spelt(msgspec.to_builtins(scene), _KEPT))


def _spelt(value: Any, how: dict[int, int]) -> Any:
    """The value with its texts spelt otherwise."""
    if isinstance(value, str):
        return value.translate(how)
    if isinstance(value, dict):
        return {_spelt(key, how): _spelt(inner, how) for key, inner in value.items()}
    return [_spelt(inner, how) for inner in value] if isinstance(value, list | tuple) else value


def decode(body: bytes) -> Scene | None:
    """The scene, or None if these bytes are none."""
    try:
        if _SIGN in body:
            return msgspec.convert(_spelt(msgspec.json.decode(body), _HELD), Scene)
        return _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def line_hash(line: bytes) -> str:
    """A line, told from others; white space at its ends does not count, so that indenting keeps it."""
    return hashlib.sha256(line.strip()).hexdigest()[:LINE_HASH_CHARS]


def anchor(file: str, position: str, body: bytes) -> Anchor | None:
    """The anchor of a position such as ``42`` or ``42:7`` in a file's content."""
    number, _, rest = position.partition(":")
    line = parse_digits(number)
    if line < 1:
        return None
    lines = body.split(b"\n")
    first = max(1, line - AROUND_LINES)
    around = lines[first - 1 : line + AROUND_LINES]
    return Anchor(file, line, rest, first, tuple(map(line_hash, around)))


def moved(held: Anchor, body: bytes) -> tuple[int, bool]:
    """(the line where the anchored one is now, whether it is the very line).

    If the line itself is gone, the place where it would be."""
    now = [line_hash(line) for line in body.split(b"\n")]
    at = held.line - held.first
    if not held.lines or not 0 <= at < len(held.lines):
        return min(held.line, len(now)), False
    wanted = held.lines[at]
    best = _by_neighbours(held.lines, at, now)
    if best and best[1]:
        return best[0], True
    places = [n for n, line in enumerate(now, 1) if line == wanted]
    if len(places) == 1 and wanted != line_hash(b""):
        return places[0], True
    return (best[0] if best else min(held.line, len(now))), False


def _by_neighbours(then: Sequence[str], at: int, now: Sequence[str]) -> tuple[int, bool] | None:
    """Where a line is by the blocks of equal lines: (line from 1, whether it is in such a block)."""
    from difflib import SequenceMatcher

    blocks = SequenceMatcher(None, then, now, autojunk=False).get_matching_blocks()
    before = None
    for block in blocks:
        if block.a <= at < block.a + block.size:
            return block.b + at - block.a + 1, True
        if block.a + block.size <= at and block.size:
            before = block
    if before is not None:
        return min(before.b + before.size + (at - before.a - before.size) + 1, max(1, len(now))), False
    following = next((block for block in blocks if block.size and block.a > at), None)
    return (max(1, following.b - (following.a - at) + 1), False) if following else None
