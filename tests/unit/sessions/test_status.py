"""What a state says to somebody who looks: derived, never stored."""

from __future__ import annotations

import pytest
from tests.unit.sessions.test_commands import CREATE, after

from segue.core.sessions import commands as do
from segue.core.sessions.status import card_of, hints_of, progress_of, status_of, summary_of


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
