"""The port of memories on a Segue server.

A write whose answer was lost is looked for before it is sent again: a put by its revision, a line of the
trail by its moment, a count of recalls by when it was last counted. What is left is the same if it happens
twice: additions go by id and content, votes by voter, vectors by memory. A count of recalls that somebody
else has moved on meanwhile is let go: a recall too few does no harm, one too many is not true.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ...core.memories.model import Memory, MemoryFilter, MemoryReader
from ..memory_changes import MemoryChange
from .client import Client
from .ports import RemotePort

_SEEN_MAX = 4_096
_TRAIL_LINES = 50


class RemoteMemories(RemotePort):
    """Memories on a server; who could read what is remembered, to look it up again after a doubt."""

    def __init__(self, client: Client) -> None:
        super().__init__(client, "memories")
        self._readers: dict[str, MemoryReader] = {}

    def write(self, change: MemoryChange) -> list[str]:
        def settle() -> list[str] | None:
            if not self.there(change):
                return None
            return self.write(MemoryChange(change.adds)) if change.adds else []  # the ids, once more

        found: list[str] = self.once("write", settle, change)
        return found

    def there(self, change: MemoryChange) -> bool:
        """Whether a change has happened, as far as a second time would be another thing than the first."""
        for kept in change.puts:
            found = self._own(kept.memory.id, reader_of(kept.memory, kept.memory.agent))
            if found is None or found.revision < kept.memory.revision:
                return False
            if found.revision == kept.memory.revision:
                return _uncounted(found) == _uncounted(kept.memory)
        memories = [kept.memory for kept in (*change.adds, *change.puts)]
        readers = {memory.id: reader_of(memory, memory.agent) for memory in memories}
        for trace in change.trail:
            reader = readers.get(trace.memory) or self._readers.get(trace.memory)
            if reader is not None and trace in self.trail(reader, trace.memory, _TRAIL_LINES):
                return True
        for id, _, at in change.recalls:
            reader = self._readers.get(id)
            found = self._own(id, reader) if reader is not None else None
            if found is not None:
                return found.recalled_at >= at
        return False

    def _own(self, id: str, reader: MemoryReader) -> Memory | None:
        return next(iter(self.get([id], reader)), None)

    def _seen(self, memories: Iterable[Memory], reader: MemoryReader) -> None:
        if len(self._readers) > _SEEN_MAX:
            self._readers.clear()
        self._readers.update((memory.id, reader) for memory in memories)

    def get(self, ids: Sequence[str], reader: MemoryReader) -> list[Memory]:
        found: list[Memory] = self.ask("get", ids, reader)
        self._seen(found, reader)
        return found

    def listing(self, reader: MemoryReader, where: MemoryFilter, now: str, limit: int = 0) -> list[Memory]:
        found: list[Memory] = self.ask("listing", reader, where, now, limit)
        self._seen(found, reader)
        return found

    def take(self, numbers: Sequence[int], reader: MemoryReader) -> dict[int, Memory]:
        found: dict[int, Memory] = self.ask("take", numbers, reader)
        self._seen(found.values(), reader)
        return found


def _uncounted(memory: Memory) -> Memory:
    return replace(memory, helpful=0, harmful=0, recalled=0, recalled_at="")


def reader_of(memory: Memory, agent: str) -> MemoryReader:
    """An agent that reads a memory where it was kept."""
    where = (memory.session,), (memory.project,), memory.organization
    return MemoryReader(agent, memory.namespace, memory.user, *where)
