"""Memories in the library: the service, with methods to change and forget memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._checked_calls import checked
from ..core.memories.model import Memory
from ..services.memories.service import WorkspaceMemories

if TYPE_CHECKING:
    from ..services.memories.curation import Compared, ComparedMemory


@checked
class Memories(WorkspaceMemories):
    """What was learnt: remember, recall, vote, change, forget."""

    def remember(self, content: str, **about: Any) -> ComparedMemory:
        """Keep one memory, and say which others it may repeat or contradict; ``about`` takes the arguments of
        ``draft``. ``remember_many`` compares nothing, and is faster for many."""
        from ..services.memories.curation import remember

        return remember(self, content, **about)

    def reflect(self, content: str, **about: Any) -> ComparedMemory:
        """Keep what was learnt from how something went: its ``error_pattern``, its ``correct_approach``."""
        return self.remember(content, type="reflection", **about)

    def update(
        self, id: str, *, reason: str = "", asks: Mapping[str, str] | None = None, **fields: Any
    ) -> Memory:
        """Change a memory's content, metadata, type, scope or times; what it said before is gone.
        ``asks`` says who changes it, with the arguments ``agent``, ``session`` and so on of ``recall``."""
        from ..services.memories.curation import updated

        return updated(self, id, reason, fields, asks or {})

    def delta(self, operations: Sequence[Mapping[str, Any]], **asks: str) -> list[str]:
        """Add, update and deprecate memories, all or none. Returns the ids, in order."""
        from ..services.memories.curation import delta

        return delta(self, operations, **asks)

    def deprecate(self, id: str, *, reason: str = "", superseded_by: str = "", **asks: str) -> Memory:
        """Deprecate a memory: it is kept, with the reason, but no longer recalled."""
        operation = {
            "type": "deprecate",
            "memory_id": id,
            "deprecation_reason": reason,
            "superseded_by": superseded_by,
        }
        return self.get(self.delta([operation], **asks)[0], **asks)

    def compared(self, id: str, **asks: str) -> Compared:
        """The memories that say nearly the same as this one, or may contradict it. Nothing is changed."""
        from ..services.memories.curation import compared

        return compared(self, id, **asks)

    def forget(self, id: str, *, reason: str = "", **asks: str) -> Memory:
        """Erase the content of a memory everywhere except in backups; a tombstone stays."""
        from ..services.memories.curation import forget

        return forget(self, id, reason, **asks)
