"""The rung of local copies: what a shared store had acknowledged to this machine, and has no more.

Events that fit behind the end of a session come back as they were, with their hashes. Where others have gone
on meanwhile, or an event of another machine is missing in between, they come behind what is there now.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....core.base.values import count
from ....core.journal.event import Draft
from ....errors import StaleVersion
from ....stores.base import Append, Journal
from ...sessions.local_copies import LocalCopies, commits_of, drafts_of
from .result import Rung


def bring_back_copies(copies: LocalCopies, journal: Journal, *, dry_run: bool) -> Rung:
    """Append what is missing; the copies of a session go when all of it is there again."""
    lost = copies.lost(journal)
    if not lost:
        return Rung("copies", "none", "the store has everything this machine wrote recently")
    told = ", ".join(
        f"{one.stream.removeprefix('session/')} ({count(len(one.events), 'event')} after version {one.at})"
        for one in lost
    )
    if dry_run:
        return Rung("copies", "ok", f"the store went back; can be restored: {told}")
    for tail in lost:
        for commit in commits_of(tail.events):
            _append_last(journal, tail.stream, drafts_of(commit))
        copies.forget([tail.stream])
    return Rung("copies", "used", f"the store had gone back; restored: {told}")


def _append_last(journal: Journal, stream: str, drafts: Sequence[Draft]) -> None:
    while True:
        try:
            journal.append(Append(stream, journal.head(stream).version, drafts))
            return
        except StaleVersion:
            continue
