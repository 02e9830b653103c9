"""Handovers and handoffs in the journal: their events, and the folds of these.

The stream ``handover/<tree>`` records the runs of handovers in a working tree, step by step; its fold is the
checkpoint of the newest run, which is also kept in a file. The stream ``handoff/<session>`` records to whom a
session was offered and what became of each offer: one agent takes it, or it is declined, withdrawn, or
expires.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ..base.values import Value
from ..journal.event import Body
from ..sessions.state import SessionState, handing_words


class HandoverBegun(Body):
    KIND = "handover.begun"
    run: str
    steps: list[str]
    payloads: dict[str, Any] = {}
    """The input of each step, so that a resume can continue with it."""
    session: str = ""
    about: dict[str, Any] = {}


class HandoverExtended(Body):
    KIND = "handover.extended"
    run: str
    steps: list[str]
    """Steps that the workflow gained while the run was interrupted."""


class HandoverStepBegun(Body):
    KIND = "handover.step_begun"
    run: str
    step: str


class HandoverStepDone(Body):
    KIND = "handover.step_done"
    run: str
    step: str
    output: Any = None


class HandoverStepFailed(Body):
    KIND = "handover.step_failed"
    run: str
    step: str
    reason: str
    ended: bool = False
    """Whether it is certain that the step did not succeed, so that it can be tried again without asking."""


class HandoverCompleted(Body):
    KIND = "handover.completed"
    run: str


class HandoverScored(Body):
    KIND = "handover.scored"
    run: str
    """The handover that is judged."""
    by: str
    """The run of an agent that came after it."""
    score: float
    session: str = ""
    kinds: dict[str, list[int]] = {}
    """For each kind of fact: how many were given, and how many of them were used."""
    reasons: list[str] = []
    measures: dict[str, float] = {}


class HandoffOffered(Body):
    KIND = "handoff.offered"
    offer: str
    to: str
    note: str = ""
    until: str = ""
    mark: str = ""
    """The named checkpoint that is offered."""
    memories: list[str] = []
    """Memories that the taker may read from now on."""


class HandoffTaken(Body):
    KIND = "handoff.taken"
    offer: str
    by: str
    run: str = ""


class HandoffDeclined(Body):
    KIND = "handoff.declined"
    offer: str
    by: str
    reason: str = ""


class HandoffWithdrawn(Body):
    KIND = "handoff.withdrawn"
    offer: str
    reason: str = ""


# -- a handover ------------------------------------------------------------------------------------


def checkpoint_of(bodies: Sequence[tuple[Body | None, str]]) -> dict[str, Any]:
    """The checkpoint of the newest run, from the bodies of its stream with their times."""
    found: dict[str, Any] = {"status": "none", "steps": {}, "started_at": None, "finished_at": None}
    for body, at in bodies:
        if isinstance(body, HandoverBegun):
            found = _begun(body, at)
            continue
        extra = found.get("segue", {})
        if body is None or extra.get("run") != getattr(body, "run", None):
            continue
        match body:
            case HandoverExtended():
                for name in body.steps:
                    found["steps"].setdefault(name, "pending")
            case HandoverStepBegun():
                extra["begun"] = body.step
                extra.get("failed", {}).pop(body.step, None)
            case HandoverStepDone():
                found["steps"][body.step] = "done"
                extra.pop("begun", None)
                extra.get("failed", {}).pop(body.step, None)
                if body.output is not None:
                    extra.setdefault("outputs", {})[body.step] = body.output
            case HandoverStepFailed():
                extra.setdefault("failed", {})[body.step] = body.reason
                if body.ended:
                    extra.pop("begun", None)
            case HandoverCompleted():
                found["status"], found["finished_at"] = "completed", at
    return found


def _begun(body: HandoverBegun, at: str) -> dict[str, Any]:
    extra: dict[str, Any] = {"run": body.run, **body.about}
    if body.session:
        extra["session"] = body.session
    if body.payloads:
        extra["payloads"] = body.payloads
    steps = dict.fromkeys(body.steps, "pending")
    return {"status": "in_progress", "steps": steps, "started_at": at, "finished_at": None, "segue": extra}


# -- a handoff -------------------------------------------------------------------------------------


class Offer(Value):
    """A session that was offered to an agent, and what became of it."""

    id: str
    session: str
    to: str
    by: str
    at: str
    note: str = ""
    until: str = ""
    mark: str = ""
    memories: tuple[str, ...] = ()
    status: str = "open"
    """open, taken, declined, withdrawn or expired."""
    taker: str = ""
    settled: str = ""
    """When it was settled."""
    reason: str = ""


def offers_of(session: str, events: Sequence[tuple[Body | None, str, str]], *, now: str) -> list[Offer]:
    """Every offer of a session, the oldest first, from bodies with (time, actor)."""
    found: dict[str, Offer] = {}
    for body, at, actor in events:
        if isinstance(body, HandoffOffered):
            copied = {name: getattr(body, name) for name in ("to", "note", "until", "mark")}
            shared = tuple(body.memories)
            found[body.offer] = Offer(body.offer, session, by=actor, at=at, memories=shared, **copied)
            continue
        offer = found.get(getattr(body, "offer", ""))
        if offer is None or status_of(offer, at) != "open":
            continue
        match body:
            case HandoffTaken():
                found[offer.id] = _settled(offer, "taken", at, taker=body.by)
            case HandoffDeclined():
                found[offer.id] = _settled(offer, "declined", at, taker=body.by, reason=body.reason)
            case HandoffWithdrawn():
                found[offer.id] = _settled(offer, "withdrawn", at, reason=body.reason)
    return [
        offer if status_of(offer, now) == offer.status else _settled(offer, "expired", offer.until)
        for offer in found.values()
    ]


def status_of(offer: Offer, at: str) -> str:
    """The status of an offer at a time: one that nobody took by then may have expired."""
    return "expired" if offer.status == "open" and offer.until and offer.until <= at else offer.status


def _settled(offer: Offer, status: str, at: str, *, taker: str = "", reason: str = "") -> Offer:
    return replace(offer, status=status, settled=at, taker=taker, reason=reason)


_OUTCOMES = {
    "withdrawn": "the offer to {} was withdrawn",
    "declined": "the offer to {} was declined",
    "expired": "the offer to {} expired",
}


def without_settled(state: SessionState, offers: Sequence[Offer]) -> SessionState:
    """The state without the handoffs whose offers were withdrawn or declined, or expired. An offer and its
    handoff are recorded in one commit, so the checkpoint of the offer has the handoff's time."""
    over = {
        state.marks[offer.mark].at: offer
        for offer in offers
        if offer.status in _OUTCOMES and offer.mark in state.marks
    }
    standing = tuple(one for one in state.handed if one.at not in over)
    if len(standing) == len(state.handed):
        return state
    action, last = state.last_action, state.handed[-1]
    if last.at in over and action == handing_words(last):
        action = _OUTCOMES[over[last.at].status].format(last.to)
    return replace(state, handed=standing, last_action=action)
