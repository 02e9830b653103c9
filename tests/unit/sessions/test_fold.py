"""fold: what a session is, given its events; total, pure, and kind to the unknown."""

from __future__ import annotations

import pytest
from tests.unit.sessions.test_commands import AT, CREATE, after

from segue.core import event_kinds as ev
from segue.core.base import canonical
from segue.core.sessions import commands as do, snapshot
from segue.core.sessions.fold import fold
from segue.core.sessions.state import SessionState
from segue.services.sessions.repository import fold_all

LATER = "2026-01-01T00:10:00.000000Z"


def events(*bodies: ev.Body, at: str = AT) -> list[ev.Event]:
    return ev.seal("session/s", 0, canonical.GENESIS, [ev.draft(b, at=at, actor="codex") for b in bodies])


def test_an_unknown_kind_and_a_newer_format_are_counted_and_skipped() -> None:
    known = ev.draft(ev.Noted("x"), at=AT, actor="u")
    future = ev.Draft("future.kind", b'{"x":1}', AT, "u")
    newer = ev.Draft(ev.Noted.KIND, known.body, AT, "u", format=99)
    broken = ev.Draft(ev.Noted.KIND, b"\xff not json", AT, "u")
    state = fold_all(ev.seal("s", 0, canonical.GENESIS, [known, future, newer, broken]))
    assert (state.unknown, state.version, state.last_action) == (3, 4, "x")


def test_an_older_format_is_lifted_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ev.Noted, "FORMAT", 3)
    monkeypatch.setitem(ev.UPCASTS, (ev.Noted.KIND, 1), lambda raw: {"said": raw["t"]})
    monkeypatch.setitem(ev.UPCASTS, (ev.Noted.KIND, 2), lambda raw: {"text": raw["said"] + "!"})
    old = ev.Draft(ev.Noted.KIND, b'{"t":"hi"}', AT, "u", format=1)
    [sealed] = ev.seal("s", 0, canonical.GENESIS, [old])
    assert fold(SessionState(), sealed).last_action == "hi!"


@pytest.mark.parametrize("kind", sorted(ev.BODIES))
def test_folding_any_kind_into_an_empty_state_gives_a_state(kind: str) -> None:
    samples = {"str": "x", "int": 9, "list[int]": [1], "list[str]": ["00"], "dict[str, Any]": {"zz": 1},
               "dict[str, float]": {"zz": 1.0}, "list[tuple[str, str]]": [["a", "b"]],
               "list[tuple[int, int, list[str]]]": [[5, 5, ["00"]]]}  # fmt: skip
    body_type = ev.BODIES[kind]
    body = {n: samples[t] for n, t in body_type.__annotations__.items() if n.islower() and t in samples}
    [sealed] = ev.seal("s", 0, canonical.GENESIS, [ev.Draft(kind, canonical.encode(body), AT, "u")])
    assert fold(SessionState(), sealed).version == 1


def test_items_move_between_their_lists_and_keep_their_place_in_the_plan() -> None:
    state = after(CREATE, do.Begin("two"), do.Done("two"), do.Begin("one"), do.Done("one"), do.Unblock("x"))
    assert [i.text for i in state.items] == ["one", "two", "three", "x"]
    assert [state.items[i].text for i in state.done] == ["two", "one"]
    assert [state.items[i].text for i in state.next] == ["three", "x"]
    again = after(do.Begin("two"), do.Drop("three"), state=state)
    assert [again.items[i].text for i in again.done] == ["one"]
    assert (again.active, again.next) == ((1,), (3,))


def test_a_fold_leaves_the_state_of_before_alone() -> None:
    before = after(CREATE)
    bytes_before = snapshot.encode(before)
    after(do.Done("one"), do.Decide("d"), do.Thread("t"), do.NoteAgent("a", {"mode": "x"}), state=before)
    assert snapshot.encode(before) == bytes_before


def test_only_known_fields_of_the_right_type_are_taken_over() -> None:
    values = {"mode": "plan", "pid": "not a number", "nonsense": 1, "active": True, "size": 99}
    state = fold_all(events(ev.Created("s", "g", "o", "p", "coding"), ev.AgentNoted("a", values)))
    agent = state.agents["a"]
    assert (agent.mode, agent.pid, agent.active, agent.size) == ("plan", 0, True, 0)


def test_time_counts_as_active_unless_the_silence_was_long() -> None:
    first = events(ev.Created("s", "g", "o", "p", "coding"), ev.Started())
    state = fold_all(first)
    for at in (LATER, "2026-01-01T05:00:00.000000Z", "2026-01-01T05:01:00.000000Z"):
        [more] = ev.seal("session/s", state.version, bytes(32), [ev.draft(ev.Noted("n"), at=at, actor="u")])
        state = fold(state, more)
    assert state.active_seconds == 660.0


def test_a_snapshot_of_a_state_is_that_state() -> None:
    state = after(CREATE, do.Done("one"), do.Thread("t", notes=("n",)), do.Mark("m"), do.Fail("e"))
    assert snapshot.decode(snapshot.encode(state)) == state


def test_equal_states_have_equal_bytes_also_after_a_snapshot() -> None:
    state = after(CREATE, do.Done("one"))
    assert snapshot.encode(snapshot.decode(snapshot.encode(state))) == snapshot.encode(state)
