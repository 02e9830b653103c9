"""The status of a session as it is or, while the server cannot be reached, as it was last seen."""

from __future__ import annotations

from ...core.base.values import Value
from ...core.sessions.state import SessionState
from ...core.sessions.status import SessionStatus, status_of
from ...errors import StoreUnavailable
from ..workspace.session_handle import SessionHandle
from .features import session_status


class KnownStatus(Value):
    """A status, and the state that it was taken from."""

    status: SessionStatus
    state: SessionState
    as_of: str = ""
    """When it was seen, if the server cannot be reached now."""
    pending: int = 0
    """How many changes on this machine wait until the server can be reached."""


def known_status(session: SessionHandle) -> KnownStatus:
    """What is known of a session. Raises StoreUnavailable if the server cannot be reached and it was never
    seen."""
    try:
        return KnownStatus(session_status(session), session.state)
    except StoreUnavailable:
        last = session.workspace.last_seen(session.id)
        if last is None:
            raise
        return KnownStatus(status_of(last.state), last.state, last.at, last.pending)
