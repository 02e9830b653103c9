"""Holds: which run works on a session, by lease and fencing number.

Pure. A hold belongs to a run, not to a command. Its fencing number only rises; whoever lost
the hold writes with an old number and is told. Whether the process of a holder still lives is
a fact of the world that the service brings along.
"""

from __future__ import annotations

import msgspec

from ..base.values import Value
from ..journal.event import Event, read_body
from . import events as ev

LEASE_SECONDS = 900.0


class Holder(Value):
    """A run that holds a session."""

    holder: str
    run: str
    host: str
    pid: int
    pid_start: str
    """When the process began: a pid alone may be somebody else's by now."""
    fence: int
    since: str
    until: str
    share: bool = False


class HoldState(Value):
    """Who holds a session; several only by sharing on purpose."""

    version: int = 0
    fence: int = 0
    holders: tuple[Holder, ...] = ()


def fold(state: HoldState, event: Event) -> HoldState:
    """The state after an event of a hold's ledger."""
    body = read_body(event)
    holders = state.holders
    fence = state.fence
    if isinstance(body, ev.HoldTaken):
        new = Holder(
            body.holder,
            body.run,
            body.host,
            body.pid,
            body.pid_start,
            body.fence,
            event.at,
            body.until,
            body.share,
        )
        others = tuple(h for h in holders if h.run != body.run) if body.share else ()
        holders, fence = (*others, new), max(fence, body.fence)
    elif isinstance(body, ev.HoldRenewed):
        holders = tuple(_renewed(h, body.until) if h.run == body.run else h for h in holders)
    elif isinstance(body, ev.HoldReleased):
        holders = tuple(h for h in holders if h.run != body.run)
    return HoldState(event.version, fence, holders)


def _renewed(holder: Holder, until: str) -> Holder:
    return msgspec.structs.replace(holder, until=until)


def in_force(state: HoldState, *, now: str, dead: frozenset[str] = frozenset()) -> tuple[Holder, ...]:
    """The holders whose lease runs and whose process is not known to be dead (by run)."""
    return tuple(h for h in state.holders if h.until > now and h.run not in dead)


def take(
    state: HoldState, wish: Holder, *, now: str, dead: frozenset[str] = frozenset()
) -> ev.HoldTaken | tuple[Holder, ...]:
    """The event that gives the hold to a run, or the living holders that stand in the way."""
    living = tuple(h for h in in_force(state, now=now, dead=dead) if h.run != wish.run)
    if living and not wish.share:
        return living
    return ev.HoldTaken(
        wish.holder,
        wish.run,
        wish.host,
        wish.pid,
        wish.pid_start,
        state.fence + 1,
        wish.until,
        share=bool(living),
    )
