"""Saving an agent's state in pieces is held to saving it whole: any edits, by several programs at once.

Each program has a repository and ropes of its own on one store. A program that has not seen the newest state
is refused and loses nothing; whoever is not refused has saved exactly what a save of the whole value into a
fresh agent would have saved.
"""

from __future__ import annotations

from typing import Any

from hypothesis import Phase, given, settings, strategies as st
from tests.properties.test_pieces import edits, entries, exact, message, values

from segue.core.journal import pieces
from segue.core.sessions import commands as do
from segue.errors import StaleVersion
from segue.services.sessions.agent_states import AgentStates
from segue.services.sessions.repository import Saved, SessionRepository, fold_all, stream_of
from segue.stores.memory.store import VolatileStore

talks = st.integers(16, 30).map(lambda count: {"turns": [message(number) for number in range(count)]})


class Program:
    """Somebody who saves and loads the states of agents."""

    def __init__(self, store: VolatileStore, name: str = "a") -> None:
        self.repository = SessionRepository(store, actor=name)
        self.states = AgentStates(self.repository)
        self.seen: Any = None
        """The state that this one last saw, exactly; None if it saw none."""
        self.since = 0
        """The version at which that was saved; 0 if it saw none."""

    def save(self, agent: str, value: Any) -> Saved:
        return self.states.save("s", agent, value, commit=self._commit)

    def _commit(self, commands: Any, **more: Any) -> Saved:
        return self.repository.commit("s", commands, **more)

    def load(self, agent: str) -> Any:
        return self.states.load("s", agent)


def begun(store: VolatileStore) -> None:
    SessionRepository(store, actor="a").commit("s", [do.Create("s", "goal", "acme", "web")])


def saved_whole(store: VolatileStore, agent: str, value: Any) -> Any:
    """What a fresh agent's state is after a save of the whole value by a program that knows nothing."""
    Program(store).save(agent, value)
    return Program(store).load(agent)


@settings(max_examples=100, deadline=None, phases=[Phase.reuse, Phase.generate])  # shrinking takes minutes
@given(st.data())
def test_what_is_saved_in_pieces_is_what_is_saved_whole(data: st.DataObject) -> None:
    store = VolatileStore()
    begun(store)
    programs = [Program(store, name) for name in "abc"]
    value, version = data.draw(talks | entries | values, label="first"), 0
    for step in range(data.draw(st.integers(4, 16), label="steps")):
        who = data.draw(st.integers(0, 2), label="who")
        what = data.draw(st.sampled_from(["save", "save", "save", "load", "restart", "note"]), label="what")
        program = programs[who]
        if what == "restart":
            programs[who] = Program(store, "abc"[who])
        elif what == "note":
            program.repository.commit("s", [do.Note(f"note {step}")])
        elif what == "load" and version:
            assert exact(program.load("agent")) == exact(value)
            program.seen, program.since = exact(value), version
        elif what == "save":
            new = data.draw(edits(value) | st.just(value), label="value")
            try:
                saved = program.save("agent", new)
            except StaleVersion:
                assert program.since not in (0, version)
                program.seen = None  # it was told: what it saves from now on may take the place of that
                continue
            assert program.seen in (None, exact(value)) or exact(new) == exact(value)
            value, version = new, saved.version if saved.events else version
            program.seen, program.since = exact(value), version
    if not version:
        return
    plain = saved_whole(store, "plain", value)
    for program in (*programs, Program(store)):
        assert exact(program.load("agent")) == exact(value) == exact(plain)
    state = fold_all(store.read(stream_of("s")))
    agent, whole = state.agents["agent"], state.agents["plain"]
    assert agent.size == whole.size == len(pieces.encode(value))


def test_a_conversation_that_two_programs_lead_in_turns_is_stored_by_the_message() -> None:
    store = VolatileStore()
    begun(store)
    one, two = Program(store, "a"), Program(store, "b")
    turns = [message(number) for number in range(40)]
    one.save("agent", {"turns": turns})
    stored = len(store._pieces)
    for number in range(40, 60):
        program = (one, two)[number % 2]
        assert program.load("agent") == {"turns": turns}
        turns = [*turns[1:], message(number)]
        program.save("agent", {"turns": turns})
    assert exact(saved_whole(store, "plain", {"turns": turns})) == exact(one.load("agent"))
    assert len(store._pieces) <= stored + 21
