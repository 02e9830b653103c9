"""States of agents: saved whole or not at all, never over what somebody else saved, and told when damaged."""

from __future__ import annotations

import threading

import pytest

from segue.api.segue import Segue
from segue.errors import DamagedError, StaleVersion, UnknownAgent
from segue.stores.memory.store import VolatileStore


def test_an_agents_state_that_another_process_changed_is_not_run_over(two: tuple[Segue, Segue]) -> None:
    a, b = (seg.session("s") for seg in two)
    a.save_agent("agent", {"by": "a"})
    assert b.load_agent("agent") == {"by": "a"}
    a.save_agent("agent", {"by": "a", "again": True})
    with pytest.raises(StaleVersion):
        b.save_agent("agent", {"by": "b"})
    assert b.load_agent("agent") == {"by": "a", "again": True}
    b.save_agent("agent", {"by": "b"})
    assert a.load_agent("agent") == {"by": "b"}


def test_going_back_ourselves_is_no_conflict_with_the_state_of_an_agent(two: tuple[Segue, Segue]) -> None:
    s = two[0].session("s")
    s.save_agent("agent", {"step": 1})
    s.save_agent("agent", {"step": 2})
    s.undo()
    assert s.load_agent("agent") == {"step": 1}
    s.save_agent("agent", {"step": 3})
    s.drop_agent("agent")
    s.save_agent("agent", {"step": 4})
    assert s.load_agent("agent") == {"step": 4}


def test_an_agents_state_is_not_acknowledged_while_the_store_has_another(two: tuple[Segue, Segue]) -> None:
    a, b = (seg.session("s") for seg in two)
    a.save_agent("agent", {"v": "A"})
    b.load_agent("agent")
    b.save_agent("agent", {"v": "B"})
    with pytest.raises(StaleVersion):
        a.save_agent("agent", {"v": "A"})
    assert b.load_agent("agent") == {"v": "B"}


def test_two_threads_that_save_one_agents_state_leave_one_of_their_values(two: tuple[Segue, Segue]) -> None:
    session = two[0].session("s")

    def save(name: str) -> None:
        for step in range(40):
            session.save_agent("agent", {"rows": [f"{name} {step} {'x' * 600} {i}" for i in range(20)]})

    threads = [threading.Thread(target=save, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = two[1].session("s").load_agent("agent")["rows"]
    assert len({row.split()[0] for row in rows}) == 1 and len(rows) == 20


def test_an_agents_state_that_is_the_same_is_not_saved_again(two: tuple[Segue, Segue]) -> None:
    session = two[0].session("s")
    first = session.save_agent("agent", {"step": 1})
    assert first.events == 1
    again = session.save_agent("agent", {"step": 1})
    assert (again.events, again.version) == (0, first.version)
    assert session.save_agent("agent", {}).events == 1


def test_whoever_says_what_it_has_seen_is_refused_only_if_the_agent_was_changed_since(
    two: tuple[Segue, Segue],
) -> None:
    a, b = (seg.session("s") for seg in two)
    seen = a.save_agent("agent", {"step": 1}).version
    b.note("something else")
    b.save_agent("another", {"step": 1})
    assert a.save_agent("agent", {"step": 2}, since=seen).events == 1
    with pytest.raises(StaleVersion) as raised:
        a.save_agent("agent", {"step": 3}, since=seen)
    assert raised.value.expected == seen
    with pytest.raises(StaleVersion):
        a.save_agent("agent", {"step": 3}, since=a.state.version + 1)
    assert a.save_agent("agent", {"step": 3}, since=a.state.version).events == 1


def test_an_agent_of_which_only_facts_are_known_has_no_state(two: tuple[Segue, Segue]) -> None:
    session = two[0].session("s")
    session.note_agent("agent", mode="plan")
    with pytest.raises(UnknownAgent):
        session.load_agent("agent")


def test_an_agents_state_of_which_a_piece_is_lost_is_told_and_can_be_saved_anew(
    two: tuple[Segue, Segue], journal: VolatileStore
) -> None:
    two[0].session("s").save_agent("agent", {"rows": ["x" * 3000, "y" * 3000]})
    lost = two[0].session("s").state.agents["agent"].pieces[0]
    del journal._pieces[lost]
    other = two[1].session("s")
    with pytest.raises(DamagedError, match="1 of its pieces"):
        other.load_agent("agent")
    other.save_agent("agent", {"rows": []})
    assert other.load_agent("agent") == {"rows": []}
