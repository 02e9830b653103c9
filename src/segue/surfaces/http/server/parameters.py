"""What routes share: types of fields and parameters with their limits, pages of lists and their cursors.

A cursor is opaque: it says behind what the next page begins, and nothing that a client should read. Lists
are ordered by what never changes, so that paging through one misses nothing and gives nothing twice while
others write.
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
Limit = Annotated[int, Meta(ge=1, le=LIMIT_MAX, description="At most so many.")]
Version = Annotated[int, Meta(ge=0, le=INTEGER_MAX, description="A version of the session.")]
Cursor = Annotated[str, Meta(max_length=2_000, description="`next` of the page before; empty: the first.")]
Text = Annotated[str, Meta(max_length=262_144)]
Name = Annotated[str, Meta(max_length=256)]
Id = Annotated[str, Meta(max_length=128)]
SAVED: dict[str, Any] = {"session": "2026-11-15-coding-web-001", "version": 5, "events": 1, "warnings": []}
"""The example of whatever was saved."""


class RequestBody(msgspec.Struct, forbid_unknown_fields=True):
    """Base of what is sent: a field that is not known is refused, not overlooked."""


class Reason(RequestBody):
    """Why it is done; it is recorded."""

    reason: Text = ""


def with_more(kind: type[S], saved: Saved, **more: Any) -> S:
    """What was saved, and more about it."""
    return kind(**msgspec.structs.asdict(saved), **more)


def cursor_of(*keys: str | int) -> str:
    """An opaque cursor behind an entry with these keys."""
    return base64.urlsafe_b64encode(msgspec.json.encode(keys)).decode().rstrip("=")


def keys_in(cursor: str, *kinds: type) -> tuple[Any, ...]:
    """The keys of a cursor of ours; UsageError if it is none."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        keys: tuple[Any, ...] = msgspec.json.decode(raw, type=tuple[kinds])  # type: ignore[valid-type]
    except (binascii.Error, ValueError, msgspec.MsgspecError, UnicodeDecodeError):
        raise UsageError("this is no cursor of this list", hint="give `next` of the page before") from None
    if any(isinstance(key, int) and not 0 <= key <= INTEGER_MAX for key in keys):
        raise UsageError("this is no cursor of this list", hint="give `next` of the page before")
    return keys


def page(
    entries: Sequence[T], keys: Sequence[tuple[str, str]], cursor: str, limit: int
) -> tuple[list[T], str]:
    """(a page of entries, the next cursor), the entry with the highest key first; no two keys are equal."""
    behind = keys_in(cursor, str, str) if cursor else None
    order = sorted(range(len(entries)), key=lambda place: keys[place], reverse=True)
    left = [place for place in order if behind is None or keys[place] < behind]
    taken = left[:limit]
    return [entries[place] for place in taken], cursor_of(*keys[taken[-1]]) if len(left) > limit else ""
