"""The fold of what is kept into the entries of a ledger. Pure and total: a change of an entry that is gone
changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from ..base.persistent_list import Rows
from .events import EntryCorrected, LedgerJoined, SaidKept
from .model import Change, Entry, HeardUpTo, Ledger, find_entry, id_of

MESSAGES_MAX = 1_000
"""Of how many messages of a run it is remembered that they were heard."""


def take_kept(ledger: Ledger, body: SaidKept, at: str) -> Ledger:
    """The ledger after something was kept."""
    entries = ledger.entries
    for entry in body.entries:
        if find_entry(entries, entry.id) < 0:
            said = entry if entry.at or body.run else replace(entry, at=at)
            entries = entries.append_keyed(entry.id, said, id_of)
    for change in body.changes:
        entries = _changed(entries, change, at, "")
    heard = ledger.heard
    if body.run:
        before = heard.get(body.run)
        messages = (*(before.messages if before is not None else ()), *body.messages)
        heard = {**heard, body.run: HeardUpTo(body.number, messages[-MESSAGES_MAX:])}
    return Ledger(entries, heard)


def take_corrected(ledger: Ledger, body: EntryCorrected, at: str) -> Ledger:
    """The ledger after a person corrected an entry."""
    return Ledger(_changed(ledger.entries, body.change, at, body.by or "user"), ledger.heard)


def take_joined(ledger: Ledger, body: LedgerJoined) -> Ledger:
    """The ledger with the entries of another one, each once, all in the order in which they were said."""
    heard = {**ledger.heard, **body.heard}
    if not ledger.entries:
        return Ledger(Rows({entry.id: entry for entry in body.entries}.values()), heard)
    brought = {entry.id: entry for entry in body.entries}
    known = [brought.pop(entry.id, entry) for entry in ledger.entries]
    dated = [*_dated(known), *_dated(brought.values())]
    in_order = (entry for _, entry in sorted(dated, key=lambda pair: pair[0]))
    return Ledger(Rows(in_order), heard)


def _dated(entries: Iterable[Entry]) -> Iterator[tuple[str, Entry]]:
    """Entries with when they were said; one without a time stays behind the one before it."""
    at = ""
    for entry in entries:
        at = entry.at or at
        yield at, entry


def _changed(entries: Rows[Entry], change: Change, at: str, by: str) -> Rows[Entry]:
    index = find_entry(entries, change.id)
    if index < 0:
        return entries
    entry = entries[index]
    if entry.corrected and not by:
        return entries
    fields: dict[str, str] = {
        name: text for name in ("reply", "text", "of") if (text := getattr(change, name))
    }
    if change.state:
        fields |= {"state": change.state, "why": change.why, "since": change.since or at}
    if by:
        fields["corrected"] = by
    return entries.replace(index, replace(entry, **fields))
