"""A project of a Segue server as a store.

The server decides and commits; here is proven what it gives: every event against its hash and its
predecessor, as on the other stores. An append whose answer was lost is sent again. If the server says then
that it comes too late, the events behind ``expect`` are compared with the drafts: the same ones are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from ...core.journal.chain import linked
from ...core.journal.event import Event
from ...errors import DamagedError, StaleVersion
from ..base import (
    Append,
    AppendWatch,
    Head,
    Memories,
    Pieces,
    ProjectFacts,
    Rewrite,
    Runs,
    Snapshot,
    Versions,
)
from ..memory_changes import MemoryChange
from ..proofs import proven_event, proven_piece
from . import wire
from .address import Address
from .client import BUSY_TIMEOUT_MS, Client
from .memories import RemoteMemories
from .ports import About, RemotePort


class RemoteStore:
    """A store on a server."""

    def __init__(
        self, where: Address | str, key: str = "", *, busy_timeout_ms: int = BUSY_TIMEOUT_MS
    ) -> None:
        address = Address(where) if isinstance(where, str) else where
        self.client = Client(address, key, busy_timeout_ms=busy_timeout_ms)
        self._journal = RemotePort(self.client, "journal")
        self._memories = RemoteMemories(self.client)
        self.memories = cast(Memories, self._memories)
        self.runs = cast(Runs, RemotePort(self.client, "runs"))
        self.project_facts = cast(ProjectFacts, RemotePort(self.client, "project_facts"))
        """Rows are replaced whole, so that a put may be sent twice."""
        self.search_index = None
        self.watch: AppendWatch | None = None
        """Set by whoever shares the store with other machines."""
        self.machine = ""
        """Set by whoever shares the store with other machines: part of the names of streams of its own."""

    @property
    def clock_ahead_seconds(self) -> float:
        """How far the clock of the server's store is ahead of ours."""
        return self.client.clock_ahead_seconds

    def about(self) -> About:
        """What the server says of itself, and of our key."""
        found: About = self._journal.about()
        return found

    def close(self) -> None:
        self.client.close()

    def append(
        self, *appends: Append, pieces: Pieces | None = None, memories: MemoryChange | None = None
    ) -> list[Event]:
        wishes = [wish for wish in appends if wish.drafts]

        def settle() -> list[Event] | None:
            if wishes:
                return self._ours(wishes)
            return [] if memories is not None and self._memories.there(memories) else None

        try:
            if self.watch is not None:
                self.watch.before(self, appends)
            found = self._journal.once("append", settle, *appends, pieces=pieces or {}, memories=memories)
        except StaleVersion as stale:
            if self.watch is not None:
                self.watch.refused(self, stale)
            raise
        events = found if found and isinstance(found[0], Event) else _sealed(wishes, found)
        if self.watch is not None:
            self.watch.after(events)
        return events

    def _ours(self, wishes: Sequence[Append]) -> list[Event] | None:
        """The events that an append became, if it is there; appends are atomic, so the first one tells."""
        events: list[Event] = []
        for wish in wishes:
            found = self.read(wish.stream, after=wish.expect, limit=len(wish.drafts))
            if not wire.same_drafts(found, wish.drafts):
                return None
            events += found
        return events

    def keep(self, snapshot: Snapshot) -> None:
        self._journal.keep(snapshot)

    def erase(self, rewrites: Sequence[Rewrite], pieces: Pieces, *appends: Append) -> None:
        wishes = [wish for wish in appends if wish.drafts]  # without any, the same once more does no harm

        def settle() -> bool | None:
            return bool(wishes and self._ours(wishes)) or None

        self._journal.once("erase", settle, rewrites, pieces, *appends)
        if self.watch is not None:
            self.watch.forget({r.stream for r in rewrites})

    def drop(self, *streams: Append, pieces: Iterable[str] = (), beside: Versions | None = None) -> None:
        there = {wish.stream: self.head(wish.stream) for wish in streams if wish.expect}

        def settle() -> bool | None:
            """They are gone, or others of these names are there: then it has happened."""
            gone = [self.head(name).hash != before.hash for name, before in there.items() if before.version]
            return bool(gone and all(gone)) or None

        self._journal.once("drop", settle, *streams, pieces=pieces, beside=beside)
        if self.watch is not None:
            self.watch.forget(wish.stream for wish in streams)

    def read(self, stream: str, *, after: int = 0, limit: int = 0) -> list[Event]:
        events: list[Event] = []
        while True:
            behind, left = after + len(events), limit - len(events) if limit else 0
            page: wire.StreamPage = self._journal.read(stream, after=behind, limit=left)
            events += [proven_event(stream, behind + n, *row) for n, row in enumerate(page.rows, 1)]
            if not page.more or not page.rows or (limit and len(events) >= limit):
                break
        linked(stream, after, events)
        return events

    def head(self, stream: str) -> Head:
        return Head(*self._journal.head(stream))

    def streams(self, prefix: str = "") -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = self._journal.streams(prefix)
        return found

    def pieces(self, addresses: Iterable[str]) -> dict[str, bytes]:
        wanted = list(dict.fromkeys(addresses))
        found: list[tuple[str, bytes, bool]] = self._journal.pieces(wanted) if wanted else []
        return {address: proven_piece(address, body, erased=not proven) for address, body, proven in found}

    def snapshots(self, streams: Iterable[str], *, cards: bool = False) -> dict[str, Snapshot]:
        wanted = list(streams)
        found: list[Snapshot] = self._journal.snapshots(wanted, cards=cards) if wanted else []
        return {one.stream: one for one in found}


def _sealed(wishes: Sequence[Append], answer: list[tuple[bytes, bytes]]) -> list[Event]:
    """The events of an append, from their headers and what was sent; proven."""
    drafts = [(wish.stream, draft) for wish in wishes for draft in wish.drafts]
    if len(answer) != len(drafts):
        raise DamagedError("the journal", "an append", "the server answers with another number of events")
    return [
        proven_event(stream, 0, header, draft.body, own, False)
        for (stream, draft), (header, own) in zip(drafts, answer, strict=True)
    ]
