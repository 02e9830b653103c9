"""Which indexes are searched: a file for what is on this machine, and the store's own if it has one."""

from __future__ import annotations

from ...core.base.canonical import sha256
from ...core.search.index import SearchIndex
from ..runs.observed import runs_of
from ..workspace.workspace import Workspace

SESSION = "session/"


def indexes_of(workspace: Workspace) -> list[SearchIndex]:
    """The indexes with texts of this workspace: runs first."""
    own = workspace.store.search_index
    if own is None:
        return [runs_of(workspace).search_index]
    return [runs_of(workspace).search_index, own] if workspace.sees_tree else [own]


def sessions_index(workspace: Workspace) -> SearchIndex:
    """Where the texts of sessions are."""
    return workspace.store.search_index or runs_of(workspace).search_index


def session_prefix(workspace: Workspace) -> str:
    """What the keys of this store's sessions begin with: several stores may share the file."""
    if workspace.store.search_index is not None:
        return SESSION
    home = workspace.home
    name = home.shared_store or str(home.database)
    return f"{SESSION}{sha256(name.encode()).hexdigest()[:8]}/"


def is_ours(workspace: Workspace, key: str) -> bool:
    """Whether a source of an index belongs to this workspace, and is not a session of another store."""
    return not key.startswith(SESSION) or key.startswith(session_prefix(workspace))
