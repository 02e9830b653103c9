"""Damages files as happens in practice: bits flip, lines are lost, doubled, joined and torn, types change.

Each function takes bytes and a seeded ``Random``, and returns damaged bytes. It knows nothing of the format
except that it is JSON, in lines or as one document.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

Damage = Callable[[bytes, Random], bytes]

WRONG: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**25, 1e300, "", "x", "\ud83d", [], [[]], [None, 1, "x"], {}, {"": {}},
    {"type": 1, "text": []}, [{"type": "text", "text": None}], "2026-13-45T99:99:99Z", "99999-01-01",
)  # fmt: skip


def flip_bits(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 3, 20))):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def drop_lines(data: bytes, random: Random) -> bytes:
    return b"".join(line for line in data.splitlines(keepends=True) if random.random() > 0.1)


def double_lines(data: bytes, random: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(line * (2 if random.random() < 0.1 else 1) for line in lines)


def glue_lines(data: bytes, random: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(line.rstrip(b"\n") if random.random() < 0.1 else line for line in lines)


def swap_lines(data: bytes, random: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    for _ in range(3):
        first, second = random.randrange(len(lines)), random.randrange(len(lines))
        lines[first], lines[second] = lines[second], lines[first]
    return b"".join(lines)


def tear(data: bytes, random: Random) -> bytes:
    """Remove a part in the middle, as after a crash of the machine."""
    first, second = sorted(random.randrange(len(data) + 1) for _ in range(2))
    return data[:first] + data[second:]


def overwrite(data: bytes, random: Random) -> bytes:
    """Replace some bytes by NULs or by invalid UTF-8."""
    at = random.randrange(len(data))
    size = random.choice((1, 7, 512))
    return (
        data[:at] + random.choice((b"\0", b"\xff", b"\xed\xa0\x80"[:1], b"\x1b")) * size + data[at + size :]
    )


def splice(data: bytes, random: Random) -> bytes:
    """Copy a piece of the file to another place in it."""
    start, end = sorted(random.randrange(len(data) + 1) for _ in range(2))
    at = random.randrange(len(data) + 1)
    return data[:at] + data[start : min(end, start + 4_000)] + data[at:]


def wrong_type(data: bytes, random: Random) -> bytes:
    """Replace a value by one of another type."""
    return changed_value(data, random, lambda value: random.choice(WRONG))


def huge_text(data: bytes, random: Random) -> bytes:
    """Replace a text by one of 2 MB, like a pasted log or an image as base64."""
    text = random.choice(("iVBORw0KGgo" * 190_000, "word " * 400_000, "<" * 2_000_000, '{"' * 1_000_000))
    return changed_value(data, random, lambda value: text, only=str)


def nest_deep(data: bytes, random: Random) -> bytes:
    """Replace a value by one that is nested deeper than parsers support."""
    hole = "a-hole-to-be-filled"
    with_hole = changed_value(data, random, lambda value: hole)
    opening, closing = random.choice(((b"[", b"]"), (b'{"a":', b"}")))
    depth = random.choice((200, 5_000, 60_000))
    inner = b"1" if opening == b'{"a":' else b""
    return with_hole.replace(f'"{hole}"'.encode(), opening * depth + inner + closing * depth)


ALL: tuple[Damage, ...] = (
    flip_bits, drop_lines, double_lines, glue_lines, swap_lines, tear, overwrite, splice, wrong_type,
)  # fmt: skip
SLOW: tuple[Damage, ...] = (huge_text, nest_deep)


def changed_value(
    data: bytes, random: Random, change: Callable[[Any], Any], only: type | None = None
) -> bytes:
    """The same JSON with one value changed; it may be lines or one document."""
    lines = data.splitlines()
    at = random.randrange(len(lines)) if lines else 0
    try:
        rows, values = list(lines), [json.loads(line) for line in lines[at : at + 1]]
    except ValueError:
        rows, at, values = [data], 0, [json.loads(data)]
    if not values:
        return data
    places = [place for place in _places(values, 0) if only is None or isinstance(place[0][place[1]], only)]
    if not places:
        return data
    holder, key = random.choice(places)
    holder[key] = change(holder[key])
    rows[at] = json.dumps(values[0]).encode()
    return b"\n".join(rows) + b"\n"


def wrong_types(data: bytes, random: Random, every: int = 1) -> Iterator[tuple[str, bytes]]:
    """For each value of the JSON, or every n-th one: a description, and the bytes with a value of another
    type in its place."""
    try:
        rows = [json.loads(data)]
    except ValueError:
        rows = [json.loads(line) for line in data.splitlines() if line]
    places = list(_places(rows, 0))
    for at in range(random.randrange(every), len(places), every):
        holder, key = places[at]
        if holder is rows:
            continue
        before = holder[key]
        for holder[key] in [random.choice(WRONG), *_inner_wrong(before, random)]:
            yield f"{key} = {holder[key]!r}", b"\n".join(json.dumps(row).encode() for row in rows)
        holder[key] = before


def _inner_wrong(text: Any, random: Random) -> Iterator[str]:
    """The same for the values of JSON inside a string."""
    if not isinstance(text, str) or text[:1] not in ("{", "["):
        return
    try:
        row = json.loads(text)
    except ValueError:
        return
    for holder, key in list(_places(row, 0)):
        before, holder[key] = holder[key], random.choice(WRONG)
        yield json.dumps(row)
        holder[key] = before


def _places(value: Any, depth: int) -> Iterator[tuple[Any, Any]]:
    """Every container in a value with each of its keys."""
    if depth > 40:
        return
    if isinstance(value, list | dict):
        for key in range(len(value)) if isinstance(value, list) else list(value):
            yield value, key
            yield from _places(value[key], depth + 1)
