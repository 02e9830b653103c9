"""`/v1/handoffs` and `/v1/sessions/{id}/handoffs`: offers of sessions to agents.

An offer is taken by exactly one agent. Who takes or declines is the agent of the key; only a key that is
bound to no agent may do so as one. The restoration comes with the response: the taker is on another machine.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ....core.handover.events import Offer
from ....errors import UnknownHandoff
from ....services.handoff.offers import HOURS, HOURS_MAX, HandoffOffer
from ....services.sessions.repository import Saved
from ...render import plain
from ..server.parameters import SAVED, Cursor, Id, Limit, Name, RequestBody, Text, page, with_more
from ..server.route import Caller, route

OFFER = plain(
    Offer(
        "h1f0c2a9b8d", SAVED["session"], "codex", "claude-code", "2026-11-15T10:12:00.000000Z", "tests left"
    )
)


class NewOffer(RequestBody):
    """An offer of a session to an agent."""

    to: Id
    """An agent's name, or `anyone`."""
    note: Text = ""
    hours: Annotated[float, Meta(gt=0, le=HOURS_MAX)] = HOURS


class OfferDecision(RequestBody):
    """Who takes, declines or withdraws an offer, and why."""

    by: Name = ""
    """Who takes, declines or withdraws it; by default the caller."""
    reason: Text = ""


class SavedOffer(Saved, kw_only=True):
    """An offer, with what the taker needs."""

    offer: Offer
    restoration: str


class OfferPage(msgspec.Struct):
    offers: list[Offer]
    next: str = ""


def _with_restoration(caller: Caller, made: HandoffOffer) -> SavedOffer:
    text = caller.segue.handoffs.restoration(made.offer)
    return with_more(SavedOffer, made.saved, offer=made.offer, restoration=text)


def _offer(caller: Caller, id: str) -> Offer:
    """The offer with this id; the id of a session is not accepted instead."""
    handoffs = caller.segue.handoffs
    found = next((one for one in handoffs.listing(everywhere=True) if one.id == id), None)
    if found is None:
        raise UnknownHandoff(f"there is no offer {id[:60]!r}", hint="GET /v1/handoffs lists all offers")
    return found


@route(
    "POST", "/v1/sessions/{id}/handoffs", role="writer", status=201,
    body={"to": "codex", "note": "the tests are left"},
    response={**SAVED, "offer": OFFER, "restoration": "# Session …"},
)  # fmt: skip
def offer_session(caller: Caller, id: str, body: NewOffer) -> SavedOffer:
    """Offer a session to an agent; exactly one can take it. The state of the session is kept as a named
    checkpoint."""
    session = caller.session(id)
    made = caller.segue.handoffs.offer(session.id, body.to, body.note, hours=body.hours)
    return _with_restoration(caller, made)


@route("GET", "/v1/handoffs", role="reader", errors=(), response={"offers": [OFFER], "next": ""})
def list_offers(
    caller: Caller, session: Name = "", to: Name = "", status: Name = "", limit: Limit = 100,
    cursor: Cursor = "",
) -> OfferPage:  # fmt: skip
    """Offers and what became of them, newest first."""
    found = [
        one
        for one in caller.segue.handoffs.listing(everywhere=True, to=to)
        if session in ("", one.session) and status in ("", one.status)
    ]
    offers, following = page(found, [(one.at, one.id) for one in found], cursor, limit)
    return OfferPage(offers, following)


@route("GET", "/v1/handoffs/{offer}", role="reader", response=OFFER)
def get_offer(caller: Caller, offer: Name) -> Offer:
    """An offer by its id."""
    return _offer(caller, offer)


@route(
    "POST", "/v1/handoffs/{offer}/accept", role="writer", body={"by": "codex"},
    response={**SAVED, "offer": {**OFFER, "status": "taken", "taker": "codex"}, "restoration": "# Session …"},
)  # fmt: skip
def accept_offer(caller: Caller, offer: Name, body: OfferDecision) -> SavedOffer:
    """Take an offer; 409 ``handoff_settled`` if somebody was faster or it has expired."""
    by = caller.access.act_as(body.by)
    return _with_restoration(caller, caller.segue.handoffs.accept(_offer(caller, offer).id, by=by))


@route("POST", "/v1/handoffs/{offer}/decline", role="writer", body={"reason": "no time"})
def decline_offer(caller: Caller, offer: Name, body: OfferDecision) -> Offer:
    """Decline an offer."""
    by = caller.access.act_as(body.by)
    return caller.segue.handoffs.decline(_offer(caller, offer).id, by=by, reason=body.reason)


@route("POST", "/v1/handoffs/{offer}/withdraw", role="writer", body={"reason": "done by me"})
def withdraw_offer(caller: Caller, offer: Name, body: OfferDecision) -> Offer:
    """Withdraw an offer."""
    return caller.segue.handoffs.withdraw(_offer(caller, offer).id, reason=body.reason)
