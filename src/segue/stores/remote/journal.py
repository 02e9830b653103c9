"""The journal port on a Segue server.

The server decides and commits; here is proven what it gives: every event against its hash and its
predecessor, as on the other stores. An append whose answer was lost is sent again. If the server says then
that it comes too late, the events behind ``expect`` are compared with the drafts: the same ones are ours.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ...core.journal.chain import linked
from ...core.journal.event import Event
from ...core.journal.pieces import address as address_of
from ...errors import DamagedError
from ..base import Append, Head, Rewrite, Snapshot
from . import wire
from .address import Address
from .calls import Calls
from .client import BUSY_TIMEOUT_MS, Client

if TYPE_CHECKING:
    from ..base import MemoryChange
    from .memories import RemoteMemories
    from .runs import RemoteRuns

_AppendAnswer = list[tuple[bytes, bytes]]
"""Header and hash of each event: the bodies are those that were sent."""
_HeadAnswer = tuple[int, bytes]
_PiecesAnswer = list[tuple[str, bytes, bool]]
"""Address, bytes, and whether the bytes have that address: those of a scrubbed piece have not."""


class RemoteJournal:
    """A project of a Segue server."""

    def __init__(
        self, where: Address | str, key: str = "", *, busy_timeout_ms: int = BUSY_TIMEOUT_MS
    ) -> None:
        address = Address(where) if isinstance(where, str) else where
        self.client = Client(address, key, busy_timeout_ms=busy_timeout_ms)
        self._calls = Calls(self.client)
        self.machine = ""
        """Set by whoever shares the store with other machines: part of the names of streams of its own."""

    @cached_property
    def runs(self) -> RemoteRuns:
        """What was observed of runs, in the same project."""
        from .runs import RemoteRuns

        return RemoteRuns(self._calls)

    @cached_property
    def memories(self) -> RemoteMemories:
        """What was learnt, in the same project."""
        from .memories import RemoteMemories

        return RemoteMemories(self._calls)

    def about(self) -> wire.About:
        """What the server says of itself, and of our key."""
        found: wire.About = self._calls.ask("journal/about", wire.NameAsk(), wire.About)
        return found

    # -- writing -------------------------------------------------------------------------------

    def append(
        self, *appends: Append, pieces: Mapping[str, bytes] | None = None,
        memories: MemoryChange | None = None,
    ) -> list[Event]:  # fmt: skip
        asked = {
            "appends": appends, "pieces": dict(pieces or {}), "memories": memories, "attempt": _attempt(),
        }  # fmt: skip
        wishes = [wish for wish in appends if wish.drafts]

        def settle() -> list[Event] | None:
            if wishes:
                return self._ours(wishes)
            return [] if memories is not None and self.memories.there(memories) else None

        found = self._calls.write("journal/append", asked, _AppendAnswer, settle)
        return found if found and isinstance(found[0], Event) else _sealed(wishes, found)

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
        self._calls.ask("journal/keep", wire.KeepAsk(snapshot), None)

    def erase(self, rewrites: Sequence[Rewrite], pieces: Mapping[str, bytes], *appends: Append) -> None:
        asked = wire.EraseAsk(list(rewrites), dict(pieces), list(appends), _attempt())
        wishes = [wish for wish in appends if wish.drafts]  # without any, the same once more does no harm

        def settle() -> bool | None:
            return bool(wishes and self._ours(wishes)) or None

        self._calls.write("journal/erase", asked, None, settle)

    def drop(
        self, *streams: Append, pieces: Iterable[str] = (), beside: Mapping[str, int] | None = None
    ) -> None:
        there = {wish.stream: self.head(wish.stream) for wish in streams if wish.expect}
        asked = wire.DropAsk(
            list(streams), list(pieces), dict(beside) if beside is not None else None, _attempt()
        )

        def settle() -> bool | None:
            """They are gone, or others of these names are there: then it has happened."""
            gone = [self.head(name).hash != before.hash for name, before in there.items() if before.version]
            return bool(gone and all(gone)) or None

        self._calls.write("journal/drop", asked, None, settle)

    # -- reading -------------------------------------------------------------------------------

    def read(self, stream: str, *, after: int = 0, limit: int = 0) -> list[Event]:
        events: list[Event] = []
        while True:
            behind, left = after + len(events), limit - len(events) if limit else 0
            page = self._calls.ask("journal/read", wire.ReadAsk(stream, behind, left), wire.StreamPage)
            events += [wire.event_of(row, stream, behind + n) for n, row in enumerate(page.rows, 1)]
            if not page.more or not page.rows or (limit and len(events) >= limit):
                break
        linked(stream, after, events)
        return events

    def head(self, stream: str) -> Head:
        return Head(*self._calls.ask("journal/head", wire.NameAsk(stream), _HeadAnswer))

    def streams(self, prefix: str = "") -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = self._calls.ask(
            "journal/streams", wire.NameAsk(prefix), list[tuple[str, int]]
        )
        return found

    def pieces(self, addresses: Iterable[str]) -> dict[str, bytes]:
        wanted = list(dict.fromkeys(addresses))
        if not wanted:
            return {}
        found: dict[str, bytes] = {}
        for address, body, proven in self._calls.ask("journal/pieces", wire.NamesAsk(wanted), _PiecesAnswer):
            if proven and address_of(body) != address:
                raise DamagedError("a piece", address, "its bytes do not have its address")
            found[address] = body
        return found

    def snapshots(self, streams: Iterable[str], *, cards: bool = False) -> dict[str, Snapshot]:
        wanted = list(streams)
        if not wanted:
            return {}
        asked = wire.SnapshotsAsk(wanted, cards)
        return {one.stream: one for one in self._calls.ask("journal/snapshots", asked, list[Snapshot])}

    def close(self) -> None:
        self.client.close()


def _attempt() -> str:
    return os.urandom(16).hex()


def _sealed(wishes: Sequence[Append], answer: _AppendAnswer) -> list[Event]:
    """The events of an append, from their headers and what was sent; proven."""
    drafts = [(wish.stream, draft) for wish in wishes for draft in wish.drafts]
    if len(answer) != len(drafts):
        raise DamagedError("the journal", "an append", "the server answers with another number of events")
    events = []
    for (stream, draft), (header, own) in zip(drafts, answer, strict=True):
        events.append(wire.event_of((header, draft.body, own, False), stream))
    return events
