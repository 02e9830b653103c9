"""Snapshots are a cache: proof that they are, and new ones if they are not."""

from __future__ import annotations

from collections.abc import Callable

from ..core.values import Value
from ..errors import DamagedError
from .book import fold_all, snapshot_of, stream_of
from .segue import Segue

Progress = Callable[[int, int, str], None]


class Rebuilt(Value):
    """What a rebuild found."""

    sessions: int
    same: int
    different: list[str]
    missing: int
    """Sessions that had no snapshot; no fault."""


def rebuild(segue: Segue, *, check: bool = False, progress: Progress | None = None) -> Rebuilt:
    """Fold every session from its first event; compare with its snapshot, or replace that."""
    if not check:
        segue.brake.check()
    heads = segue.journal.streams("session/")
    same, missing, different = 0, 0, []
    for done, (stream, _) in enumerate(heads):
        session = stream.removeprefix("session/")
        if progress:
            progress(done, len(heads), session)
        kept = segue.journal.snapshots([stream]).get(stream)
        events = segue.journal.read(stream)
        if kept is None:
            missing += 1
        elif snapshot_of(session, fold_all(events[: kept.version])) == kept:
            same += 1
        else:
            different.append(session)
        if not check:
            segue.journal.keep(snapshot_of(session, fold_all(events)))
            segue.book.forget(session)
            after = segue.journal.snapshots([stream]).get(stream)
            if after is None or after.version != len(events):
                raise DamagedError("a snapshot", stream_of(session), "it was not replaced")
    return Rebuilt(len(heads), same, different, missing)
