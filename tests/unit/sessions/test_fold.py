"""fold: what a session is, given its events; total, pure, and kind to the unknown."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.sessions.test_commands import AT, CREATE, after

from segue.core import event_kinds as ev
from segue.core.base import canonical
from segue.core.sessions import commands as do, snapshot
from segue.core.sessions.fold import fold
from segue.core.sessions.rewind import apply, difference
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
    assert again.active == (1,) and again.next == (3,)


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


def noted(state: SessionState, at: str) -> SessionState:
    [more] = ev.seal("session/s", state.version, bytes(32), [ev.draft(ev.Noted("n"), at=at, actor="u")])
    return fold(state, more)


@pytest.mark.parametrize(
    ("at", "seconds"),
    [
        ("2026-01-01T00:00:00.900000Z", 0.0),
        ("2026-01-01T00:00:59.000000Z", 59.0),
        ("2026-01-01T00:01:00.000000Z", 60.0),
        ("2026-01-01T00:30:00.000000Z", 1800.0),
        ("2026-01-01T00:30:01.000000Z", 0.0),
        ("2026-01-02 of some clock", 0.0),
        ("2025-12-31T23:59:00.000000Z", 0.0),
    ],
)
def test_active_time_is_counted_in_whole_seconds_up_to_half_an_hour(at: str, seconds: float) -> None:
    begun = fold_all(events(ev.Created("s", "g", "o", "p", "coding"), ev.Started()))
    assert noted(begun, at).active_seconds == seconds


def test_time_in_a_pause_is_not_active_and_active_time_adds_up() -> None:
    begun = fold_all(events(ev.Created("s", "g", "o", "p", "coding"), ev.Started()))
    ten = noted(noted(begun, "2026-01-01T00:00:04.000000Z"), "2026-01-01T00:00:10.000000Z")
    assert ten.active_seconds == 10.0
    paused = fold_all(events(ev.Created("s", "g", "o", "p", "coding"), ev.Started(), ev.SessionPaused()))
    assert noted(paused, LATER).active_seconds == 0.0


def test_an_event_of_an_earlier_time_does_not_turn_the_clock_back() -> None:
    state = noted(fold_all(events(ev.Created("s", "g", "o", "p", "coding"), at=LATER)), AT)
    assert (state.updated, state.version) == (LATER, 2)


def test_an_item_that_comes_back_stands_in_its_old_place_among_the_others() -> None:
    state = after(CREATE, do.Begin("three"), do.Begin("one"), do.Begin("two"))
    assert state.active == (0, 1, 2)
    state = after(do.Block("two"), state=state)
    assert state.active == (0, 2) and state.blocked == (1,) and state.next == ()


def test_a_session_that_was_just_begun_has_counted_loaded_and_spent_nothing() -> None:
    state = after(CREATE)
    for part in (state.metrics, state.context, state.budget):
        assert not any(msgspec.structs.astuple(part)), part
    assert (state.unknown, state.active_seconds, SessionState().version) == (0, 0.0, 0)


def test_an_agent_of_whom_nothing_is_known_has_no_process_and_no_state() -> None:
    agent = fold_all(events(ev.AgentNoted("a", {}))).agents["a"]
    assert not any(msgspec.structs.astuple(agent))


def test_an_event_that_names_no_amount_adds_none() -> None:
    state = fold_all(events(ev.BudgetSpent(), ev.NotesLoaded(["a"])))
    assert (state.metrics.estimated_cost, state.budget.tokens_used) == (0.0, 0)
    assert state.context.total_tokens_loaded == 0


def test_repeating_an_error_opens_it_again_in_its_place_and_a_solution_without_an_error_is_one() -> None:
    state = after(CREATE, do.Fail("a"), do.Fail("b"), do.Solve("A ", "so"), do.Solve("c", "thus"))
    assert [(t.text, t.solution) for t in state.troubles] == [("a", "so"), ("b", ""), ("c", "thus")]
    state = after(do.Fail("a"), do.Solve("C", "otherwise"), state=state)
    assert [(t.text, t.solution) for t in state.troubles] == [("a", ""), ("b", ""), ("c", "otherwise")]


def test_decisions_and_questions_are_counted_as_they_are_made() -> None:
    state = after(CREATE, do.Decide("a"), do.Decide("b"), do.Ask("q?"), do.Ask("r?"), do.Ask("s?"))
    assert (state.metrics.decisions_made, state.metrics.questions_asked) == (2, 3)


def test_an_answer_to_what_nobody_asked_is_kept_with_its_question() -> None:
    state = after(CREATE, do.Answer("Why?", "so"), do.Answer("why? ", "thus"))
    assert [(q.text, q.answer) for q in state.questions] == [("Why?", "thus")]
    assert state.metrics.questions_asked == 0 and after(CREATE, do.Ask("q?")).metrics.questions_asked == 1


def test_a_thread_collects_its_notes_and_has_the_status_of_its_last_move() -> None:
    state = after(CREATE, do.Thread("t", notes=("a", "b")), do.Thread("t", "done", ("b", "c")))
    assert (state.threads["t"].status, state.threads["t"].notes) == ("done", ("a", "b", "c"))


def test_notes_are_counted_each_time_that_they_are_loaded_and_keep_their_paths() -> None:
    state = after(CREATE, do.LoadNotes(("a",), 100, {"a": "a.md"}), do.LoadNotes(("a", "b"), 20))
    assert {name: (use.count, use.path) for name, use in state.notes.items()} == {
        "a": (2, "a.md"), "b": (1, ""),
    }  # fmt: skip
    assert state.context.total_tokens_loaded == 120
    assert after(do.LoadNotes(("b",)), state=state).context.total_tokens_loaded == 120


def test_a_sum_that_cannot_be_stored_is_not_taken_and_the_rest_is() -> None:
    most = 2**63 - 1
    state = after(CREATE, do.LoadNotes(("a",), most))
    assert state.context.total_tokens_loaded == most
    more = after(do.LoadNotes(("a",), 1), state=state)
    assert (more.context.total_tokens_loaded, more.notes["a"].count) == (most, 2)
    used = fold_all(events(ev.BudgetSpent(0.5, most), ev.BudgetSpent(0.25, 1)))
    assert (used.budget.tokens_used, used.metrics.estimated_cost) == (most, 0.75)


def test_counters_add_up_whole_or_in_parts_and_skip_what_is_no_number() -> None:
    counts = {"searches_performed": 2.0, "estimated_cost": 0.1, "unheard_of": 1.0}
    state = fold_all(events(ev.Counted(counts), ev.Counted({**counts, "notes_created": 1.9})))
    assert (state.metrics.searches_performed, state.metrics.notes_created) == (4, 1)
    assert state.metrics.estimated_cost == 0.2
    endless = fold_all(events(ev.Counted({"searches_performed": 2.0**63, "estimated_cost": 1.0})))
    assert (endless.metrics.searches_performed, endless.metrics.estimated_cost) == (0, 1.0)


@pytest.mark.parametrize(
    ("values", "taken"),
    [
        ({"pid": 7}, True), ({"pid": True}, False), ({"pid": 7.0}, False), ({"active": 1}, False),
        ({"pid": 2**63 - 1}, True), ({"pid": 2**63}, False), ({"pid": -(2**63)}, True),
        ({"pid": -(2**63) - 1}, False), ({"mode": 1}, False), ({"saved_at": "x"}, False),
    ],
)  # fmt: skip
def test_a_fact_about_an_agent_is_taken_if_it_has_the_type_of_its_field_and_can_be_stored(
    values: dict[str, object], taken: bool
) -> None:
    empty = fold_all(events(ev.AgentNoted("a", {}))).agents["a"]
    agent = fold_all(events(ev.AgentNoted("a", values))).agents["a"]
    assert (agent != empty) is taken


def test_an_imported_session_takes_over_its_life_and_nothing_else() -> None:
    life = {"status": "paused", "created": "2020", "active_seconds": 60, "goal": "another", "ended": 5}
    state = fold_all(events(ev.Created("s", "g", "o", "p", "coding"), ev.Imported(life)))
    assert (state.status, state.created, state.active_seconds) == ("paused", "2020", 60)
    assert (state.goal, state.ended) == ("g", "")


def test_pieces_of_an_agents_value_are_spliced_in_the_order_of_the_event() -> None:
    first = ev.AgentSaved("a", 3, [(0, 0, ["aa", "bb", "cc"])])
    second = ev.AgentSaved("a", 4, [(1, 1, ["xx", "yy"]), (0, 1, [])])
    agent = fold_all(events(first, second)).agents["a"]
    assert (agent.pieces, agent.size) == (("xx", "yy", "cc"), 4)


def test_handing_a_session_over_is_the_last_action_with_its_note() -> None:
    state = after(CREATE, do.Hand("codex"))
    assert state.last_action == "handed to codex"
    assert after(do.Hand("gemini", "tests fail"), state=state).last_action == "handed to gemini: tests fail"
    assert [handing.to for handing in after(do.Hand("gemini"), state=state).handed] == ["codex", "gemini"]


def test_a_command_that_was_refused_after_waiting_is_an_open_error() -> None:
    state = fold_all(events(ev.PendingRefused("done one", "the session is over")))
    assert [trouble.text for trouble in state.troubles] == ["not kept: done one (the session is over)"]


def test_a_summary_at_the_end_replaces_the_one_before_unless_it_is_empty() -> None:
    state = after(CREATE, do.Describe(summary="before"))
    assert after(do.Complete(), state=state).summary == "before"
    assert after(do.Complete("at the end"), state=state).summary == "at the end"


def test_resuming_forgets_why_it_was_paused() -> None:
    state = after(CREATE, do.Pause("lunch", "budget"))
    assert (state.paused, state.pause_reason, state.pause_cause) == (AT, "lunch", "budget")
    resumed = after(do.Resume(), state=state)
    assert (resumed.paused, resumed.pause_reason, resumed.pause_cause) == ("", "", "")


def test_what_a_recovery_could_not_restore_is_listed() -> None:
    assert fold_all(events(ev.Gap(3, 5), ev.Gap(9, 9))).gaps == ((3, 5), (9, 9))


# -- going back -------------------------------------------------------------------------------------


def test_going_back_restores_every_list_of_items_and_the_order_in_which_they_were_done() -> None:
    then = after(CREATE, do.Done("three"), do.Done("one"), do.Block("two"), do.Begin("four"))
    now = after(do.Drop("three"), do.Unblock("two"), do.Done("four"), do.Add("five"), state=then)
    back = after(do.Rewind(then.version, then, "m"), state=now)
    assert back.next == () and back.active == (3,) and back.blocked == (1,) and list(back.done) == [2, 0]
    assert back.items == then.items


def test_a_patch_keeps_the_rows_before_the_first_difference() -> None:
    then = after(CREATE, do.Decide("a"), do.Decide("b"))
    now = after(do.Decide("c"), do.Done("two"), state=then)
    patch = difference(now, then, lifecycle=False)
    assert patch["decisions"] == {"keep": 2, "rows": []} and patch["items"]["keep"] == 1
    assert "goal" not in patch and "status" not in patch


def test_a_patch_of_another_state_names_no_item_that_is_not_there() -> None:
    short = after(do.Create("i", "g", "o", "p", items=("one",)))
    changes = apply(short, {"next": [0, 1, 2], "active": [-1], "done": {"keep": 0, "rows": [0, 5]}})
    assert (changes["next"], changes["active"], list(changes["done"])) == ((0,), (), [0])
    patched = fold(short, events(ev.Rewound(1, {"next": [0, 1], "done": {"keep": 0, "rows": [0, 5]}}))[0])
    assert patched.next == (0,) and not patched.done, "the items themselves say where they stand"


def test_a_malformed_part_of_a_patch_is_ignored_and_the_rest_is_applied() -> None:
    changes = apply(after(CREATE), {"goal": 5, "items": {"rows": "x"}, "summary": "kept", "version": 9})
    assert changes == {"summary": "kept"}


# -- snapshots --------------------------------------------------------------------------------------


def test_a_snapshot_that_was_damaged_anywhere_is_not_believed() -> None:
    body = snapshot.sealed(snapshot.encode(after(CREATE)))
    assert snapshot.unsealed(body) == snapshot.encode(after(CREATE))
    for place in (0, 15, 16, len(body) - 1):
        damaged = bytearray(body)
        damaged[place] ^= 1
        with pytest.raises(msgspec.DecodeError):
            snapshot.unsealed(bytes(damaged))


def test_a_snapshot_of_a_state_is_that_state() -> None:
    state = after(CREATE, do.Done("one"), do.Thread("t", notes=("n",)), do.Mark("m"), do.Fail("e"))
    assert snapshot.decode(snapshot.encode(state)) == state


def test_rows_are_found_by_any_spelling_also_in_a_state_that_comes_from_a_snapshot() -> None:
    spelt = (
        do.Add("Write  Docs"), do.Ask("Why Now?"), do.Answer("Who Else?", "nobody"),
        do.Fail("Disk Full"), do.Solve("Net Down", "waited"),
    )  # fmt: skip
    state = snapshot.decode(snapshot.encode(after(CREATE, *spelt)))
    again = after(
        do.Done("write docs"), do.Answer("WHY now?", "because"), do.Answer("who else?", "somebody"),
        do.Solve("disk full", "deleted"), do.Fail("net DOWN"), state=state,
    )  # fmt: skip
    assert [item.text for item in again.items][3:] == ["Write  Docs"]
    assert [(q.text, q.answer) for q in again.questions] == [
        ("Why Now?", "because"), ("Who Else?", "somebody"),
    ]  # fmt: skip
    assert [(t.text, t.solution) for t in again.troubles] == [("Disk Full", "deleted"), ("Net Down", "")]


def test_equal_states_have_equal_bytes_also_after_a_snapshot() -> None:
    state = after(CREATE, do.Done("one"))
    assert snapshot.encode(snapshot.decode(snapshot.encode(state))) == snapshot.encode(state)
