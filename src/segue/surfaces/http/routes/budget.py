"""`/v1/sessions/{id}/budget`, `…/spend` and `/v1/spend`: what a session may cost, and what it did."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ....core.sessions.budget import Standing
from ....services.models.ledger import SpendingReport
from ....services.resume.interruptions import Interruption
from ..server.parameters import Name, RequestBody
from ..server.route import Caller, route


class BudgetLimits(RequestBody):
    """Limits to set; those that are left out stay as they are."""

    cost: Annotated[float, Meta(ge=0, le=1e12)] | None = None
    """In US dollars; 0 means no limit."""
    tokens: Annotated[int, Meta(ge=0, le=10**12)] | None = None
    limited: bool | None = None
    """Continue sparingly beyond the limits."""


class Spending(RequestBody):
    """What was spent, in US dollars and tokens."""

    cost: Annotated[float, Meta(ge=0, le=1e12)] = 0.0
    tokens: Annotated[int, Meta(ge=0, le=10**12)] = 0


@route("GET", "/v1/sessions/{id}/budget", role="reader")
def get_budget(caller: Caller, id: str) -> Standing:
    """What was spent on a session, and what its limits are."""
    return caller.session(id).budget()


@route("PUT", "/v1/sessions/{id}/budget", role="writer", body={"cost": 5.0})
def set_budget(caller: Caller, id: str, body: BudgetLimits) -> Standing:
    """Set limits, or let the session continue sparingly beyond them."""
    return caller.session(id).budget(cost=body.cost, tokens=body.tokens, limited=body.limited)


@route("POST", "/v1/sessions/{id}/spend", role="writer", body={"cost": 0.12, "tokens": 4_000})
def spend(caller: Caller, id: str, body: Spending) -> Standing | Interruption:
    """Add to what was spent; at a limit the session is paused, and the response says so."""
    return caller.session(id).spend(body.cost, body.tokens)


@route("GET", "/v1/spend", role="reader", errors=())
def get_spend(
    caller: Caller, session: Name = "", days: Annotated[int, Meta(ge=1, le=36_500)] = 30
) -> SpendingReport:
    """What models cost in this project, by day, session, purpose and model."""
    return caller.segue.spend(session=session, days=days)
