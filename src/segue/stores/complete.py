"""A journal of somebody else's, made a whole store: what it does not keep is kept in memory."""

from __future__ import annotations

from typing import Any, cast

from ..core.journal.event import Event
from .base import Append, AppendWatch, Journal, Memories, Pieces, ProjectFacts, Runs, Store
from .memory.memories import VolatileMemories
from .memory.store import VolatileProjectFacts, VolatileRuns
from .memory_changes import MemoryChange


class _Completed:
    """A journal with runs and memories beside it that are gone with the process."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.machine: str = getattr(journal, "machine", "")
        self.watch: AppendWatch | None = getattr(journal, "watch", None)
        self.clock_ahead_seconds: float = getattr(journal, "clock_ahead_seconds", 0.0)
        self.runs: Runs = getattr(journal, "runs", None) or VolatileRuns()
        self.project_facts: ProjectFacts = getattr(journal, "project_facts", None) or VolatileProjectFacts()
        self.memories: Memories = getattr(journal, "memories", None) or VolatileMemories()

    def append(
        self, *appends: Append, pieces: Pieces | None = None, memories: MemoryChange | None = None
    ) -> list[Event]:
        """As the journal does; what is learnt with it is kept beside it."""
        events = self._journal.append(*appends, pieces=pieces)
        if memories is not None:
            self.memories.write(memories)
        return events

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)


def completed(journal: Journal) -> Store:
    """The journal itself if it is a whole store, else one around it."""
    parts = ("machine", "runs", "project_facts", "memories")
    if all(hasattr(type(journal), part) or part in vars(journal) for part in parts):
        return cast(Store, journal)
    return cast(Store, _Completed(journal))
