"""Completing a session, with a report of what was left open and what is not proven."""

from __future__ import annotations

from ...core.base.values import Value
from ...core.features.verdict import Gate
from ..sessions.repository import Saved
from ..workspace.session_handle import SessionHandle
from .features import Features, complete_session, session_status


class Completed(Value):
    """A session whose goal was reached."""

    saved: Saved
    goal: str
    gate: Gate
    """The gate's decision when it was completed."""
    left_open: tuple[str, ...] = ()
    """Items that are neither done nor dropped."""

    @property
    def proven(self) -> bool:
        """Whether there were features, and all of them were proven."""
        return self.gate.ok and bool(self.gate.counts.total)


def complete(session: SessionHandle, summary: str = "", *, force: str = "") -> Completed:
    """Complete a session. Raises UnverifiedFeatures unless every feature is proven, or ``force`` gives a
    reason for completing it nonetheless."""
    gate = Features(session).gate()
    saved = complete_session(session, summary, force=force)
    status = session_status(session)
    left = (*status.active, *status.next, *(blocked.item for blocked in status.blocked))
    return Completed(saved, status.goal, gate, left)
