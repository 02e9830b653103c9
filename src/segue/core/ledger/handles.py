"""How people name an entry: by the first characters of its id, as many as no other entry begins with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .model import Entry

HANDLE_CHARS = 4
"""The least that names an entry: fewer are more likely a slip than a name."""


def handles(entries: Iterable[Entry]) -> dict[str, str]:
    """The shortest handle of each entry, by its id."""
    ids = sorted({entry.id for entry in entries})
    made: dict[str, str] = {}
    for at, id in enumerate(ids):
        beside = (*ids[max(0, at - 1) : at], *ids[at + 1 : at + 2])
        length = max((_common(id, other) + 1 for other in beside), default=0)
        made[id] = id[: max(HANDLE_CHARS, length)]
    return made


def _common(one: str, other: str) -> int:
    """How many characters at their beginning are the same."""
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return min(len(one), len(other))


def entries_named(entries: Sequence[Entry], name: str) -> list[Entry]:
    """The entries that a handle or an id names; several if it is too short."""
    wanted = name.strip().lower()
    exact = [entry for entry in entries if entry.id == wanted]
    if exact or len(wanted) < HANDLE_CHARS:
        return exact
    return [entry for entry in entries if entry.id.startswith(wanted)]
