"""The base classes of all frozen types, and small conversions of counts, times and lists of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TypeVar, dataclass_transform

import msgspec

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class FrozenMeta(msgspec.StructMeta):
    """Tells type checkers what msgspec does only at run time: subclasses of Value are frozen, too."""


class Value(msgspec.Struct, frozen=True, metaclass=FrozenMeta):
    """An immutable value with named, typed fields."""


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: ``1 item``, ``3 items``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


Progress = Callable[[int, int, str], None]
"""Is told how many things are done, of how many, and which one is next."""


def counted(things: Sequence[T], progress: Progress | None, name: Callable[[T], str] = str) -> Iterator[T]:
    """Each of these things, while ``progress`` is told how far it is."""
    for done, thing in enumerate(things):
        if progress:
            progress(done, len(things), name(thing))
        yield thing


def parse_digits(digits: str) -> int:
    """The number that a text of digits stands for; -1 if it is not one, or has 19 digits or more."""
    return int(digits) if digits.isdecimal() and len(digits) < 19 else -1


def iso(seconds: float) -> str:
    """A Unix time as events carry it: UTC, with microseconds and ``Z``. Empty if it is out of range."""
    if not 0 < seconds < 1e11:
        return ""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def seconds_of(moment: str) -> float:
    """The Unix time of an ISO 8601 text; 0 if it is not one."""
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return 0.0


Texts = str | Iterable[str]


def texts(value: Texts | None) -> tuple[str, ...]:
    """One text, several, or none, as a tuple."""
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


class Part(Value, omit_defaults=True):
    """The base of values that are parts of a session's state: fields with their default are not stored."""
