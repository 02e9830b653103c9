"""Which session has a feature, and whose a session is: found out once, kept up with what changes.

A feature belongs to a session, and clients of Aegis Memory name only the feature. The index is made of the
sessions' own states, so it never says what they do not; a look at the list of streams tells which of them
moved since, and only those are read again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress

from ...core.base.text import slug
from ...core.base.values import Value
from ...errors import BadName, UnknownFeature, UnknownSession, UsageError
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

    def sessions_with(
        self, workspace: Workspace, feature: str, namespace: str = "", *, strict: bool = False
    ) -> list[str]:
        """The sessions that have a feature. That for features without a session comes before the others of
        the namespace; unless ``strict``, sessions of other namespaces are taken if this one has none."""
        own = shared_session(namespace)
        if self._has(workspace, own, feature):
            return [own]
        entries = self.sessions(workspace).items()
        there = {name: one.label.namespace for name, one in entries if feature in one.features}
        found = [name for name, label in there.items() if label == namespace]
        if not found and not strict:
            found = [name for name, label in there.items() if name != shared_session(label)]
        return sorted(found)

    def _has(self, workspace: Workspace, session: str, feature: str) -> bool:
        with suppress(UnknownSession):
            return feature in workspace.repository.state(session).features
        return False


def only_session(feature: str, sessions: Sequence[str]) -> str:
    """The one session that has a feature. UnknownFeature if none has, UsageError if several have: nobody may
    attest the feature of one session in the place of another."""
    if not sessions:
        raise UnknownFeature(
            f"there is no feature {feature[:60]!r}", hint="list the features to see their ids"
        )
    if len(sessions) > 1:
        names = ", ".join(sessions[:5]) + (" …" if len(sessions) > 5 else "")
        raise UsageError(
            f"{len(sessions)} sessions have a feature {feature[:60]!r}: {names}",
            hint="say which one with session_id",
        )
    return sessions[0]


def shared_session(namespace: str) -> str:
    """The session that holds features of a namespace that name no session; the default namespace is empty."""
    return f"features-{slug(namespace)}" if namespace else "features"
