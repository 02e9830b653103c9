"""Memories that bear on the work: for a brief a line each, for a restoration whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.memories.model import MemoryFilter
from ...effects.clock import now
from ...errors import SegueError
from ..memories.reader import reader_of

if TYPE_CHECKING:
    from ...core.runs.model import RunDigest
    from ...core.sessions.state import SessionState
    from ..memories.service import MemoryService, Recalled
    from ..workspace.workspace import Workspace

SHOWN_MAX = 4
SCORE_MIN = 0.12
CHARS_MAX = 240


def memory_lines(
    workspace: Workspace, session: SessionState | None, digests: Sequence[RunDigest]
) -> list[str]:
    """The best few, in a line each; none if the store cannot say."""
    try:
        found = relevant_memories(workspace, session, digests, most=SHOWN_MAX)
    except (SegueError, OSError):
        return []
    return [in_a_line(one.content) for one in found]


def in_a_line(text: str) -> str:
    """What a memory says, as a brief shows it."""
    return " ".join(text.split())[:CHARS_MAX]


def relevant_memories(
    workspace: Workspace, session: SessionState | None, digests: Sequence[RunDigest], *, most: int,
    with_model: bool = False,
) -> list[Recalled]:  # fmt: skip
    """Memories that answer what the work is about, the best first.

    By full text, which costs next to nothing; ``with_model`` by the embedding that is set, if one is."""
    query, name = query_of(session, digests), session.id if session else ""
    if not query or not workspace.store.memories.listing(
        reader_of(workspace, name), MemoryFilter(), now(), 1
    ):
        return []  # and nothing that recalls is loaded
    found = memory_service(workspace, with_model=with_model).search(query, top_k=most * 2, session=name)
    return [one for one in found if not one.quoted and one.score >= SCORE_MIN][:most]


def memory_service(workspace: Workspace, *, with_model: bool) -> MemoryService:
    """The memories by full text alone, or by the embedding that is set."""
    from ...effects.vectors.embedder import TextOnly
    from ..memories.service import WorkspaceMemories, memories_of

    chosen = workspace.embedder is not None or workspace.settings.text("embedder") in ("minilm", "endpoint")
    return memories_of(workspace) if with_model and chosen else WorkspaceMemories(workspace, TextOnly())


def query_of(session: SessionState | None, digests: Sequence[RunDigest]) -> str:
    """What the work is about, in words."""
    said: list[str] = []
    if session is not None:
        said += [session.goal, *(session.items[place].text for place in session.active)]
    for digest in digests[:1]:
        said += [words.text[:400] for words in digest.prompts[-1:]]
        said += [failure.why[:200] for failure in list(digest.failures.values())[-2:]]
    return " ".join(part for part in said if part)
