"""The ports: what Segue needs of a store, on one screen.

A journal holds streams: a session, a working tree, a project or a ledger. An append is atomic
over all of its streams and has reached the disk when it returns. Snapshots are a cache that
may be dropped at any time. Everything else can be made anew from the events and the pieces.
Runs stand beside it: what was observed, kept to save time, and made anew from transcripts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from ..core.events import Draft, Event
from ..core.values import Value
from ..errors import StaleVersion


class Append(Value):
    """Drafts for one stream. With none it only demands that the stream is at ``expect``."""

    stream: str
    expect: int
    drafts: Sequence[Draft] = ()


class Head(Value):
    """Where a stream ends."""

    version: int
    hash: bytes


class Snapshot(Value):
    """A folded state as bytes, with the card for lists."""

    stream: str
    version: int
    fold: int
    state: bytes
    card: bytes = b""


class Rewrite(Value):
    """A body that a scrub puts in the place of another."""

    stream: str
    version: int
    body: bytes


class RunRow(Value):
    """A run as it is kept; ``facts`` and ``reading`` are bytes of whoever keeps it."""

    key: str
    """Its name: agent, the agent's own id and the transcript, hashed."""
    agent: str
    native: str
    project: str
    session: str
    path: str
    cwd: str
    last: float
    """When it was last active, seconds since the epoch."""
    facts: bytes = b""
    reading: bytes | None = None
    """How far its transcript was read, and the digest; None in lists, and for "as it is" in a put."""


class Runs(Protocol):
    """What was observed of runs, a row each. Every method raises as those of a journal do."""

    def put(self, rows: Sequence[RunRow]) -> None:
        """Keep these in the place of rows with the same key, durably, all or nothing."""
        ...

    def get(self, key: str) -> RunRow | None:
        """One row, with its reading."""
        ...

    def rows(self, *, projects: Iterable[str] = (), session: str = "") -> list[RunRow]:
        """Rows of these projects (none: of all) and this session (empty: of any), without their
        readings, the one that was active last first."""
        ...

    def known(self) -> dict[str, str]:
        """Transcript to working folder, of every row."""
        ...

    def drop(self, keys: Iterable[str]) -> None:
        """Forget these, as far as they are there."""
        ...


class Journal(Protocol):
    """Streams of events, appended by ``expect``.

    Every method raises a StoreError when the store is busy, full or gone, and DamagedError
    when bytes are not what was written; then nothing of an append was kept.
    """

    def append(self, *appends: Append, pieces: Mapping[str, bytes] | None = None) -> list[Event]:
        """Commit all or nothing, durably, in this order; a stream may come more than once.
        StaleVersion if any stream is not at its ``expect``."""
        ...

    def read(self, stream: str, *, after: int = 0, limit: int = 0) -> list[Event]:
        """Events of a stream behind a version, in order; all of them when ``limit`` is 0."""
        ...

    def head(self, stream: str) -> Head:
        """The end of a stream; version 0 and the genesis hash if it has no events."""
        ...

    def streams(self, prefix: str = "") -> list[tuple[str, int]]:
        """(name, version) of all streams whose name begins so, by name."""
        ...

    def pieces(self, addresses: Iterable[str]) -> dict[str, bytes]:
        """The pieces with these addresses; those that are missing are left out."""
        ...

    def snapshots(self, streams: Iterable[str], *, cards: bool = False) -> dict[str, Snapshot]:
        """The newest snapshots of these streams, where there are any; for ``cards`` without the state."""
        ...

    def keep(self, snapshot: Snapshot) -> None:
        """Remember a snapshot in the place of an older one; may be lost, never wrong."""
        ...

    def erase(self, rewrites: Sequence[Rewrite], pieces: Mapping[str, bytes], *appends: Append) -> None:
        """Put other bodies (marked as erased) and pieces in place, drop the snapshots of the
        streams, append what records it; all or nothing."""
        ...

    def drop(
        self, *streams: Append, pieces: Iterable[str] = (), beside: Mapping[str, int] | None = None
    ) -> None:
        """Remove whole streams that are at their ``expect``, and these pieces; all or nothing.

        With ``beside``, only if the other sessions are exactly these, at these versions: nobody
        named one of the pieces meanwhile."""
        ...

    def close(self) -> None:
        """Let go of files and connections; a later call opens them again."""
        ...


def check_beside(journal: Journal, dropped: Sequence[Append], beside: Mapping[str, int] | None) -> None:
    """StaleVersion unless the sessions that stay are exactly these; for stores, inside their transaction."""
    if beside is None:
        return
    gone = {wish.stream for wish in dropped}
    found = {name: version for name, version in journal.streams("session/") if name not in gone}
    if found != dict(beside):
        raise StaleVersion("session/", sum(beside.values()), sum(found.values()))
