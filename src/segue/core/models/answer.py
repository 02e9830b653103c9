"""The values in models' answers, whatever these are: JSON, JSON in prose, JSON that was cut off, or nothing.

Where an endpoint cannot enforce a schema, its answer is searched for the first object or list that can be
parsed; of one that was cut off, the complete elements are taken. Nothing here raises, and the time taken is
linear in the length of the answer.
"""

from __future__ import annotations

from typing import Any

from ..base.json_prefix import decode_prefix
from ..base.lazy import regex

CHARS_MAX = 64_000
DEPTH_MAX = 40
_BRACE = regex(r"[{\[]")


def value_of(text: str) -> Any:
    """The JSON object, or the list of objects, in a text; None if there is none."""
    text = text[:CHARS_MAX]
    for match in list(_BRACE.finditer(text))[:DEPTH_MAX]:
        found = _decoded(text, match.start())
        if isinstance(found, dict) and found:
            return found
        if isinstance(found, list) and found and isinstance(found[0], dict):
            return found
        if found is None and (whole := _salvaged(text, match.start())) is not None:
            return whole
    return None


def _decoded(text: str, start: int) -> Any:
    try:
        return decode_prefix(text, start)[0]
    except (ValueError, RecursionError):
        return None


_KEY = regex(r'"(\w{1,40})"\s*:\s*\[')


def _salvaged(text: str, start: int) -> dict[str, list[Any]] | None:
    """The lists of an object that was cut off, with their complete elements."""
    found: dict[str, list[Any]] = {}
    place = start
    while len(found) < DEPTH_MAX and (match := _KEY.search(text, place)):
        rows, place = _elements(text, match.end())
        if match[1] not in found:
            found[match[1]] = rows
    return found or None


def _elements(text: str, place: int) -> tuple[list[Any], int]:
    rows: list[Any] = []
    while place < len(text):
        while place < len(text) and text[place] in " \t\r\n,":
            place += 1
        if place >= len(text) or text[place] == "]":
            return rows, place + 1
        try:
            row, place = decode_prefix(text, place)
        except (ValueError, RecursionError):
            return rows, place + 1
        rows.append(row)
    return rows, place
