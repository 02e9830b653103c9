"""The port of memories on a Segue server.

A write whose answer was lost is looked for before it is sent again: a put by its revision, a line of the
trail by its moment, a count of recalls by when it was last counted. What is left is the same if it happens
twice: additions go by id and content, votes by voter, vectors by memory. A count of recalls that somebody
else has moved on meanwhile is let go: a recall too few does no harm, one too many is not true.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec.structs import replace

from ...core.memories.model import Audience, Memory, MemoryAudit, MemoryFilter, MemoryReader
from ...core.memories.ranking import Placed, Texts
from ..base import Carried, MemoryChange, StoredMemory
from . import wire
from .calls import Calls

_SEEN_MAX = 4_096
_TRAIL_LINES = 50
_Pairs = list[tuple[int, float]]


class RemoteMemories:
    """Memories of a project on a server."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._readers: dict[str, MemoryReader] = {}
        """Who could read what was seen here: for looking it up again after a doubt."""

    # -- writing -------------------------------------------------------------------------------

    def write(self, change: MemoryChange) -> list[str]:
        asked = {"change": change, "attempt": os.urandom(16).hex()}

        def settle() -> list[str] | None:
            if not self.there(change):
                return None
            return self.write(MemoryChange(change.adds)) if change.adds else []  # the ids, once more

        found: list[str] = self._calls.write("memories/write", asked, list[str], settle)
        return found

    def there(self, change: MemoryChange) -> bool:
        """Whether a change has happened, as far as a second time would be another thing than the first."""
        for kept in change.puts:
            found = self._own(kept.memory.id, _reader_of(kept.memory))
            if found is None or found.revision < kept.memory.revision:
                return False
            if found.revision == kept.memory.revision:
                return _uncounted(found) == _uncounted(kept.memory)
        readers = {kept.memory.id: _reader_of(kept.memory) for kept in (*change.adds, *change.puts)}
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

    def _seen(self, memories: Sequence[Memory], reader: MemoryReader) -> None:
        if len(self._readers) > _SEEN_MAX:
            self._readers.clear()
        self._readers.update((memory.id, reader) for memory in memories)

    # -- reading -------------------------------------------------------------------------------

    def get(self, ids: Sequence[str], reader: MemoryReader) -> list[Memory]:
        found: list[Memory] = self._calls.ask("memories/get", wire.GetAsk(list(ids), reader), list[Memory])
        self._seen(found, reader)
        return found

    def listing(self, reader: MemoryReader, where: MemoryFilter, now: str, limit: int = 0) -> list[Memory]:
        asked = wire.ListingAsk(reader, where, now, limit)
        found: list[Memory] = self._calls.ask("memories/listing", asked, list[Memory])
        self._seen(found, reader)
        return found

    def match(self, reader: MemoryReader, words: Sequence[str], where: MemoryFilter, limit: int) -> Texts:
        asked = wire.MatchAsk(reader, list(words), where, limit)
        found: Texts = self._calls.ask("memories/match", asked, Texts)
        return found

    def near(
        self, reader: MemoryReader, model: str, vector: bytes, where: MemoryFilter, limit: int
    ) -> list[tuple[int, float]]:
        asked = wire.NearAsk(reader, model, vector, where, limit)
        found: _Pairs = self._calls.ask("memories/near", asked, _Pairs)
        return found

    def take(self, numbers: Sequence[int], reader: MemoryReader) -> dict[int, Memory]:
        asked = wire.NumbersAsk(list(numbers), reader)
        found: dict[int, Memory] = self._calls.ask("memories/take", asked, dict[int, Memory])
        self._seen(list(found.values()), reader)
        return found

    def places(self, numbers: Sequence[int], reader: MemoryReader, reach: int = 0) -> dict[int, Placed]:
        asked = wire.NumbersAsk(list(numbers), reader, reach)
        found: dict[int, Placed] = self._calls.ask("memories/places", asked, dict[int, Placed])
        return found

    def trail(self, reader: MemoryReader, id: str = "", limit: int = 100) -> list[MemoryAudit]:
        found: list[MemoryAudit] = self._calls.ask(
            "memories/trail", wire.TrailAsk(reader, id, limit), list[MemoryAudit]
        )
        return found

    # -- upkeep --------------------------------------------------------------------------------

    def unembedded(self, model: str, limit: int, within: int = 0) -> list[tuple[int, Memory]]:
        asked = wire.UnembeddedAsk(model, limit, within)
        found: list[tuple[int, Memory]] = self._calls.ask(
            "memories/unembedded", asked, list[tuple[int, Memory]]
        )
        return found

    def meant(self, ids: Sequence[str]) -> dict[str, Audience]:
        found: dict[str, Audience] = self._calls.ask(
            "memories/meant", wire.NamesAsk(list(ids)), dict[str, Audience]
        )
        return found

    def everything(self) -> list[StoredMemory]:
        found = self._calls.ask("memories/everything", wire.NameAsk(), list[wire.KeptIn])
        return [one.kept() for one in found]

    def carried(self, after: int = 0, limit: int = 500) -> list[Carried]:
        found = self._calls.ask("memories/carried", wire.CarriedAsk(after, limit), list[wire.CarriedIn])
        return [one.carried() for one in found]

    def compact(self, text: str = "") -> None:
        self._calls.ask("memories/compact", wire.TextAsk(text), None)


def _uncounted(memory: Memory) -> Memory:
    """What a memory says, without what is counted beside it."""
    return replace(memory, helpful=0, harmful=0, recalled=0, recalled_at="")


def _reader_of(memory: Memory) -> MemoryReader:
    """Somebody for whom a memory is meant."""
    return MemoryReader(
        memory.agent, memory.namespace, memory.user, (memory.session,), (memory.project,), memory.organization
    )
