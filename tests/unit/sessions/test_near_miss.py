"""Items and questions that were named and not there: what was probably meant."""

from __future__ import annotations

import pytest

from segue import Segue
from segue.core.sessions import commands as do
from segue.core.sessions.near_miss import ROWS_MAX, NearMiss, near_misses
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
