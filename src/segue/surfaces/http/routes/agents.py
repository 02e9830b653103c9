"""`/v1/sessions/{id}/agents`: the states that agents keep in a session.

A state is any JSON value; with ``since``, a save replaces only a state that the caller has seen.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....core.base.text import clean_name
from ....core.sessions.state import AgentState
from ....errors import UnknownAgent
from ....services.sessions.repository import Saved
from ..server.parameters import INTEGER_MAX, Name, RequestBody
from ..server.route import Caller, route


class AgentList(msgspec.Struct):
    agents: dict[str, AgentState]


class AgentValue(RequestBody):
    """An agent's state."""

    value: Any
    since: Annotated[int, Meta(ge=0, le=INTEGER_MAX)] | None = None
    """The session's version at which the state was last seen; without it, any state is replaced."""


class LoadedAgent(msgspec.Struct):
    agent: str
    version: int
    """The session's version, for ``since``."""
    value: Any


@route("GET", "/v1/sessions/{id}/agents", role="reader")
def list_agents(caller: Caller, id: str) -> AgentList:
    """The facts about a session's agents, by name; their states have routes of their own."""
    return AgentList(caller.session(id).state.agents)


@route(
    "GET", "/v1/sessions/{id}/agents/{agent}", role="reader",
    response={"agent": "planner", "version": 9, "value": {"queue": ["a", "b"]}},
)  # fmt: skip
def load_agent(caller: Caller, id: str, agent: Name) -> LoadedAgent:
    """An agent's state as it was last saved."""
    session = caller.session(id)
    version = session.state.version
    return LoadedAgent(agent, version, session.load_agent(agent))


@route(
    "PUT", "/v1/sessions/{id}/agents/{agent}", role="writer",
    body={"value": {"queue": ["a", "b"]}, "since": 9},
)  # fmt: skip
def save_agent(caller: Caller, id: str, agent: Name, body: AgentValue) -> Saved:
    """Save an agent's state: any JSON value, of which only what changed is stored. With ``since``, 409
    ``stale_version`` if somebody changed it after that version."""
    session = caller.session(id)
    caller.segue.workspace.agent_states.forget(
        session.id
    )  # clients may have seen other versions than this server
    return session.save_agent(clean_name(agent, what="agent's name"), body.value, since=body.since)


@route("DELETE", "/v1/sessions/{id}/agents/{agent}", role="writer")
def drop_agent(caller: Caller, id: str, agent: Name) -> Saved:
    """Drop an agent from the session; an undo reverts that."""
    session = caller.session(id)
    if agent not in session.state.agents:
        raise UnknownAgent(f"no agent {agent[:60]} in {session.id}", hint="GET …/agents lists them")
    return session.drop_agent(agent)
