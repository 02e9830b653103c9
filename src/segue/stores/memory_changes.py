"""What happens to memories, and what moves of them from one store to another."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.base.values import Value
from ..core.memories.model import Memory, MemoryAudit, Vote


class StoredMemory(Value):
    """A memory with what it is found by: its words for full text, and its vector if there is one."""

    memory: Memory
    words: str = ""
    model: str = ""
    """Which model made the vector."""
    vector: bytes = b""


class MemoryWithHistory(Value):
    """A memory with its number, its votes and its audit trail: all that a store keeps of it."""

    no: int
    kept: StoredMemory
    votes: Sequence[Vote] = ()
    trail: Sequence[MemoryAudit] = ()


class MemoryChange(Value):
    """What happens to memories, all or nothing."""

    adds: Sequence[StoredMemory] = ()
    puts: Sequence[StoredMemory] = ()
    """Each takes the place of the one with its id, which must be of the revision before."""
    votes: Sequence[Vote] = ()
    recalls: Sequence[tuple[str, int, str]] = ()
    """(id, how often more it was recalled, when last)."""
    vectors: Sequence[StoredMemory] = ()
    """Of these only the vector is new: the memories are as they were."""
    trail: Sequence[MemoryAudit] = ()
