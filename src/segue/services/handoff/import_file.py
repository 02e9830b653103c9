"""Importing a session from a file of either kind: an export, or a bundle with an offer."""

from __future__ import annotations

from ...core.base.values import Value
from ..sessions.repository import stream_of
from ..workspace.workspace import Workspace
from .bundle import is_bundle, unpack
from .export import import_session


class Imported(Value):
    """A session that came from a file."""

    session: str
    version: int
    status: str
    changed: bool = True
    """False if all of it was here already."""
    offer: str = ""
    """The offer of a bundle, for whoever takes it."""
    sha256: str = ""
    memories: int = 0


def import_file(workspace: Workspace, body: bytes, *, format: str | None = None, as_id: str = "") -> Imported:
    """Import the session in a file; without a format it is recognised by the content."""
    if format is None and is_bundle(body):
        found = unpack(workspace, body, as_id=as_id)
        state = workspace.repository.state(found.session)
        return Imported(
            found.session, state.version, state.status, offer=found.offer, sha256=found.sha256,
            memories=found.memories,
        )  # fmt: skip
    before = dict(workspace.store.streams("session/"))
    session = import_session(workspace, body, format, as_id)
    state = session.state
    changed = before.get(stream_of(session.id)) != state.version
    return Imported(session.id, state.version, state.status, changed)
