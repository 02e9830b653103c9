"""How long to wait according to a refusal, in the words of agents and of the services behind them.

Pure: the clock and the time zones are handed in. Recognised are spans ("try again in 20s", "reset after
3h25m"), times of the day ("resets 1:33pm (UTC)", "try again at Nov 17th, 2026 7:06 PM") and moments in
seconds ("limit reached|1794749593"). A time without a date is the next such time; one in the past means no
wait. A text that is not understood means no wait either: callers have a default of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from ..base.lazy import regex

Zones = Callable[[str], tzinfo | None]

_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_UNIT = (
    r"(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)(?![A-Za-z])"
    r"|(?<=\d)([smhd])(?=\d)"
)
_PIECE = regex(rf"(\d+(?:\.\d+)?)\s*(?:{_UNIT})", re.I)
_AGAIN = r"(?:try(?:ing)? again|retry(?:ing)?|resets?|available(?: again)?|wait)"
_SPAN = regex(rf"(?:{_AGAIN}\s+(?:in|after|for)|retryDelay\W{{1,6}})\s*(?:about\s+)?(?=\d)", re.I)
_BETWEEN = regex(r"[\s,]*(?:and\s+)?")
_BARE = regex(
    r"(?:retry[-_ ]after|(?:resets|retry)_in_seconds)\W{1,6}(\d+(?:\.\d+)?)(?![\d.]*\s*[\dA-Za-z:])", re.I
)
_MOMENT = regex(r"(?:limit reached\||resets_?at\W{1,6})(\d{10})(\d{3})?(?!\d)", re.I)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE = (
    rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b"
    r"(?:,?\s+(?P<year>\d{4}))?"
)
_TIME = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?::\d{2})?\s?(?P<half>[ap]m\b)?"
_ZONE = r"(?:\s*\(?(?P<zone>UTC|GMT|[A-Z][A-Za-z_]+/[A-Za-z_/+\-0-9]+)\)?)?"
_ONLY_TIME = _TIME.replace("?P<", "?P<only_")
_CLOCK = regex(
    rf"{_AGAIN}(?:\s+(?:at|on))?\s+(?:{_DATE}(?:(?:,|\s+at)?\s+{_TIME})?|{_ONLY_TIME}){_ZONE}", re.I
)


def told_wait(text: str, now: datetime, zones: Zones = lambda name: None) -> float:
    """The seconds to wait according to a text; 0 if it names no wait. ``now`` must have a time zone."""
    span = _SPAN.search(text)
    if span and (seconds := _span(text[span.end() :])):
        return seconds
    if bare := _BARE.search(text):
        return float(bare[1])
    if moment := _MOMENT.search(text):
        return max(0.0, float(moment[1]) - now.timestamp())
    clock = _CLOCK.search(text)
    return _until(clock, now, zones) if clock else 0.0


def _span(text: str) -> float:
    seconds, at = 0.0, 0
    while piece := _PIECE.match(text, at):
        word = (piece[2] or piece[3]).lower()
        seconds += float(piece[1]) * _SECONDS["ms" if word.startswith(("ms", "milli")) else word[0]]
        between = _BETWEEN.match(text, piece.end())
        at = between.end() if between else piece.end()
    return seconds


def _until(found: re.Match[str], now: datetime, zones: Zones) -> float:
    name = found["zone"] or ""
    zone = (UTC if name.upper() in ("UTC", "GMT") else zones(name)) if name else None
    here = now.astimezone(zone) if zone is not None else now
    hour, minute, half = (found[name] or found[f"only_{name}"] or "" for name in ("hour", "minute", "half"))
    if hour and not (minute or half):
        return 0.0  # a number that is not a time
    try:
        then = here.replace(
            hour=(int(hour) % 12 + (12 if half.lower() == "pm" else 0)) if half else int(hour or 0),
            minute=int(minute or 0), second=0, microsecond=0,
        )  # fmt: skip
        if not found["month"]:
            then = then if then > here else then + timedelta(days=1)
            return (then - here).total_seconds()
        month = _MONTHS.index(found["month"].lower()) + 1
        then = then.replace(year=int(found["year"] or here.year), month=month, day=int(found["day"]))
        if not found["year"] and here - then > timedelta(days=180):
            then = then.replace(year=here.year + 1)
    except ValueError:
        return 0.0
    return max(0.0, (then - here).total_seconds())
