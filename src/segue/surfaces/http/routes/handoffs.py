"""Passing on over HTTP: offers of sessions to agents, and what the journal tells of handovers.

An offer is taken by exactly one. Who takes or declines is the agent of the key; only a key that is bound to
no agent may do so as one. The restoration of an offer comes with the answer: the taker is on another machine.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....core import event_kinds as ev
from ....core.handover.events import Offer, checkpoint_of
from ....errors import UnknownHandoff
from ....handover.scoring import ScoredHandover, scores_in
from ....services.handoff.offers import HOURS, HOURS_MAX, HandoffOffer
from ....services.sessions.repository import Saved
from ...render import plain
from ..server.parameters import SAVED, Cursor, Id, Limit, Name, Text, Wish, Word, page, session_of, with_more
from ..server.route import Visit, route

TAGS = ("handoffs",)
OFFER = plain(
    Offer(
        "h1f0c2a9b8d", SAVED["session"], "codex", "claude-code", "2026-11-15T10:12:00.000000Z", "tests left"
    )
)


class OfferWish(Wish):
    """To whom a session is offered."""

    to: Id
    """An agent's name, or `anyone`."""
    note: Text = ""
    hours: Annotated[float, Meta(gt=0, le=HOURS_MAX)] = HOURS


class Settling(Wish):
    by: Name = ""
    """Who; else who asks."""
    reason: Text = ""


class Offered(Saved, kw_only=True):
    """An offer, with what the taker needs."""

    offer: Offer
    restoration: str


class OfferPage(msgspec.Struct):
    offers: list[Offer]
    next: str = ""


def _told(visit: Visit, handed: HandoffOffer) -> Any:
    text = visit.segue.handoffs.restoration(handed.offer)
    return with_more(handed.saved, offer=handed.offer, restoration=text)


def _offer(visit: Visit, id: str) -> Offer:
    """The offer of this id; a session's id is none here."""
    handoffs = visit.segue.handoffs
    found = next((one for one in handoffs.listing(everywhere=True) if one.id == id), None)
    if found is None:
        raise UnknownHandoff(f"nothing is offered as {id[:60]!r}", hint="GET /v1/handoffs lists all offers")
    return found


@route(
    "POST", "/v1/sessions/{id}/handoffs", need="writer", status=201, tags=TAGS,
    body={"to": "codex", "note": "the tests are left"},
    answer={**SAVED, "offer": OFFER, "restoration": "# Session …"},
)  # fmt: skip
def offer_session(visit: Visit, id: str, data: OfferWish) -> Offered:
    """Offer a session to an agent; exactly one can take it. A named checkpoint of it is frozen."""
    session = session_of(visit, id)
    handed = visit.segue.handoffs.offer(session.id, data.to, data.note, hours=data.hours)
    return _told(visit, handed)  # type: ignore[no-any-return]


@route(
    "GET", "/v1/handoffs", need="reader", tags=TAGS, errors=(), answer={"offers": [OFFER], "next": ""},
)  # fmt: skip
def list_offers(
    visit: Visit,
    session: Word = "",
    to: Word = "",
    status: Word = "",
    limit: Limit = 100,
    cursor: Cursor = "",
) -> OfferPage:
    """Offers and what became of them, the newest first."""
    found = [
        one
        for one in visit.segue.handoffs.listing(everywhere=True, to=to)
        if session in ("", one.session) and status in ("", one.status)
    ]
    offers, following = page(found, [(one.at, one.id) for one in found], cursor, limit)
    return OfferPage(offers, following)


@route("GET", "/v1/handoffs/{offer}", need="reader", tags=TAGS, answer=OFFER)
def get_offer(visit: Visit, offer: Word) -> Offer:
    """An offer by its id."""
    return _offer(visit, offer)


@route(
    "POST", "/v1/handoffs/{offer}/accept", need="writer", tags=TAGS, body={"by": "codex"},
    answer={**SAVED, "offer": {**OFFER, "status": "taken", "taker": "codex"}, "restoration": "# Session …"},
)  # fmt: skip
def accept_offer(visit: Visit, offer: Word, data: Settling) -> Offered:
    """Take an offer; 409 ``handoff_settled`` if somebody was faster or it ran out."""
    by = visit.access.act_as(data.by)
    handed = visit.segue.handoffs.accept(_offer(visit, offer).id, by=by)
    return _told(visit, handed)  # type: ignore[no-any-return]


@route("POST", "/v1/handoffs/{offer}/decline", need="writer", tags=TAGS, body={"reason": "no time"})
def decline_offer(visit: Visit, offer: Word, data: Settling) -> Offer:
    """Say no to an offer."""
    by = visit.access.act_as(data.by)
    return visit.segue.handoffs.decline(_offer(visit, offer).id, by=by, reason=data.reason)


@route("POST", "/v1/handoffs/{offer}/withdraw", need="writer", tags=TAGS, body={"reason": "done by me"})
def withdraw_offer(visit: Visit, offer: Word, data: Settling) -> Offer:
    """Take an offer back."""
    return visit.segue.handoffs.withdraw(_offer(visit, offer).id, reason=data.reason)


# -- handovers -------------------------------------------------------------------------------------


class Handover(msgspec.Struct):
    """The newest handover of a working tree."""

    tree: str
    """The working tree, by the hash that stands for it."""
    status: str
    steps: dict[str, str]
    started_at: str | None
    finished_at: str | None
    run: str
    session: str


class HandoverList(msgspec.Struct):
    handovers: list[Handover]


class HandoverEvent(msgspec.Struct):
    version: int
    kind: str
    at: str
    actor: str
    body: dict[str, Any]


class HandoverHistory(msgspec.Struct):
    handover: Handover
    history: list[HandoverEvent]
    scores: list[ScoredHandover]


def _handover(visit: Visit, tree: str) -> Handover | None:
    events = visit.segue.workspace.store.read(f"handover/{tree}")
    if not events:
        return None
    found = checkpoint_of([(ev.read_body(event), event.at) for event in events])
    more = found.get("segue", {})
    return Handover(
        tree, str(found["status"]), {name: str(how) for name, how in found["steps"].items()},
        found["started_at"], found["finished_at"], str(more.get("run", "")), str(more.get("session", "")),
    )  # fmt: skip


@route("GET", "/v1/handovers", need="reader", tags=("handovers",), errors=())
def list_handovers(visit: Visit) -> HandoverList:
    """How far the newest handover of each working tree came. Handovers are run by clients."""
    names = [name.removeprefix("handover/") for name, _ in visit.segue.workspace.store.streams("handover/")]
    found = [_handover(visit, name) for name in names]
    return HandoverList([one for one in found if one is not None])


@route("GET", "/v1/handovers/{tree}", need="reader", tags=("handovers",))
def get_handover(visit: Visit, tree: Word) -> HandoverHistory:
    """The handovers of a working tree: how far the newest came, all that was written, and what they were
    worth to the runs that came after."""
    found = _handover(visit, tree)
    if found is None:
        raise UnknownHandoff(f"no handover of {tree[:60]!r} is known", hint="GET /v1/handovers lists them")
    journal = visit.segue.workspace.store
    told = [
        HandoverEvent(event.version, event.kind, event.at, event.actor, plain(ev.read_body(event)) or {})
        for event in journal.read(f"handover/{tree}")
    ]
    return HandoverHistory(found, told, scores_in(journal.read(f"score/{tree}")))


ROUTES = [
    offer_session, list_offers, get_offer, accept_offer, decline_offer, withdraw_offer, list_handovers,
    get_handover,
]  # fmt: skip
