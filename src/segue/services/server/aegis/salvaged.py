"""The memories of a session that a damaged store still holds, for the recipe's fallback.

Nothing is changed: the damaged file, its log and the backups are read as a recovery reads them. Who asks sees
what he would see in a whole store. A query that names no agent asks for the session, so it sees the private
memories of the agent that wrote there, if it was only one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....core.base.values import Value
from ....core.memories import model as mem
from ....core.memories.model import Memory, MemoryFilter, MemoryReader
from ....core.memories.words import query_words, words
from ....effects.clock import now
from ...upkeep.recover.from_memories import Told, gathered, told_by
from ...upkeep.recover.sources import places
from ...workspace.data_folder import DataFolder

KEEPER = "system"
"""As whom the recipe writes summaries: nobody who works on a session."""


def salvaged_memories(
    home: DataFolder, query: str, session: str, agent: str, metadata: Mapping[str, Any], top_k: int
) -> list[Memory]:
    """What can still be read of a session's memories: those with most words of the query first, then the
    newest."""
    where, at = MemoryFilter(sessions=(session,), metadata=dict(metadata)), now()
    found = [one for one in gathered(place.path for place in places(home)) if mem.fits(where, one, at)]
    agents = {one.agent for one in found if one.scope == "agent-private" and one.agent != KEEPER}
    who = agent or (next(iter(agents)) if len(agents) == 1 else "")
    seen = [one for one in found if mem.may_read(_reader(who, one), mem.audience_of(one))]
    wanted = set(query_words(query))
    seen.sort(key=lambda one: (len(wanted & set(words(one.content))), one.created, one.id), reverse=True)
    return seen[:top_k]


def _reader(agent: str, memory: Memory) -> MemoryReader:
    """An agent where the memory was made; the session that is asked for tells the project."""
    return MemoryReader(
        agent, memory.namespace, memory.user, (memory.session,), (memory.project,), memory.organization
    )


class Reconstructed(Value):
    """The progress of a session as its memories tell it."""

    status: str
    summary: str
    completed: list[str]
    next: list[str]
    failed: list[str]
    decisions: list[str]
    relevant_memories: list[str]


def reconstructed(memories: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Reconstructed:
    """What memories tell of the session that made them, each a type, a content and its metadata."""
    told = Told()
    for type, content, metadata in memories:
        told = told_by(told, type, content, metadata)
    open_items = [item for item in told.items if item not in told.done]
    return Reconstructed(
        "reconstructed", told.goal, list(told.done), open_items, list(told.failed), list(told.decisions),
        [content for _, content, _ in memories],
    )  # fmt: skip
