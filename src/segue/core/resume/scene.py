"""A scene: the state of the working tree when the work was left, so that changes since can be reported.

It does not repeat what git knows: a commit stands for all files at that time, and only uncommitted files are
listed, with their hashes. Without git the hashes of all files are listed, unless there are too many. A scene
never contains content: of the line in focus and the lines around it there are only hashes, by which the line
is found again.
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
    """A file that differs from the commit."""

    path: str
    kind: Kind
    hash: str = ""
    """The hash that git would give its content; empty if there is no content or it was not read."""
    source: str = ""
    """The old path, if it was renamed."""


class Anchor(Value, omit_defaults=True):
    """A line in a file, and the hashes of the lines around it."""

    file: str
    line: int
    """The number of the line, from 1."""
    rest: str = ""
    """What followed the line in the position, such as a column."""
    first: int = 1
    """The number of the line that the first hash belongs to."""
    lines: tuple[str, ...] = ()


class Scene(Value, omit_defaults=True):
    """The state of a working tree at a time."""

    at: float = 0.0
    """Seconds since the epoch."""
    reason: str = ""
    """Why it was saved: a trigger, or the reason that was given for a pause."""
    host: str = ""
    folder: str = ""
    """The top of the working tree."""
    session: str = ""
    version: int = 0
    """The version of the session."""
    git: bool = False
    branch: str = ""
    """Empty on a detached head."""
    head: str = ""
    """Empty before the first commit."""
    doing: str = ""
    """The merge, rebase, cherry-pick, revert or bisect that is in progress, if any."""
    stash: str = ""
    """The newest stash."""
    shallow: bool = False
    dirty: tuple[Dirty, ...] = ()
    more: int = 0
    """The number of changed files that are not listed."""
    files: dict[str, str] = {}
    """Without git, the hash of each file."""
    notes: dict[str, str] = {}
    """The hash of each note outside the working tree."""
    focus: Anchor | None = None
    touched: tuple[str, ...] = ()
    """The files that this work read or changed, relative to the top of the tree."""
    cut: bool = False
    """Whether time ran out before everything was examined."""
    derived: str = ""
    """What it was reconstructed from, if no scene was saved at the time."""


_decoder = json_decoder(Scene)


_TO_JSON = {0xDC00 + byte: 0x10FF00 + byte for byte in range(0x80, 0x100)}
"""How bytes of names that are not UTF-8 are stored: Python has them as surrogates, which JSON cannot
contain."""
_FROM_JSON = {stored: surrogate for surrogate, stored in _TO_JSON.items()}
_STORED_PREFIX = "\U0010ff80".encode()[:2]


def encode(scene: Scene) -> bytes:
    """The scene as JSON. File names that are not UTF-8 survive."""
    try:
        return msgspec.json.encode(scene)
    except UnicodeEncodeError:
        return msgspec.json.encode(_translated(msgspec.to_builtins(scene), _TO_JSON))


def _translated(value: Any, table: dict[int, int]) -> Any:
    if isinstance(value, str):
        return value.translate(table)
    if isinstance(value, dict):
        return {_translated(key, table): _translated(inner, table) for key, inner in value.items()}
    return [_translated(inner, table) for inner in value] if isinstance(value, list | tuple) else value


def decode(body: bytes) -> Scene | None:
    """The scene in these bytes, or None if they are malformed."""
    try:
        if _STORED_PREFIX in body:
            return msgspec.convert(_translated(msgspec.json.decode(body), _FROM_JSON), Scene)
        return _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def line_hash(line: bytes) -> str:
    """A short hash of a line without leading and trailing whitespace, so that indenting does not change
    it."""
    return hashlib.sha256(line.strip()).hexdigest()[:LINE_HASH_CHARS]


def anchor(file: str, position: str, body: bytes) -> Anchor | None:
    """The anchor of a position such as ``42`` or ``42:7`` in a file's content; None if it has no line."""
    number, _, rest = position.partition(":")
    line = parse_digits(number)
    if line < 1:
        return None
    lines = body.split(b"\n")
    first = max(1, line - AROUND_LINES)
    around = lines[first - 1 : line + AROUND_LINES]
    return Anchor(file, line, rest, first, tuple(map(line_hash, around)))


def moved(anchored: Anchor, body: bytes) -> tuple[int, bool]:
    """The number of the anchored line in the file's content now, and whether that is the very same line.

    If the line itself is gone, it is the number that the line would have.
    """
    now = [line_hash(line) for line in body.split(b"\n")]
    at = anchored.line - anchored.first
    if not anchored.lines or not 0 <= at < len(anchored.lines):
        return min(anchored.line, len(now)), False
    wanted = anchored.lines[at]
    best = _by_neighbours(anchored.lines, at, now)
    if best and best[1]:
        return best[0], True
    equal = [n for n, line in enumerate(now, 1) if line == wanted]
    if len(equal) == 1 and wanted != line_hash(b""):
        return equal[0], True
    return (best[0] if best else min(anchored.line, len(now))), False


def _by_neighbours(then: Sequence[str], at: int, now: Sequence[str]) -> tuple[int, bool] | None:
    """The number of a line by the blocks of equal lines around it, and whether it is part of such a block."""
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
