"""Memories that are relevant to the work: as single lines for a brief, whole for a restoration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.language.sentences import is_assent, words
from ...core.memories.model import MemoryFilter
from ...core.sessions.state import SessionState
from ...effects.clock import now
from ...errors import SegueError
from ..memories.reader import reader_of
from ..workspace.workspace import Workspace

if TYPE_CHECKING:
    from ...core.runs.model import RunDigest
    from ..memories.service import MemoryService, Recalled

SHOWN_MAX = 4
SCORE_MIN = 0.12
MEANING_MIN = 0.35
"""The least score where vectors know meanings: texts that have nothing to do with the work come close."""
CHARS_MAX = 240
FEW, SHARED_MIN = 12, 2
"""Of fewer memories than ``FEW``, one that shares so many words with the work is relevant, too."""


def memory_lines(
    workspace: Workspace, session: SessionState | None, digests: Sequence[RunDigest], *,
    with_model: bool = False,
) -> list[str]:  # fmt: skip
    """The few most relevant memories, one line each; empty if the store fails."""
    try:
        recalled = relevant_memories(workspace, session, digests, limit=SHOWN_MAX, with_model=with_model)
    except (SegueError, OSError):
        return []
    return [as_line(result.content) for result in recalled]


def as_line(text: str) -> str:
    """A memory's content as one line of limited length."""
    return " ".join(text.split())[:CHARS_MAX]


def relevant_memories(
    workspace: Workspace, session: SessionState | None, digests: Sequence[RunDigest], *, limit: int,
    with_model: bool = False,
) -> list[Recalled]:  # fmt: skip
    """Memories about the work, the best first. They are found by full-text search, which is cheap, or with
    ``with_model`` by the embedder in the settings, if there is one."""
    query, name = query_of(session, digests), session.id if session else ""
    reader = reader_of(workspace, name)
    some = workspace.store.memories.listing(reader, MemoryFilter(), now(), FEW) if query else []
    if not some:
        return []  # without loading any ranking code
    service = memory_service(workspace, with_model=with_model)
    recalled = [one for one in service.search(query, top_k=limit * 2, session=name) if not one.quoted]
    least = MEANING_MIN if service.embedder.semantic else SCORE_MIN
    if len(some) < FEW:  # among few texts no word is rare, and every score is low
        asked = words(query)
        return [
            one for one in recalled if one.score >= least or len(asked & words(one.content)) >= SHARED_MIN
        ][:limit]
    return [one for one in recalled if one.score >= least][:limit]


def memory_service(workspace: Workspace, *, with_model: bool) -> MemoryService:
    """Memories with full-text search alone, or with the embedder in the settings if that is quick or was
    asked for by its name."""
    from ...effects.vectors.embedder import TextOnly
    from ..memories.service import WorkspaceMemories, memories_of

    if with_model:
        chosen, service = workspace.settings.text("embedder"), memories_of(workspace)
        if workspace.embedder is not None or chosen in ("minilm", "endpoint") or service.embedder.ready:
            return service
    return WorkspaceMemories(workspace, TextOnly())


def query_of(session: SessionState | None, digests: Sequence[RunDigest]) -> str:
    """A query for what the work is about: goal, active items, the last request and the last failures."""
    texts: list[str] = []
    if session is not None:
        texts += [session.goal, *(session.items[index].text for index in session.active)]
    for digest in digests[:1]:
        said = [prompt.text[:400] for prompt in digest.prompts if not is_assent(prompt.text)]
        texts += said[-1:] or [digest.told or ""]
        texts += [failure.why[:200] for failure in list(digest.failures.values())[-2:]]
    return " ".join(text for text in texts if text)
