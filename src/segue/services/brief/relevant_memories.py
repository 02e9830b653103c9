"""The memories that a brief shows: those that bear on the goal and on what is under way, by their words.

By full text alone: a brief is wanted at once, and no model is loaded for it. What came from a transcript and
reads like an instruction is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.memories.model import MemoryFilter
from ...core.runs.model import RunDigest
from ...core.sessions.state import SessionState
from ...errors import SegueError

if TYPE_CHECKING:
    from ..workspace.workspace import Workspace

SHOWN_MAX = 4
SCORE_MIN = 0.12
CHARS_MAX = 240


def remembered(
    folder: Path, environment: Mapping[str, str], session: SessionState | None, digests: list[RunDigest]
) -> list[str]:
    """The best few, in a line each; none without a store, and none if the store cannot say."""
    from ...settings import data_folder, store_of
    from ..workspace.data_folder import DataFolder

    home = DataFolder(data_folder(environment)).for_store(store_of(environment))
    query = query_of(session, digests)
    if not query or not home.has_store():
        return []
    from ..workspace.open_workspace import open_workspace

    try:
        with open_workspace(folder=folder, environment=environment) as workspace:
            return bearing(workspace, session, digests)
    except (SegueError, OSError):
        return []


def bearing(workspace: Workspace, session: SessionState | None, digests: list[RunDigest]) -> list[str]:
    """The same of a store that is open."""
    from ...effects.clock import now
    from ..memories.reader import reader_of

    query = query_of(session, digests)
    name = session.id if session else ""
    if not query or not workspace.store.memories.listing(
        reader_of(workspace, name), MemoryFilter(), now(), 1
    ):
        return []  # and nothing that recalls is loaded
    from ...effects.vectors.embedder import HashEmbedder
    from ..memories.service import PlaceMemories

    service = PlaceMemories(workspace, HashEmbedder())
    found = service.search(query, top_k=SHOWN_MAX * 2, session=name)
    shown = [one for one in found if not one.quoted and one.score >= SCORE_MIN]
    return [" ".join(one.content.split())[:CHARS_MAX] for one in shown[:SHOWN_MAX]]


def query_of(session: SessionState | None, digests: list[RunDigest]) -> str:
    """What the work is about, in words."""
    said: list[str] = []
    if session is not None:
        said += [session.goal, *(session.items[place].text for place in session.active)]
    for digest in digests[:1]:
        said += [words.text[:400] for words in digest.prompts[-1:]]
        said += [failure.why[:200] for failure in list(digest.failures.values())[-2:]]
    return " ".join(part for part in said if part)
