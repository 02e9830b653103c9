"""Dates as words for full-text search: the date of a memory, and the dates that a query names.

A date becomes ``~2026-11-15``, ``~2026-11``, ``~2026`` and ``~2026w46``, plus ``~-11-15`` and ``~-11`` for
queries that name no year. No word of a text begins with ``~``. A month whose name is also another word (May,
March) counts only next to a day or a year, or after "in" and the like.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from ...errors import UsageError
from ..base.lazy import regex

MARK = "~"
"""The prefix of words for dates, which no word of a text has."""
_MONTHS = "january february march april may june july august september october november december".split()
_SHORT = {name[:3]: number for number, name in enumerate(_MONTHS, 1)} | {"sept": 9}
_NAMES = "|".join([*_MONTHS, *(name for name in _SHORT if name != "may")])
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_NAMED = regex(
    rf"(?:\b(in|of|on|by|during|since|until|before|after|early|late|mid|last|this|next)\s+)?"
    rf"(?:\b{_DAY}\s+(?:of\s+)?)?\b({_NAMES})\b\.?(?:\s+{_DAY}\b(?!\d))?(?:,?\s+(\d{{4}})\b)?",
    re.IGNORECASE,
)
_ISO = regex(r"(?<![\w.-])(\d{4})-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?(?![\w-])")
_YEAR = regex(r"(?<![\w./-])(?:19|20)\d\d(?![\w-]|\.\d)")
_RELATIVE = regex(r"\b(today|yesterday|(?:this|last) (?:week|month|year))\b", re.IGNORECASE)


def moment_of(text: str, what: str, *, late: bool = False) -> str:
    """A date or a time that a user wrote, in the form that the journal uses. Raises UsageError if it is
    neither.

    A date means its beginning or, with ``late``, its end; ``what`` names the value in the error.
    """
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        raise UsageError(
            f"{what} is not a time: {text[:60]!r}", hint="for example 2026-11-01 or 2026-11-01T08:30Z"
        ) from None
    if late and len(text) <= 10:
        moment += timedelta(days=1) - timedelta(microseconds=1)
    moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def days_of(moment: str) -> list[str]:
    """The words for the date of a time in the journal's form; empty if it is malformed."""
    try:
        day = date.fromisoformat(moment[:10])
    except ValueError:
        return []
    return [*_words(f"{day.year:04}", day.month, day.day), _week(day)]


def days_asked(text: str, today: str = "") -> list[str]:
    """The words for the dates that a query names. "Yesterday" and the like count only if ``today`` is
    given."""
    words: dict[str, None] = {}
    for pattern, read in ((_ISO, _of_iso), (_NAMED, _of_name)):
        for match in pattern.finditer(text):
            words.update(dict.fromkeys(read(match)))
    if not words:
        words.update((MARK + year, None) for year in _YEAR.findall(text))
    if today:
        for match in _RELATIVE.finditer(text):
            words.update(dict.fromkeys(_relative(match[1].lower(), date.fromisoformat(today[:10]))))
    return list(words)


def _of_iso(match: re.Match[str]) -> Iterator[str]:
    year, month, day = match.groups()
    yield from _named(year, int(month), int(day or 0))


def _of_name(match: re.Match[str]) -> Iterator[str]:
    before, early, name, late, year = match.groups()
    day = int(early or late or 0)
    if name.lower() in ("may", "march", "mar", "dec", "sep") and not (day or year or before):
        return
    if day <= 31:
        yield from _named(year or "", _SHORT[name[:3].lower()], day)


def _named(year: str, month: int, day: int) -> Iterator[str]:
    """The words that a query for this date looks for: with the year if it names one, without it if not."""
    words = _words(year, month, day)
    yield from (word for word in words if (word[1] != "-") == bool(year) and word != MARK + year)


def _words(year: str, month: int, day: int) -> list[str]:
    words = [f"{MARK}{year}-{month:02}-{day:02}", f"{MARK}-{month:02}-{day:02}"] if day else []
    words += [f"{MARK}{year}-{month:02}", f"{MARK}-{month:02}"]
    return [*dict.fromkeys(words), MARK + year] if year else list(dict.fromkeys(words))


def _week(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{MARK}{year:04}w{week:02}"


def _relative(words: str, today: date) -> Iterator[str]:
    which, _, unit = words.rpartition(" ")
    if unit in ("today", "yesterday"):
        yield MARK + str(today - timedelta(days=unit == "yesterday"))
    elif unit == "week":
        yield _week(today - timedelta(days=7 * (which == "last")))
    elif unit == "month":
        first = today.replace(day=1)
        yield f"{MARK}{first - timedelta(days=1) if which == 'last' else first:%Y-%m}"
    else:
        yield f"{MARK}{today.year - (which == 'last')}"
