"""What a store gives is what was written, or DamagedError: events against their hashes, pieces against their
addresses, the sessions beside those that are dropped against what the caller saw of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from ..core.base import canonical
from ..core.journal.event import Event, read_event
from ..core.journal.pieces import address as address_of
from ..errors import DamagedError, SchemaTooNew, StaleVersion


def proven_event(stream: str, version: int, header: bytes, body: bytes, own: bytes, erased: bool) -> Event:
    """The event of a row that stands at a version of a stream; with version 0, at any."""
    try:
        event = read_event(header, body, own, erased=bool(erased))
        reason = "" if event.intact() else "the body does not match the hash it was stored with"
        placed = event.stream == stream and version in (0, event.version)
        if canonical.digest(header) != own or not placed:
            reason = "the envelope does not match the event's hash"
        if not reason:
            return event
    except (msgspec.MsgspecError, TypeError, ValueError):  # a damaged row may hold anything
        reason = "the row was not written by Segue"
    raise DamagedError("the journal", f"{stream} version {version or '?'}", reason)


def proven_piece(address: str, body: bytes, *, erased: bool) -> bytes:
    """The bytes of a piece; those of one that a scrub rewrote have another address."""
    if not erased and address_of(body) != address:
        raise DamagedError("a piece", address, "its content does not match its address")
    return body


def check_beside(
    sessions: Iterable[tuple[str, int]], dropped: Iterable[str], beside: Mapping[str, int] | None
) -> None:
    """StaleVersion unless the sessions that stay are exactly these, at these versions; for stores, inside of
    the transaction that drops the others."""
    if beside is None:
        return
    gone = set(dropped)
    found = {name: version for name, version in sessions if name not in gone}
    if found != dict(beside):
        raise StaleVersion("session/", sum(beside.values()), sum(found.values()))


def too_new(newer: int, known: int, *, altered: bool = False) -> SchemaTooNew:
    """The error for a store of a newer schema than the one that is known here; ``altered``: the number may
    have been changed by somebody else."""
    hint = "upgrade Segue on this machine; the store was not touched"
    hint += "; `segue doctor` says whether only the number is wrong" if altered else ""
    return SchemaTooNew(f"this store has schema {newer}; this Segue knows schemas up to {known}", hint=hint)
