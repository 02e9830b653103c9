"""Holds: the claim of a run on a session, with a lease and a fencing number.

A hold belongs to a run, not to a command. Fencing numbers only rise, so a run that lost its hold is noticed
by its old number. Whether a holder's process is still alive is passed in by the service.
"""

from __future__ import annotations

from msgspec.structs import asdict, replace

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
    """When the process started, because its pid may have been reused since."""
    fence: int
    since: str
    until: str
    share: bool = False


class HoldState(Value):
    """Who holds a session. There are several holders only if they agreed to share it."""

    version: int = 0
    fence: int = 0
    holders: tuple[Holder, ...] = ()


def fold(state: HoldState, event: Event) -> HoldState:
    """The state after an event of the session's ledger of holds."""
    body = read_body(event)
    holders = state.holders
    fence = state.fence
    if isinstance(body, ev.HoldTaken):
        new = Holder(**asdict(body), since=event.at)
        others = tuple(h for h in holders if h.run != body.run) if body.share else ()
        holders, fence = (*others, new), max(fence, body.fence)
    elif isinstance(body, ev.HoldRenewed):
        holders = tuple(replace(h, until=body.until) if h.run == body.run else h for h in holders)
    elif isinstance(body, ev.HoldReleased):
        holders = tuple(h for h in holders if h.run != body.run)
    return HoldState(event.version, fence, holders)


def in_force(state: HoldState, *, now: str, dead: frozenset[str] = frozenset()) -> tuple[Holder, ...]:
    """The holders whose lease has not expired and whose run is not among the dead."""
    return tuple(h for h in state.holders if h.until > now and h.run not in dead)


def take(
    state: HoldState, candidate: Holder, *, now: str, dead: frozenset[str] = frozenset()
) -> ev.HoldTaken | tuple[Holder, ...]:
    """The event that gives the hold to a candidate, or the other holders that prevent it."""
    living = tuple(h for h in in_force(state, now=now, dead=dead) if h.run != candidate.run)
    if living and not candidate.share:
        return living
    claim = asdict(candidate) | {"fence": state.fence + 1, "share": bool(living)}
    del claim["since"]
    return ev.HoldTaken(**claim)
