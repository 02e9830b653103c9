"""The ports: what Segue needs of a store, on one screen.

A journal holds streams: a session, a working tree, a project or a ledger. An append is atomic
over all of its streams and has reached the disk when it returns. Snapshots are a cache that
may be dropped at any time. Everything else can be made anew from the events and the pieces.
Runs stand beside it: what was observed, kept to save time, and made anew from transcripts; and facts that
were counted of projects.
Memories are a truth of their own: whatever is read of them is read by somebody, and scopes hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ..core.base.values import Value
from ..core.journal.event import Draft, Event
from ..errors import StaleVersion

if TYPE_CHECKING:  # most commands have nothing to do with memories, or with keys
    from ..core.memories.model import Audience, Memory, MemoryAudit, MemoryFilter, MemoryReader
    from ..core.memories.ranking import Neighbours, Pairs, Texts
    from ..core.search.index import SearchIndex
    from ..core.server.access import AuditLine, KeptResponse, KeyRecord
    from ..core.server.quota import Quota
    from .memory_changes import MemoryChange, MemoryWithHistory, StoredMemory


Pieces = Mapping[str, bytes]
"""Pieces of agents' states by their addresses."""
Versions = Mapping[str, int]
"""The version of each of some streams, by name."""


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

    def get(self, key: str) -> RunRow | None:
        """One row, with its reading."""

    def rows(self, *, projects: Iterable[str] = (), session: str = "") -> list[RunRow]:
        """Rows of these projects (none: of all) and this session (empty: of any), without their
        readings, the one that was active last first."""

    def known(self) -> dict[str, str]:
        """Transcript to working folder, of every row."""

    def drop(self, keys: Iterable[str]) -> None:
        """Forget these, as far as they are there."""


class ProjectFact(Value):
    """Something that was counted of a project; ``body`` is bytes of whoever counted it."""

    project: str
    kind: str
    """What it is: see ``services/habits`` and ``services/stats``."""
    key: str
    at: float
    """When it was so, seconds since the epoch."""
    body: bytes = b""


class ProjectFacts(Protocol):
    """What was counted of projects, small rows that are read one at a time. Raises as a journal does."""

    def put(self, facts: Sequence[ProjectFact]) -> None:
        """Keep these in the place of those with the same project, kind and key, durably, all or nothing."""

    def get(self, project: str, kind: str, key: str = "") -> ProjectFact | None:
        """One of them."""

    def rows(
        self, kind: str, *, project: str = "", since: float = 0.0, limit: int = 0, bodies: bool = True
    ) -> list[ProjectFact]:
        """Those of a kind, of a project (empty: of all), since a moment, the newest first, all of them when
        ``limit`` is 0."""

    def drop(self, project: str, kind: str, keys: Iterable[str]) -> None:
        """Forget these, as far as they are there."""


class Memories(Protocol):
    """What was learnt. Every read is by a reader, who sees what ``core.memory.may_read`` allows; a
    memory that may not be read is not there. Raises as a journal does."""

    def write(self, change: MemoryChange) -> list[str]:
        """Durably, all or nothing; the ids of ``adds``, in order: what is there already, live, for the
        same audience keeps its id. StaleVersion if a put came too late."""

    def get(self, ids: Sequence[str], reader: MemoryReader) -> list[Memory]:
        """Those of these that the reader may see, dead ones too, in this order."""

    def listing(self, reader: MemoryReader, where: MemoryFilter, now: str, limit: int = 0) -> list[Memory]:
        """What fits, the newest first; all of it when ``limit`` is 0."""

    def match(self, reader: MemoryReader, words: Sequence[str], where: MemoryFilter, limit: int) -> Texts:
        """Live memories that hold any of these words; of ``where`` types, agents and sessions count."""

    def near(self, reader: MemoryReader, model: str, vector: bytes, where: MemoryFilter, limit: int) -> Pairs:
        """(number, cosine) of live memories whose vectors are nearest; of ``where`` as in ``match``."""

    def take(self, numbers: Sequence[int], reader: MemoryReader) -> dict[int, Memory]:
        """Memories by the numbers that ``match`` and ``near`` gave."""

    def places(self, numbers: Sequence[int], reader: MemoryReader, reach: int = 0) -> Neighbours:
        """Of memories by their numbers: the session, if they have one, and so many live neighbours on each
        side in it that the reader may see, by distance."""

    def meant(self, ids: Sequence[str]) -> dict[str, Audience]:
        """For whom memories are meant, by id; not for showing."""

    def trail(self, reader: MemoryReader, id: str = "", limit: int = 100) -> list[MemoryAudit]:
        """The audit trail of what the reader may see, the newest first."""

    def unembedded(self, model: str, limit: int, within: int = 0) -> list[tuple[int, Memory]]:
        """Live memories without a vector of this model, the newest first; ``within`` so many of the newest
        only, which is quick. For upkeep: not for showing."""

    def everything(self) -> list[StoredMemory]:
        """All memories, dead ones too, without vectors. For upkeep, recovery and scrub: not for showing."""

    def carried(self, after: int = 0, limit: int = 500) -> list[MemoryWithHistory]:
        """Memories behind a number, dead ones too, in order, with vectors, votes and trail, without words.
        For moving them to another store: not for showing."""

    def compact(self, text: str = "") -> None:
        """What was erased is gone from the disk too; with a text, also from trail and votes."""


class ServerTables(Protocol):
    """A server's own: keys, what was done with them, quotas, and its answers. Raises as a journal does."""

    def keys(self) -> list[KeyRecord]:
        """All keys, the oldest first, those that hold no more too."""

    def key(self, id: str) -> KeyRecord | None:
        """The key of this id."""

    def put_key(self, record: KeyRecord) -> None:
        """Keep a key, in the place of the one of this id, durably."""

    def note(self, lines: Sequence[AuditLine]) -> None:
        """Add to the audit."""

    def audit(self, *, project: str = "", before: int = 0, limit: int = 100) -> list[tuple[int, AuditLine]]:
        """(number, line), the newest first; behind a number, of one project or of all."""

    def answered(self, id: str) -> KeptResponse | None:
        """What was answered to the request of this id."""

    def answer(self, answer: KeptResponse) -> None:
        """Remember an answer; the first one stays."""

    def forget(self, before: str) -> None:
        """Drop answers that were given before this moment."""

    def quotas(self) -> list[Quota]:
        """The quotas that were set, by project."""

    def put_quota(self, quota: Quota) -> None:
        """Keep a quota in the place of the project's, durably; one without any limit takes it away."""

    def cut_audit(self, before: str) -> int:
        """Drop lines of the audit from before this moment, some thousands at most; how many."""


class Journal(Protocol):
    """Streams of events, appended by ``expect``.

    Every method raises a StoreError when the store is busy, full or gone, and DamagedError
    when bytes are not what was written; then nothing of an append was kept.
    """

    def append(
        self, *appends: Append, pieces: Pieces | None = None, memories: MemoryChange | None = None
    ) -> list[Event]:
        """Commit all or nothing, durably, in this order; a stream may come more than once.
        StaleVersion if any stream is not at its ``expect``. ``memories`` is given only to a store that
        has some (``journal.memories``), and is part of the commit."""

    def read(self, stream: str, *, after: int = 0, limit: int = 0) -> list[Event]:
        """Events of a stream behind a version, in order; all of them when ``limit`` is 0."""

    def head(self, stream: str) -> Head:
        """The end of a stream; version 0 and the genesis hash if it has no events."""

    def streams(self, prefix: str = "") -> list[tuple[str, int]]:
        """(name, version) of all streams whose name begins so, by name."""

    def pieces(self, addresses: Iterable[str]) -> dict[str, bytes]:
        """The pieces with these addresses; those that are missing are left out."""

    def snapshots(self, streams: Iterable[str], *, cards: bool = False) -> dict[str, Snapshot]:
        """The newest snapshots of these streams, where there are any; for ``cards`` without the state."""

    def keep(self, snapshot: Snapshot) -> None:
        """Remember a snapshot in the place of an older one; may be lost, never wrong."""

    def erase(self, rewrites: Sequence[Rewrite], pieces: Pieces, *appends: Append) -> None:
        """Put other bodies (marked as erased) and pieces in place, drop the snapshots of the
        streams, append what records it; all or nothing."""

    def drop(self, *streams: Append, pieces: Iterable[str] = (), beside: Versions | None = None) -> None:
        """Remove whole streams that are at their ``expect``, and these pieces; all or nothing.

        With ``beside``, only if the other sessions are exactly these, at these versions: nobody
        named one of the pieces meanwhile."""

    def close(self) -> None:
        """Let go of files and connections; a later call opens them again."""


class AppendWatch(Protocol):
    """Is told of what a store that machines share appends, and may refuse it."""

    def before(self, journal: Journal, appends: Iterable[Append]) -> None:
        """Raises if the store has lost what was acknowledged."""

    def refused(self, journal: Journal, stale: StaleVersion) -> None:
        """The same for an append that was refused."""

    def check(self, journal: Journal, stream: str, seen: int, *, replaced: bool = False) -> None:
        """The same for a stream that was seen at a version; ``replaced`` if another history is there now."""

    def after(self, events: Sequence[Event]) -> None:
        """These were acknowledged."""

    def forget(self, streams: Iterable[str]) -> None:
        """These streams were erased in part, or dropped."""

    def clear(self) -> None:
        """Drop all that is known."""


class Store(Journal, Protocol):
    """All that Segue needs of one place: a journal, and in the same place what was observed and learnt."""

    machine: str
    """Part of the names of this machine's streams, where machines share the store; else empty."""

    watch: AppendWatch | None
    """Set for a store that machines share."""

    @property
    def clock_ahead_seconds(self) -> float:
        """How far the clock of the store is ahead of this machine's; 0 where it is the same one."""

    @property
    def runs(self) -> Runs:
        """What was observed of runs."""

    @property
    def project_facts(self) -> ProjectFacts:
        """What was counted of projects."""

    @property
    def memories(self) -> Memories:
        """What was learnt."""

    @property
    def search_index(self) -> SearchIndex | None:
        """Its own index for searching; None if it has none, so that a file beside the archive is it."""
