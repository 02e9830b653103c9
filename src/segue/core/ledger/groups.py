"""The entries of a ledger as people look at them: in groups, each entry with what belongs to it.

What holds is decided by ``standing``. With the settled ones, every entry is in exactly one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from ..base.values import Value
from .model import HOLDING, SETTLED, Entry, Kind
from .standing import standing

GroupName = Literal["requests", "answered", "asked", "rules", "choices", "lists", "tried", "failing"]
_GROUP_OF_KIND: dict[Kind, GroupName] = {
    "request": "requests", "question": "asked", "rule": "rules", "permission": "rules", "choice": "choices",
    "list": "lists", "item": "lists", "attempt": "tried", "failing": "failing",
}  # fmt: skip
GROUPS: tuple[GroupName, ...] = (
    "requests", "answered", "asked", "rules", "choices", "lists", "tried", "failing",
)  # fmt: skip
TITLES: dict[GroupName, str] = {
    "requests": "Requests", "answered": "Answered, confirmed by nobody", "asked": "Asked by the agent",
    "rules": "Rules", "choices": "Choices", "lists": "Lists", "tried": "Tried in vain", "failing": "Failing",
}  # fmt: skip
PARTS: tuple[Kind, ...] = ("item", "permission")
"""The kinds of entries that may belong to another one."""


class EntryRow(Value):
    """An entry, and those that belong to it: points, items, permissions."""

    entry: Entry | None
    """None for items that belong to no list."""
    parts: tuple[Entry, ...] = ()


class EntryGroup(Value):
    """Entries that are told together, the oldest first, and what is settled behind what holds."""

    name: GroupName
    rows: tuple[EntryRow, ...]


def groups_of(entries: Iterable[Entry], *, all: bool = False, kind: str = "") -> tuple[EntryGroup, ...]:
    """The entries that hold, or ``all``, in groups; of one ``kind`` where one is named."""
    known = tuple(entries)
    rows = _all_rows(known) if all else _holding_rows(known)
    grouped: dict[str, list[EntryRow]] = {}
    for name, row in rows:
        for one in (row,) if not kind else _of_kind(row, kind, all):
            grouped.setdefault(name, []).append(one)
    return tuple(EntryGroup(name, tuple(grouped[name])) for name in GROUPS if name in grouped)


def _of_kind(row: EntryRow, kind: str, all: bool) -> Iterator[EntryRow]:
    """The row if its entry is of this kind, or else those of its parts that are and that hold, or ``all``."""
    if row.entry is not None and row.entry.kind == kind:
        yield row
    else:
        yield from (
            EntryRow(part) for part in row.parts if part.kind == kind and (all or part.state not in SETTLED)
        )


def _holding_rows(known: Sequence[Entry]) -> Iterator[tuple[GroupName, EntryRow]]:
    now = standing(known)
    for request in now.requests:
        yield "requests", EntryRow(request.entry, request.points)
    yield from (("answered", EntryRow(entry)) for entry in now.answered)
    if now.question is not None:
        yield "asked", EntryRow(now.question)
    for rule in now.rules:
        yield "rules", EntryRow(rule.entry, rule.permissions)
    yield from (("rules", EntryRow(entry)) for entry in now.permissions)
    yield from (("choices", EntryRow(entry)) for entry in now.choices)
    for listed in now.lists:
        yield "lists", EntryRow(listed.entry, listed.items)
    yield from (("tried", EntryRow(entry)) for entry in now.attempts)
    yield from (("failing", EntryRow(entry)) for entry in now.failing)


def _all_rows(known: Sequence[Entry]) -> Iterator[tuple[GroupName, EntryRow]]:
    ids = {entry.id for entry in known if entry.kind not in PARTS}
    parts: dict[str, list[Entry]] = {}
    heads = []
    for entry in known:
        if entry.kind in PARTS and entry.of in ids:
            parts.setdefault(entry.of, []).append(entry)
        else:
            heads.append(entry)
    for entry in sorted(heads, key=lambda entry: entry.state not in HOLDING):
        name = "answered" if entry.state == "answered" else _GROUP_OF_KIND[entry.kind]
        yield name, EntryRow(entry, tuple(parts.get(entry.id, ())))


def entries_in(groups: Iterable[EntryGroup]) -> set[str]:
    """The ids of all entries in some groups."""
    rows = [row for group in groups for row in group.rows]
    heads = {row.entry.id for row in rows if row.entry is not None}
    return heads | {part.id for row in rows for part in row.parts}
