"""What of a value was there before: the ranges of its bytes that are also in the value that was saved last.

The usual changes are found by comparing from both ends: something was added, dropped or changed in one place.
Where more than one place changed, short pieces of either value are looked for in the other, near by first,
and each that is found is extended as far as it goes. What is not found counts as new, so the result is always
right and at worst larger than it had to be.
"""

from __future__ import annotations

Part = tuple[int, int] | bytes
"""A range of the old bytes, or bytes that are new."""

_SHORT_BYTES = 192
"""A stretch of the old value that is shorter than this is not worth being looked for."""
_ANCHOR_BYTES = 48
_NEAR_BYTES = (4_096, 65_536, 1 << 40)
"""How far is looked, one after the other."""
_FIRST_BYTES = 64
_STEPS = (8, 72, 328, 1_352, 5_448)
"""How far behind a difference the pieces that are looked for begin. The length of a list, which stands before
its elements, is shorter than the first."""


def difference(old: bytes, new: bytes) -> list[Part]:
    """The parts that the new value consists of, in order."""
    before = common_prefix(old, 0, new, 0, min(len(old), len(new)))
    after = common_suffix(old, len(old), new, len(new), min(len(old), len(new)) - before)
    end_old, end_new = len(old) - after, len(new) - after
    parts: list[Part] = [(0, before)] if before else []
    if min(end_old, end_new) - before >= _SHORT_BYTES:
        parts += _search(old, before, end_old, new, before, end_new)
    elif before < end_new:
        parts.append(new[before:end_new])
    if after:
        parts.append((end_old, len(old)))
    return parts


def _search(old: bytes, at_old: int, end_old: int, new: bytes, at_new: int, end_new: int) -> list[Part]:
    """The parts of a range of the new value, of which a range of the old one may hold some, in order."""
    parts: list[Part] = []
    while at_new < end_new:
        found = _next_match(old, at_old, end_old, new, at_new, end_new)
        if found is None:
            parts.append(new[at_new:end_new])
            break
        start_old, start_new, length = found
        if at_new < start_new:
            parts.append(new[at_new:start_new])
        parts.append((start_old, start_old + length))
        at_old, at_new = start_old + length, start_new + length
    return parts


def _next_match(
    old: bytes, at_old: int, end_old: int, new: bytes, at_new: int, end_new: int
) -> tuple[int, int, int] | None:
    """Where both go on with the same bytes: the place in the old value, that in the new one, and how long."""
    if min(end_old - at_old, end_new - at_new) < _SHORT_BYTES:
        return None
    for near in _NEAR_BYTES:
        for step in _STEPS:
            look_old, look_new = at_old + step, at_new + step
            places = []
            if look_old + _ANCHOR_BYTES <= end_old:
                anchor = old[look_old : look_old + _ANCHOR_BYTES]
                if new.startswith(anchor, look_new, end_new):
                    places.append((look_old, look_new))
                places.append((look_old, new.find(anchor, at_new, min(at_new + near, end_new))))
            if look_new + _ANCHOR_BYTES <= end_new:
                anchor = new[look_new : look_new + _ANCHOR_BYTES]
                places.append((old.find(anchor, at_old, min(at_old + near, end_old)), look_new))
            for there_old, there_new in places:
                if there_old < 0 or there_new < 0:
                    continue
                most = min(there_old - at_old, there_new - at_new)
                back = common_suffix(old, there_old, new, there_new, most)
                start_old, start_new = there_old - back, there_new - back
                most = min(end_old - start_old, end_new - start_new)
                length = common_prefix(old, start_old, new, start_new, most)
                if length >= _SHORT_BYTES:
                    return start_old, start_new, length
        if at_old + near >= end_old and at_new + near >= end_new:
            return None
    return None


def common_prefix(a: bytes, at_a: int, b: bytes, at_b: int, most: int) -> int:
    """How many bytes are the same from two places on, at most so many."""
    view = memoryview(a)
    if b.startswith(view[at_a : at_a + most], at_b):
        return most
    same, size = 0, min(_FIRST_BYTES, most)
    while b.startswith(view[at_a + same : at_a + same + size], at_b + same):
        same += size
        size = min(size * 16, most - same)
    while size > _FIRST_BYTES:  # the first ``same`` are the same, and of the next ``size`` not all are
        half = size // 2
        if b.startswith(view[at_a + same : at_a + same + half], at_b + same):
            same += half
            size -= half
        else:
            size = half
    at_a, at_b = at_a + same, at_b + same
    differing = int.from_bytes(a[at_a : at_a + size]) ^ int.from_bytes(b[at_b : at_b + size])
    return same + size - (differing.bit_length() + 7) // 8


def common_suffix(a: bytes, end_a: int, b: bytes, end_b: int, most: int) -> int:
    """How many bytes are the same before two places, at most so many."""
    view = memoryview(a)
    if b.endswith(view[end_a - most : end_a], 0, end_b):
        return most
    same, size = 0, min(_FIRST_BYTES, most)
    while b.endswith(view[end_a - same - size : end_a - same], 0, end_b - same):
        same += size
        size = min(size * 16, most - same)
    while size > _FIRST_BYTES:
        half = size // 2
        if b.endswith(view[end_a - same - half : end_a - same], 0, end_b - same):
            same += half
            size -= half
        else:
            size = half
    end_a, end_b = end_a - same, end_b - same
    last_a, last_b = a[end_a - size : end_a], b[end_b - size : end_b]
    differing = int.from_bytes(last_a, "little") ^ int.from_bytes(last_b, "little")
    return same + size - (differing.bit_length() + 7) // 8
