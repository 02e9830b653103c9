"""Which session has a feature, and whose a session is: found out once, kept up with what changes.

A feature belongs to a session, and clients of Aegis Memory name only the feature. The index is made of the
sessions' own states, so it never says what they do not; a look at the list of streams tells which of them
moved since, and only those are read again.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from ...core.base.text import slug
from ...core.base.values import Value
from ...errors import BadName, UnknownSession
from ..workspace.workspace import Workspace
from .aegis.progress import Label, label_of

_PREFIX = "session/"


class IndexedSession(Value):
    """What the index knows of a session."""

    version: int
    updated: str
    status: str
    features: tuple[str, ...]
    label: Label


class SessionIndex:
    """The sessions of a store."""

    def __init__(self) -> None:
        self._entries: dict[str, IndexedSession] = {}
        self._lock = threading.Lock()

    def sessions(self, workspace: Workspace) -> dict[str, IndexedSession]:
        """Every session as of now."""
        with self._lock:
            there = dict(workspace.store.streams(_PREFIX))
            for stream, version in there.items():
                session = stream.removeprefix(_PREFIX)
                known = self._entries.get(session)
                if known is None or known.version != version:
                    self._look(workspace, session)
            for session in [one for one in self._entries if _PREFIX + one not in there]:
                del self._entries[session]
            return dict(self._entries)

    def _look(self, workspace: Workspace, session: str) -> None:
        try:
            state = workspace.repository.state(session)
        except (UnknownSession, BadName):  # a stream of a name that no session has is none
            self._entries.pop(session, None)
            return
        self._entries[session] = IndexedSession(
            state.version, state.updated, state.status, tuple(state.features), label_of(workspace, state)
        )

    def session_with(
        self, workspace: Workspace, feature: str, namespace: str = "", *, strict: bool = False
    ) -> str:
        """The session that has a feature, the one that was worked on last if several do; empty if none does.

        Those of the namespace come first; unless ``strict``, then those that others made for their own."""
        own = shared_session(namespace)
        if self._has(workspace, own, feature):
            return own
        with self._lock:
            known = [
                name
                for name, entry in self._entries.items()
                if feature in entry.features and entry.label.namespace == namespace
            ]
        if len(known) == 1 and self._has(workspace, known[0], feature):
            return known[0]
        entries = self.sessions(workspace).items()
        there = [(e.updated, name, e.label.namespace) for name, e in entries if feature in e.features]
        found = [one for one in there if one[2] == namespace]
        if not found and not strict:
            found = [one for one in there if one[1] != shared_session(one[2])]
        return max(found, default=("", "", ""))[1]

    def _has(self, workspace: Workspace, session: str, feature: str) -> bool:
        with suppress(UnknownSession):
            return feature in workspace.repository.state(session).features
        return False


def shared_session(namespace: str) -> str:
    """The session that holds features of a namespace that name no session; the default namespace is empty."""
    return f"features-{slug(namespace)}" if namespace else "features"
