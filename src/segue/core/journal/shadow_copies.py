"""Private copies of values, to see later whether the values are still the same.

In Python ``1 == True``, so the copies hold something stricter in place of such values, and say where even
that does not help.
"""

from __future__ import annotations

from typing import Any

_PLAIN = frozenset((str, bytes, type(None)))
_PLAIN_OR_NUMBERS = _PLAIN | {int, float}


class _Itself:
    """What a private copy holds for a bool, 0 or 1. In Python ``1 == True``; this is equal to only one of
    them."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return other is self.value


class _Float:
    """What a private copy holds for 0.0, -0.0 and 1.0, for the same reason."""

    __slots__ = ("text",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: float) -> None:
        self.text = repr(value)

    def __eq__(self, other: object) -> bool:
        return type(other) is float and repr(other) == self.text


_ITSELF = {bool: (_Itself(False), _Itself(True)), int: (_Itself(0), _Itself(1))}


def shadow(value: Any) -> tuple[Any, bool]:
    """A private copy that equals the value as long as that is unchanged, and whether ``==`` cannot be relied
    on."""
    kind = type(value)
    if kind in _PLAIN:
        return value, False
    if kind is bool or kind is int:
        return _ITSELF[kind][value] if 0 <= value <= 1 else value, False
    if kind is float:
        return _Float(value) if value in (0, 1) else value, False
    if kind is dict:
        values = value.values()
        vague = not _PLAIN_OR_NUMBERS.issuperset(map(type, value)) or 0 in value or 1 in value
        if not (vague or 0 in values or 1 in values) and _PLAIN_OR_NUMBERS.issuperset(map(type, values)):
            return value.copy(), False
        copies = [shadow(v) for v in values]
        return dict(zip(value, [c[0] for c in copies], strict=True)), vague or any(c[1] for c in copies)
    if kind is list or kind is tuple:
        copies = [shadow(v) for v in value]
        return kind([c[0] for c in copies]), any(c[1] for c in copies)
    return value, True
