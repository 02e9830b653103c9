"""The base of our frozen types, and how a number of things and a moment are written.

``frozen=True`` is inherited at run time; the metaclass tells type checkers so too.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class FrozenMeta(msgspec.StructMeta):
    """What makes a class one of our values."""


class Value(msgspec.Struct, frozen=True, metaclass=FrozenMeta):
    """An immutable value with named, typed fields."""


def count(number: int, noun: str, plural: str = "") -> str:
    """``1 item``, ``3 items``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def whole(digits: str) -> int:
    """The number that these digits are; -1 if they are none, or more than any number here has."""
    return int(digits) if digits.isdecimal() and len(digits) < 19 else -1


def iso(seconds: float) -> str:
    """A moment as events carry it; empty for none."""
    if not 0 < seconds < 1e11:
        return ""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def seconds_of(moment: str) -> float:
    """The other way round; 0 for none."""
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return 0.0


Texts = str | Iterable[str]


def texts(value: Texts | None) -> tuple[str, ...]:
    """One text or several, as several."""
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


class Part(Value, omit_defaults=True):
    """A named part of a state."""
