"""The ledger in the library: the service, at the boundary that users call."""

from __future__ import annotations

from .._checked_calls import checked
from ..services.ledger.ledger_service import LedgerService


@checked
class SessionLedger(LedgerService):
    """What was said in a session and holds: look at it, and correct it."""
