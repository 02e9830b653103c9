"""The reference store: dictionaries and a lock. Everything is gone with the process.

It is the shortest program that keeps the contract of ``base.Journal``; the suite that every
store passes was written against it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ...core.base import canonical
from ...core.journal.event import Event, seal
from ...errors import StaleVersion
from ..base import Append, AppendWatch, Head, Pieces, ProjectFact, Rewrite, RunRow, Snapshot, Versions
from ..memory_changes import MemoryChange
from ..proofs import check_beside
from .memories import VolatileMemories


class VolatileStore:
    """A store in memory."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._streams: dict[str, list[Event]] = {}
        self._pieces: dict[str, bytes] = {}
        self._snapshots: dict[str, Snapshot] = {}
        self.runs = VolatileRuns()
        self.project_facts = VolatileProjectFacts()
        self.memories = VolatileMemories()
        self.search_index = None
        self.machine = ""
        self.clock_ahead_seconds = 0.0
        self.watch: AppendWatch | None = None

    def append(
        self, *appends: Append, pieces: Pieces | None = None, memories: MemoryChange | None = None
    ) -> list[Event]:
        with self._lock:
            if memories is not None:
                self.memories.check(memories)
            heads: dict[str, int] = {}
            for wish in appends:
                actual = heads.get(wish.stream, len(self._streams.get(wish.stream, ())))
                if actual != wish.expect:
                    raise StaleVersion(wish.stream, wish.expect, actual)
                heads[wish.stream] = actual + len(wish.drafts)
            events: list[Event] = []
            for wish in appends:
                sealed = seal(wish.stream, wish.expect, self.head(wish.stream).hash, wish.drafts)
                if sealed:
                    self._streams.setdefault(wish.stream, []).extend(sealed)
                    events += sealed
            for address, body in (pieces or {}).items():
                self._pieces.setdefault(address, body)
            if memories is not None:
                self.memories.write(memories)
            return events

    def read(self, stream: str, *, after: int = 0, limit: int = 0) -> list[Event]:
        with self._lock:
            return self._streams.get(stream, [])[after : after + limit if limit else None]

    def head(self, stream: str) -> Head:
        with self._lock:
            events = self._streams.get(stream)
            return Head(events[-1].version, events[-1].hash) if events else Head(0, canonical.GENESIS)

    def streams(self, prefix: str = "") -> list[tuple[str, int]]:
        with self._lock:
            found = ((name, len(rows)) for name, rows in self._streams.items())
            return sorted(one for one in found if one[0].startswith(prefix))

    def pieces(self, addresses: Iterable[str]) -> dict[str, bytes]:
        with self._lock:
            return {a: self._pieces[a] for a in addresses if a in self._pieces}

    def snapshots(self, streams: Iterable[str], *, cards: bool = False) -> dict[str, Snapshot]:
        with self._lock:
            return {s: self._snapshots[s] for s in streams if s in self._snapshots}

    def keep(self, snapshot: Snapshot) -> None:
        with self._lock:
            old = self._snapshots.get(snapshot.stream)
            if old is None or (old.fold, old.version) <= (snapshot.fold, snapshot.version):
                self._snapshots[snapshot.stream] = snapshot

    def erase(self, rewrites: Sequence[Rewrite], pieces: Pieces, *appends: Append) -> None:
        with self._lock:
            self.append(*appends)
            for rewrite in rewrites:
                rows = self._streams[rewrite.stream]
                rows[rewrite.version - 1] = replace(rows[rewrite.version - 1], body=rewrite.body, erased=True)
            self._pieces.update(pieces)
            for stream in {r.stream for r in rewrites} | {a.stream for a in appends}:
                self._snapshots.pop(stream, None)

    def drop(self, *streams: Append, pieces: Iterable[str] = (), beside: Versions | None = None) -> None:
        with self._lock:
            check_beside(self.streams("session/"), [wish.stream for wish in streams], beside)
            for wish in streams:
                actual = len(self._streams.get(wish.stream, ()))
                if actual != wish.expect:
                    raise StaleVersion(wish.stream, wish.expect, actual)
            for wish in streams:
                self._streams.pop(wish.stream, None)
                self._snapshots.pop(wish.stream, None)
            for address in pieces:
                self._pieces.pop(address, None)

    def close(self) -> None:
        """Nothing to let go of."""


class VolatileRuns:
    """Runs in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[str, RunRow] = {}

    def put(self, rows: Sequence[RunRow]) -> None:
        with self._lock:
            for row in rows:
                before = self._rows.get(row.key)
                if row.reading is None:
                    row = replace(row, reading=before.reading if before else b"")
                self._rows[row.key] = row

    def get(self, key: str) -> RunRow | None:
        with self._lock:
            return self._rows.get(key)

    def rows(self, *, projects: Iterable[str] = (), session: str = "") -> list[RunRow]:
        wanted = set(projects)
        with self._lock:
            rows = [
                replace(row, reading=None)
                for row in self._rows.values()
                if (not wanted or row.project in wanted) and session in ("", row.session)
            ]
        return sorted(rows, key=lambda row: (-row.last, row.key))

    def known(self) -> dict[str, str]:
        with self._lock:
            return {row.path: row.cwd for row in self._rows.values()}

    def drop(self, keys: Iterable[str]) -> None:
        with self._lock:
            for key in keys:
                self._rows.pop(key, None)


class VolatileProjectFacts:
    """What was counted of projects, in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._facts: dict[tuple[str, str, str], ProjectFact] = {}

    def put(self, facts: Sequence[ProjectFact]) -> None:
        with self._lock:
            self._facts |= {(fact.project, fact.kind, fact.key): fact for fact in facts}

    def get(self, project: str, kind: str, key: str = "") -> ProjectFact | None:
        with self._lock:
            return self._facts.get((project, kind, key))

    def rows(
        self, kind: str, *, project: str = "", since: float = 0.0, limit: int = 0, bodies: bool = True
    ) -> list[ProjectFact]:
        with self._lock:
            found = [
                fact if bodies else replace(fact, body=b"")
                for fact in self._facts.values()
                if fact.kind == kind and project in ("", fact.project) and fact.at >= since
            ]
        found.sort(key=lambda fact: (-fact.at, fact.key))
        return found[:limit] if limit else found

    def drop(self, project: str, kind: str, keys: Iterable[str]) -> None:
        with self._lock:
            for key in keys:
                self._facts.pop((project, kind, key), None)
