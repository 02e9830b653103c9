"""Snapshots held against the journal: a snapshot that is not what a refold gives is wrong, and made anew."""

from __future__ import annotations

from ...stores.base import Journal
from ..sessions.repository import fold_all, snapshot_of


def stale_snapshots(journal: Journal, *, mend: bool = False) -> list[str]:
    """Sessions whose snapshot is not what a refold gives; made anew if asked."""
    stale = []
    for stream, _ in journal.streams("session/"):
        kept = journal.snapshots([stream]).get(stream)
        if kept is None:
            continue
        events, session = journal.read(stream), stream.removeprefix("session/")
        if snapshot_of(session, fold_all(events[: kept.version])) != kept:
            stale.append(session)
            if mend:
                journal.keep(snapshot_of(session, fold_all(events)))
    return stale
