"""Items and questions that were named and not there: what was probably meant."""

from __future__ import annotations

import pytest

from segue import Segue
from segue.core.sessions import commands as do
from segue.core.sessions.near_miss import ROWS_MAX, NearMiss, names_rows, near_misses
from segue.core.sessions.state import SessionState


@pytest.fixture
def state(seg: Segue) -> SessionState:
    session = seg.start("Refactor auth", items=["user model", "auth middleware"])
    session.ask("Who owns the OAuth app?")
    return session.state


@pytest.mark.parametrize(
    ("command", "number", "meant"),
    [
        (do.Done("usr model"), 1, "user model"),
        (do.Begin("auth midleware"), 2, "auth middleware"),
        (do.Done("2"), 2, "auth middleware"),
        (do.Add("user modell"), 1, "user model"),
        (do.Answer("Who owns the OAuth ap?", "ops"), 1, "Who owns the OAuth app?"),
    ],
)
def test_what_is_close_to_a_row_names_it(
    state: SessionState, command: do.Command, number: int, meant: str
) -> None:
    [found] = near_misses(state, [command])
    assert (found.number, found.meant, found.question) == (number, meant, isinstance(command, do.Answer))


@pytest.mark.parametrize(
    "command",
    [do.Done("User  Model"), do.Done("#1"), do.Done("write the docs"), do.Add("7"), do.Note("usr model")],
)
def test_what_is_there_or_plainly_new_is_no_miss(state: SessionState, command: do.Command) -> None:
    assert near_misses(state, [command]) == []


def test_a_number_that_no_item_has_and_a_question_that_nobody_asked_are_misses(state: SessionState) -> None:
    commands = [do.Done("9"), do.Answer("Why?", "because")]
    assert near_misses(state, commands) == [NearMiss("9", 2), NearMiss("Why?", 1, question=True)]


def test_very_long_plans_are_not_compared(seg: Segue) -> None:
    session = seg.start("g", items=[f"item {n}" for n in range(ROWS_MAX + 1)])
    assert near_misses(session.state, [do.Done("itm 3")]) == []


@pytest.mark.parametrize(
    ("number", "meant"), [("0", 0), ("1", 1), ("2", 2), ("3", 0)], ids=["none", "first", "last", "beyond"]
)
def test_a_number_alone_means_the_row_of_that_number_if_there_is_one(
    state: SessionState, number: str, meant: int
) -> None:
    [found] = near_misses(state, [do.Done(number)])
    assert (found.number, found.rows) == (meant, 2)


def test_a_plan_as_long_as_is_compared_still_is(seg: Segue) -> None:
    session = seg.start("g", items=[f"item {n}" for n in range(ROWS_MAX)])
    [found] = near_misses(session.state, [do.Done("itm 499")])
    assert (found.number, found.meant, found.rows) == (ROWS_MAX, "item 499", ROWS_MAX)


@pytest.mark.parametrize(("text", "close"), [("abcdefghxx", True), ("abcdefgxxx", False)])
def test_texts_are_close_if_four_fifths_of_their_letters_are_the_same(
    seg: Segue, text: str, close: bool
) -> None:
    session = seg.start("g", items=["abcdefghij"])
    assert bool(near_misses(session.state, [do.Done(text)])) is close


def test_only_commands_about_items_and_questions_name_rows() -> None:
    assert names_rows(do.Done("x")) and names_rows(do.Answer("q", "a")) and not names_rows(do.Note("x"))
