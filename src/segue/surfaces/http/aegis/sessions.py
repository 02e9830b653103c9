"""`/memories/ace/session`: the progress of sessions, in Aegis Memory's terms."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ....services.server.aegis import progress
from ....services.server.aegis.progress import Label, ProgressUpdate, SessionProgress
from ..server.route import Caller
from .base import DEFAULT, Name, aegis_route, agent_of, namespace_label


class SessionIn(msgspec.Struct):
    """A session to create; if it exists already it stays as it is."""

    session_id: Name
    agent_id: str | None = None
    user_id: str | None = None
    namespace: str = DEFAULT


class BlockedItemIn(msgspec.Struct):
    """A blocked item, and why it is blocked."""

    item: str
    reason: str | None = None


class SessionChangeIn(msgspec.Struct):
    """The progress of a session. Completed items are added, next and blocked items replace what was there,
    and what is not given stays."""

    completed_items: list[str] | None = None
    in_progress_item: str | None = None
    next_items: list[str] | None = None
    blocked_items: list[BlockedItemIn] | None = None
    summary: str | None = None
    last_action: str | None = None
    status: str | None = None
    total_items: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None


@aegis_route("POST", "/memories/ace/session", role="writer", together=True)
def create_session(caller: Caller, body: SessionIn) -> SessionProgress:
    """Create a session; if the id exists already, that session is returned unchanged."""
    agent = agent_of(caller, body.agent_id)
    label = Label(namespace=namespace_label(body.namespace), agent=agent, user=body.user_id or "")
    return progress.create(caller.as_actor(agent).workspace, body.session_id, label)


@aegis_route("GET", "/memories/ace/session/{id}", role="reader")
def get_session(caller: Caller, id: str) -> SessionProgress:
    """The progress of a session."""
    return progress.get(caller.segue.workspace, id)


@aegis_route("PATCH", "/memories/ace/session/{id}", role="writer", together=True)
def update_session(caller: Caller, id: str, body: SessionChangeIn) -> SessionProgress:
    """Record the progress of a session; what others record at the same time is not lost."""
    blocked = body.blocked_items
    update = ProgressUpdate(
        body.completed_items, body.in_progress_item, body.next_items,
        None if blocked is None else [{"item": one.item, "reason": one.reason or ""} for one in blocked],
        body.summary, body.last_action, body.status, body.total_items,
    )  # fmt: skip
    return progress.change(caller.segue.workspace, id, update)


def sessions_of(caller: Caller, agent: str) -> list[str]:
    """The open sessions of an agent, the most recently active first."""
    entries = caller.index.sessions(caller.segue.workspace)
    found = [
        (entry.updated, name)
        for name, entry in entries.items()
        if entry.label.agent == agent and entry.status in ("created", "active", "paused")
    ]
    return [name for _, name in sorted(found, reverse=True)]
