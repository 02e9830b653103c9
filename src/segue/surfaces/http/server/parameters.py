"""Shared by all routes: types of fields and parameters with their limits, and pages of lists with their
cursors.

A cursor is opaque: it says after which entry the next page begins, and is not meant to be read by clients.
Lists are ordered by values that never change, so that paging through one neither skips nor repeats an entry
while others write.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from ....errors import UsageError
from ....services.sessions.repository import Saved

T = TypeVar("T")
S = TypeVar("S", bound=Saved)
LIMIT_MAX = 1_000
INTEGER_MAX = 2**53
Limit = Annotated[int, Meta(ge=1, le=LIMIT_MAX, description="The most entries to return.")]
Version = Annotated[int, Meta(ge=0, le=INTEGER_MAX, description="A version of the session.")]
Cursor = Annotated[
    str, Meta(max_length=2_000, description="`next` of the previous page; empty for the first one.")
]
Text = Annotated[str, Meta(max_length=262_144)]
Name = Annotated[str, Meta(max_length=256)]
Id = Annotated[str, Meta(max_length=128)]
SAVED: dict[str, Any] = {"session": "2026-11-15-coding-web-001", "version": 5, "events": 1, "warnings": []}
"""The example of a saved change."""


class RequestBody(msgspec.Struct, forbid_unknown_fields=True):
    """The base of request bodies; an unknown field is refused, not ignored."""


class Reason(RequestBody):
    """The reason for a change; it is recorded."""

    reason: Text = ""


def with_more(kind: type[S], saved: Saved, **more: Any) -> S:
    """What was saved, with further fields."""
    return kind(**msgspec.structs.asdict(saved), **more)


def cursor_of(*keys: str | int) -> str:
    """An opaque cursor for what comes after an entry with these keys."""
    return base64.urlsafe_b64encode(msgspec.json.encode(keys)).decode().rstrip("=")


def keys_in(cursor: str, *kinds: type) -> tuple[Any, ...]:
    """The keys in a cursor. Raises UsageError if it is not a cursor of this list."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        keys: tuple[Any, ...] = msgspec.json.decode(raw, type=tuple[kinds])  # type: ignore[valid-type]
    except (binascii.Error, ValueError, msgspec.MsgspecError, UnicodeDecodeError):
        raise UsageError(
            "this cursor does not belong to this list", hint="use `next` from the previous page"
        ) from None
    if any(isinstance(key, int) and not 0 <= key <= INTEGER_MAX for key in keys):
        raise UsageError("this cursor does not belong to this list", hint="use `next` from the previous page")
    return keys


def page(
    entries: Sequence[T], keys: Sequence[tuple[str, str]], cursor: str, limit: int
) -> tuple[list[T], str]:
    """A page of entries, those with the highest keys first, and the next cursor. All keys are different."""
    behind = keys_in(cursor, str, str) if cursor else None
    order = sorted(range(len(entries)), key=lambda place: keys[place], reverse=True)
    left = [place for place in order if behind is None or keys[place] < behind]
    taken = left[:limit]
    return [entries[place] for place in taken], cursor_of(*keys[taken[-1]]) if len(left) > limit else ""
