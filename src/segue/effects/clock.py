"""The time in the form that events carry: UTC, ISO 8601, microseconds, ``Z``."""

from __future__ import annotations

import time
from functools import lru_cache

from ..errors import RefusedError

_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
"""Of the years that a time with four digits for the year can tell, as Unix times."""
_AGES_SECONDS = 1e12
_last: tuple[int, str] = (0, "")
"""The last second that was formatted, and its text."""


def now() -> str:
    """The current time as events carry it."""
    global _last
    seconds, rest = divmod(_time_ns(), 1_000_000_000)
    last, text = _last
    if seconds != last:
        text = _second(seconds)
        _last = seconds, text
    return f"{text}.{str(1_000_000 + rest // 1000)[1:]}Z"


def moment(later_seconds: float) -> str:
    """The time so many seconds from now, or before now if negative, as events carry it. What lies before the
    year 1 or behind the year 9999 is the first or the last moment that events can carry."""
    later_seconds = min(max(later_seconds, -_AGES_SECONDS), _AGES_SECONDS)
    seconds, rest = divmod(_time_ns() + int(later_seconds * 1e9), 1_000_000_000)
    seconds = min(max(seconds, _FIRST_SECOND), _LAST_SECOND)
    return f"{_second(seconds)}.{rest // 1000:06d}Z"


def _time_ns() -> int:
    try:
        return time.time_ns()
    except OverflowError as fault:
        told = "this machine's clock shows an impossible time, so nothing can be dated"
        raise RefusedError(told, hint="set the clock, then try again") from fault


def days_between(earlier: str, later: str) -> float:
    """How many days lie between two times; 0 if one of them cannot be parsed."""
    from datetime import datetime

    try:
        return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds() / 86_400
    except (ValueError, TypeError):
        return 0.0


@lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    year, *rest = time.gmtime(seconds)[:6]
    return "{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}".format(year, *rest)
