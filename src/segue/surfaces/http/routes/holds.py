"""Holds, agents' own states and budgets over HTTP.

A hold that is taken here lasts as long as its lease: the server cannot see whether the process behind it
still lives. Its fencing number goes with commands, so that whoever lost the hold is told. An agent's state is
any JSON value; with ``since`` it replaces only what was seen.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....core.base.text import clean_name
from ....core.sessions.budget import Standing
from ....core.sessions.holds import LEASE_SECONDS, Holder
from ....core.sessions.state import AgentState
from ....errors import UnknownAgent
from ....services.models.ledger import SpendingReport
from ....services.resume.interruptions import Interruption
from ....services.sessions.holds import Hold, new_run
from ....services.sessions.repository import Saved
from ..server.parameters import SAVED, WHOLE_MAX, Id, Name, Wish, Word, session_of
from ..server.route import Visit, route

TAGS = ("holds",)
HOLDER = {
    "holder": "codex", "run": "run-5f3a", "host": "laptop", "pid": 0, "pid_start": "", "fence": 3,
    "since": "2026-11-15T10:00:00.000000Z", "until": "2026-11-15T10:15:00.000000Z", "share": False,
}  # fmt: skip
Lease = Annotated[float, Meta(gt=0, le=86_400)]
Fence = Annotated[int, Meta(ge=1, le=WHOLE_MAX)]


class HoldWish(Wish):
    """A hold to be taken."""

    run: Id = ""
    """Which run holds; else that of `Segue-Run`, else one is made up."""
    holder: Name = ""
    host: Name = ""
    """Where it runs, in words."""
    share: bool = False
    lease_seconds: Lease = LEASE_SECONDS


class HeldWish(Wish):
    """A hold that somebody has."""

    run: Id
    fence: Fence
    lease_seconds: Lease = LEASE_SECONDS


class Held(msgspec.Struct):
    """A hold."""

    session: str
    run: str
    fence: int
    until: str


class Holders(msgspec.Struct):
    session: str
    holders: list[Holder]
    crashed: list[Holder]
    """Those that never let go and hold no more."""


@route(
    "GET", "/v1/sessions/{id}/hold", need="reader", tags=TAGS,
    answer={"session": SAVED["session"], "holders": [HOLDER], "crashed": []},
)  # fmt: skip
def get_hold(visit: Visit, id: str) -> Holders:
    """Who holds a session."""
    session, holds = session_of(visit, id), visit.segue.workspace.holds
    return Holders(session.id, list(holds.living(session.id)), list(holds.crashed(session.id)))


@route(
    "POST", "/v1/sessions/{id}/hold", need="writer", status=201, tags=TAGS, body={"lease_seconds": 900},
    answer={"session": SAVED["session"], "run": "run-5f3a", "fence": 3, "until": HOLDER["until"]},
)  # fmt: skip
def take_hold(visit: Visit, id: str, data: HoldWish) -> Held:
    """Hold a session for a run; 409 ``session_held`` while another does. It ends with its lease."""
    session, segue = session_of(visit, id), visit.segue
    run = clean_name(data.run or segue.workspace.repository.run or new_run(), what="run id")
    held = segue.workspace.holds.take(
        session.id, holder=visit.access.act_as(data.holder) or segue.workspace.repository.actor, run=run,
        share=data.share,
        lease_seconds=data.lease_seconds, pid=0, host=data.host or "elsewhere",
    )  # fmt: skip
    return Held(session.id, held.run, held.fence, held.until)


@route(
    "POST", "/v1/sessions/{id}/hold/renew", need="writer", tags=TAGS,
    body={"run": "run-5f3a", "fence": 3},
    answer={"session": SAVED["session"], "run": "run-5f3a", "fence": 3, "until": HOLDER["until"]},
)  # fmt: skip
def renew_hold(visit: Visit, id: str, data: HeldWish) -> Held:
    """Prolong the lease; 409 ``session_held`` if the hold was lost meanwhile."""
    session = session_of(visit, id)
    held = Hold(visit.segue.workspace.holds, session.id, data.run, data.fence, data.lease_seconds, "")
    held.renew()
    return Held(session.id, held.run, held.fence, held.until)


@route(
    "POST", "/v1/sessions/{id}/hold/release", need="writer", tags=TAGS,
    body={"run": "run-5f3a", "fence": 3},
    answer={"session": SAVED["session"], "holders": [], "crashed": []},
)  # fmt: skip
def release_hold(visit: Visit, id: str, data: HeldWish) -> Holders:
    """Let go; letting go of what was lost is no fault."""
    session, holds = session_of(visit, id), visit.segue.workspace.holds
    Hold(holds, session.id, data.run, data.fence, data.lease_seconds, "").release()
    return Holders(session.id, list(holds.living(session.id)), list(holds.crashed(session.id)))


# -- agents' own states ----------------------------------------------------------------------------

AGENTS = ("agents",)


class Agents(msgspec.Struct):
    agents: dict[str, AgentState]


class AgentValue(Wish):
    """An agent's state."""

    value: Any
    since: Annotated[int, Meta(ge=0, le=WHOLE_MAX)] | None = None
    """The session's version at which the state was last seen; none: whatever it is."""


class LoadedAgent(msgspec.Struct):
    agent: str
    version: int
    """The session's, to be given as ``since``."""
    value: Any


@route("GET", "/v1/sessions/{id}/agents", need="reader", tags=AGENTS)
def list_agents(visit: Visit, id: str) -> Agents:
    """What is noted of a session's agents, by name; their states have routes of their own."""
    return Agents(session_of(visit, id).state.agents)


@route(
    "GET", "/v1/sessions/{id}/agents/{agent}", need="reader", tags=AGENTS,
    answer={"agent": "planner", "version": 9, "value": {"queue": ["a", "b"]}},
)  # fmt: skip
def load_agent(visit: Visit, id: str, agent: Word) -> LoadedAgent:
    """An agent's state as it was last saved."""
    session = session_of(visit, id)
    version = session.state.version
    return LoadedAgent(agent, version, session.load_agent(agent))


@route(
    "PUT", "/v1/sessions/{id}/agents/{agent}", need="writer", tags=AGENTS, answer=SAVED,
    body={"value": {"queue": ["a", "b"]}, "since": 9},
)  # fmt: skip
def save_agent(visit: Visit, id: str, agent: Word, data: AgentValue) -> Saved:
    """Keep an agent's state: any JSON value, of which only what changed is stored. With ``since``, 409
    ``stale_version`` if somebody changed it behind that version."""
    session = session_of(visit, id)
    visit.segue.workspace.agent_states.forget(
        session.id
    )  # a client may be behind or before what is known here
    return session.save_agent(clean_name(agent, what="agent's name"), data.value, since=data.since)


@route("DELETE", "/v1/sessions/{id}/agents/{agent}", need="writer", tags=AGENTS, answer=SAVED)
def drop_agent(visit: Visit, id: str, agent: Word) -> Saved:
    """Forget an agent; an undo takes that back."""
    session = session_of(visit, id)
    if agent not in session.state.agents:
        raise UnknownAgent(f"no agent {agent[:60]} in {session.id}", hint="GET …/agents lists them")
    return session.drop_agent(agent)


# -- budget and spend ------------------------------------------------------------------------------

MONEY = ("budget",)


class Limits(Wish):
    cost: Annotated[float, Meta(ge=0, le=1e12)] | None = None
    """US dollars; 0: none."""
    tokens: Annotated[int, Meta(ge=0, le=10**12)] | None = None
    limited: bool | None = None
    """Go on sparingly beyond the limits."""


class Spent(Wish):
    cost: Annotated[float, Meta(ge=0, le=1e12)] = 0.0
    tokens: Annotated[int, Meta(ge=0, le=10**12)] = 0


@route("GET", "/v1/sessions/{id}/budget", need="reader", tags=MONEY)
def get_budget(visit: Visit, id: str) -> Standing:
    """What was spent on a session, of what."""
    return session_of(visit, id).budget()


@route("PUT", "/v1/sessions/{id}/budget", need="writer", tags=MONEY, body={"cost": 5.0})
def set_budget(visit: Visit, id: str, data: Limits) -> Standing:
    """Set limits, or let it go on sparingly beyond them."""
    return session_of(visit, id).budget(cost=data.cost, tokens=data.tokens, limited=data.limited)


@route("POST", "/v1/sessions/{id}/spend", need="writer", tags=MONEY, body={"cost": 0.12, "tokens": 4_000})
def spend(visit: Visit, id: str, data: Spent) -> Standing | Interruption:
    """Count what was spent; at a limit the session is paused, and the answer says so."""
    return session_of(visit, id).spend(data.cost, data.tokens)


@route("GET", "/v1/spend", need="reader", tags=MONEY, errors=())
def get_spend(
    visit: Visit, session: Word = "", days: Annotated[int, Meta(ge=1, le=36_500)] = 30
) -> SpendingReport:
    """What models cost in this project, by day, session, purpose and model."""
    return visit.segue.spend(session=session, days=days)


ROUTES = [
    get_hold, take_hold, renew_hold, release_hold, list_agents, load_agent, save_agent, drop_agent,
    get_budget, set_budget, spend, get_spend,
]  # fmt: skip
