"""The time in the form that events carry: UTC, ISO 8601, microseconds, ``Z``."""

from __future__ import annotations

import time
from functools import lru_cache

_last: tuple[int, str] = (0, "")
"""The last second that was formatted, and its text."""


def now() -> str:
    """The current time as events carry it."""
    global _last
    seconds, rest = divmod(time.time_ns(), 1_000_000_000)
    last, text = _last
    if seconds != last:
        text = _second(seconds)
        _last = seconds, text
    return f"{text}.{str(1_000_000 + rest // 1000)[1:]}Z"


def moment(later_seconds: float) -> str:
    """The time so many seconds from now, or before now if negative, as events carry it."""
    seconds, rest = divmod(time.time_ns() + int(later_seconds * 1e9), 1_000_000_000)
    return f"{_second(seconds)}.{rest // 1000:06d}Z"


def days_between(earlier: str, later: str) -> float:
    """How many days lie between two times; 0 if one of them cannot be parsed."""
    from datetime import datetime

    try:
        return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds() / 86_400
    except (ValueError, TypeError):
        return 0.0


@lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
