"""What a state says to somebody who looks: derived, never stored."""

from __future__ import annotations

import pytest
from tests.unit.sessions.test_commands import CREATE, after

from segue.core import event_kinds as ev
from segue.core.sessions import commands as do
from segue.core.sessions.fold import fold_body
from segue.core.sessions.state import SessionState
from segue.core.sessions.status import card_of, hints_of, last_active_of, progress_of, status_of, summary_of


@pytest.mark.parametrize(
    ("commands", "done", "total", "percent"),
    [
        ((), 0, 3, 0),
        ((do.Done("one"),), 1, 3, 33),
        ((do.Done("one"), do.Drop("two")), 1, 2, 50),
        ((do.Done("one"), do.Done("two"), do.Done("three")), 3, 3, 100),
        ((do.Block("one", "x"), do.Begin("two")), 0, 3, 0),
        ((do.Drop("one"), do.Drop("two"), do.Drop("three")), 0, 0, 0),
    ],
)
def test_progress_counts_what_was_not_dropped(
    commands: tuple[do.Command, ...], done: int, total: int, percent: int
) -> None:
    progress = progress_of(after(CREATE, *commands))
    assert (progress.done, progress.total, progress.percent) == (done, total, percent)


def test_the_summary_is_the_goal_and_how_far_it_is_unless_one_was_given() -> None:
    assert summary_of(after(CREATE, do.Done("one"))) == "goal - 1/3"
    assert summary_of(after(CREATE, do.Describe(summary="own words"))) == "own words"
    assert summary_of(after(do.Create("i", "goal", "o", "p"))) == "goal"


def test_status_names_each_item_where_it_stands() -> None:
    state = after(CREATE, do.Done("two"), do.Begin("one"), do.Block("wait", "for keys"), do.Drop("not this"))
    status = status_of(state, held_by="claude")
    assert (status.done, status.active, status.next) == (["two"], ["one"], ["three"])
    assert [(b.item, b.reason) for b in status.blocked] == [("wait", "for keys")]
    assert status.dropped == ["not this"] and status.held_by == "claude"


def test_only_open_questions_and_errors_are_shown() -> None:
    state = after(
        CREATE, do.Ask("open?"), do.Ask("shut?"), do.Answer("SHUT? ", "yes"),
        do.Fail("open error"), do.Fail("mended"), do.Solve("mended", "so"),
    )  # fmt: skip
    status = status_of(state)
    assert [q.text for q in status.questions] == ["open?"]
    assert [t.text for t in status.errors] == ["open error"]


def test_hints_name_the_most_used_notes_and_what_to_do_first() -> None:
    state = after(
        CREATE, do.LoadNotes(("a", "b")), do.LoadNotes(("b",)), do.Ask("why?"), do.Thread("topic"),
        do.Thread("closed", "done"), do.SeeChanges((("f.py", "modified"),)),
    )  # fmt: skip
    hints = hints_of(state)
    assert hints.recommended_notes == ["b", "a"] and hints.open_questions == ["why?"]
    assert hints.next_actions == ["Commit uncommitted changes", "Continue: topic", "Begin: one"]
    assert hints_of(after(do.Begin("two"), state=state)).next_actions[0] == "Continue: two"


def test_a_card_is_the_session_in_a_line() -> None:
    card = card_of(after(CREATE, do.Done("one"), do.Begin("two")))
    assert (card.id, card.status, card.done, card.total, card.active) == ("id", "active", 1, 3, "two")


def test_at_most_five_notes_and_questions_are_recommended() -> None:
    state = after(CREATE, do.LoadNotes(tuple("fedcba")), *(do.Ask(f"{letter}?") for letter in "abcdef"))
    hints = hints_of(state)
    assert hints.recommended_notes == list("abcde") and hints.open_questions == [f"{c}?" for c in "abcde"]


def test_only_the_first_of_what_is_planned_is_recommended_and_only_while_nothing_is_active() -> None:
    assert hints_of(after(CREATE)).next_actions == ["Begin: one"]
    busy = after(CREATE, do.Begin("two"), do.Begin("three"))
    assert hints_of(busy).next_actions == ["Continue: two", "Continue: three"]


def at(state: SessionState, moment: str, *bodies: ev.Body) -> SessionState:
    for body in bodies:
        state = fold_body(state, body, version=state.version + 1, at=moment, actor="user")
    return state


def test_threads_are_shown_by_their_last_activity_and_then_by_name_backwards() -> None:
    state = at(after(CREATE), "2026-01-01T00:00:01.000000Z", ev.ThreadMoved("a"), ev.ThreadMoved("b"))
    state = at(state, "2026-01-01T00:00:02.000000Z", ev.ThreadMoved("old"))
    assert [thread.topic for thread in status_of(state).threads] == ["old", "b", "a"]


def test_a_session_was_last_active_when_it_was_paused_or_ended_or_at_its_last_event() -> None:
    first, later = "2026-01-01T00:00:05.000000Z", "2026-01-01T00:00:09.000000Z"
    working = at(after(CREATE), first, ev.Noted("x"))
    assert last_active_of(working) == first
    assert last_active_of(at(at(working, first, ev.SessionPaused()), later, ev.Noted("y"))) == first
    assert last_active_of(at(at(working, first, ev.Completed()), later, ev.Described(summary="s"))) == first
    assert last_active_of(SessionState(created="2020", started="2021")) == "2021"
    assert last_active_of(SessionState(created="2020")) == "2020"


def test_active_time_is_shown_in_minutes_and_tenths() -> None:
    assert status_of(SessionState(active_seconds=100.0)).lifecycle.active_minutes == 1.7


def test_checkpoints_are_shown_in_the_order_in_which_they_were_last_set_and_the_last_heir_is_named() -> None:
    state = after(CREATE, do.Mark("b"), do.Mark("a"), do.Mark("b"), do.Hand("codex"), do.Hand("gemini"))
    assert status_of(state).checkpoints == ["a", "b"] and status_of(state).handed_to == "gemini"
    assert status_of(after(CREATE)).handed_to == "" and status_of(after(CREATE)).dropped == []


def test_a_card_names_the_first_of_what_is_active() -> None:
    assert card_of(after(CREATE, do.Begin("three"), do.Begin("two"))).active == "two"
    assert card_of(after(CREATE)).active == ""
