"""What became of the offers of a session, from its ledger ``handoff/<session>``.

The session itself records only that it was handed to somebody. Whether that still holds (nobody withdrew or
declined the offer, and it has not expired) stands in the ledger, so whoever tells a user about it asks here.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ...core.base.text import clean_name
from ...core.sessions.state import SessionState
from ...effects.clock import now
from ...errors import StoreUnavailable
from ...stores.base import Journal

if TYPE_CHECKING:
    from ...core.handover.events import Offer


def ledger_of(session: str) -> str:
    """The stream of a session's offers."""
    return "handoff/" + clean_name(session, what="session id")


def offers_in(journal: Journal, session: str) -> list[Offer]:
    """Every offer of a session, oldest first."""
    from ...core import event_kinds as ev
    from ...core.handover.events import offers_of

    events = journal.read(ledger_of(session))
    return offers_of(session, [(ev.read_body(e), e.at, e.actor) for e in events], now=now())


def with_offers_settled(journal: Journal, state: SessionState) -> SessionState:
    """The state without the handoffs whose offers nobody can take any more; as it is while the store cannot
    be reached."""
    if state.handed:
        from ...core.handover.events import without_settled

        with suppress(StoreUnavailable):
            return without_settled(state, offers_in(journal, state.id))
    return state
