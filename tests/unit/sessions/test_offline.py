"""Which commands may wait while a server cannot be reached, and what they are stored as."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.sessions.test_commands import CREATE, after

from segue.core.sessions import commands as do
from segue.core.sessions.commands import Refusal
from segue.core.sessions.feature_commands import AttestStep
from segue.core.sessions.offline import in_words, may_wait, spelt_out, waiting_union

SEEN = after(CREATE, do.Ask("why?"), do.Ask("who?"))


@pytest.mark.parametrize(
    "command",
    [
        do.Done("one"), do.Done("#1"), do.Note("x"), do.Decide("x"), do.Answer("#1", "x"), do.Learn("x"),
        do.Describe(goal="x"), do.Mark("m"), do.Focus(file="f"), do.Count({"searches_performed": 1.0}),
    ],
    ids=lambda command: type(command).__name__,
)  # fmt: skip
def test_what_can_be_decided_later_may_wait(command: do.Command) -> None:
    assert may_wait([command], SEEN)


@pytest.mark.parametrize(
    "command",
    [
        CREATE, do.Pause(), do.Resume(), do.Complete(), do.Abandon(), do.Hand("codex"),
        do.SaveAgent("a", 1, ()), do.NoteAgent("a", {}), do.DropAgent("a"),
        AttestStep("f", "s", "ana", "seen"),
    ],
    ids=lambda command: type(command).__name__,
)  # fmt: skip
def test_what_depends_on_what_others_do_may_not_wait(command: do.Command) -> None:
    assert not may_wait([command], SEEN)
    assert not may_wait([do.Note("x"), command], SEEN), "all or none"


def test_nothing_at_all_does_not_wait() -> None:
    assert not may_wait([], SEEN)


def test_of_a_session_that_was_never_seen_only_what_adds_and_needs_no_number_may_wait() -> None:
    assert may_wait([do.Done("one"), do.Note("x"), do.Done("# one"), do.Done("1")], None)
    for command in (do.Describe(goal="x"), do.Mark("m"), do.Done("#1"), do.Answer("#1", "x")):
        assert not may_wait([do.Note("x"), command], None)


def test_numbers_are_stored_as_the_texts_that_they_meant() -> None:
    assert spelt_out(SEEN, do.Done("#1")) == do.Done("one")
    assert spelt_out(SEEN, do.Block("#3", "why")) == do.Block("three", "why")
    assert spelt_out(SEEN, do.Answer("#1", "so")) == do.Answer("why?", "so")
    assert spelt_out(SEEN, do.Answer("#2", "so")) == do.Answer("who?", "so")
    assert spelt_out(SEEN, do.Done("one")) == do.Done("one")
    assert spelt_out(None, do.Done("#1")) == do.Done("#1")


@pytest.mark.parametrize(
    "command", [do.Done("#0"), do.Done("#4"), do.Answer("#0", "so"), do.Answer("#3", "so")]
)
def test_a_number_of_nothing_is_refused_before_it_waits(command: do.Command) -> None:
    outcome = spelt_out(SEEN, command)
    assert isinstance(outcome, Refusal) and outcome.code == "usage"


def test_a_command_that_waits_is_read_back_as_it_was() -> None:
    for command in (do.Done("one"), do.Block("one", "why", stay=True), do.Describe(goal="x")):
        assert msgspec.json.decode(msgspec.json.encode(command), type=waiting_union()) == command


def test_commands_are_told_in_words_without_flags_and_what_is_empty() -> None:
    commands = [do.Block("one", "no key", stay=True), do.Decide("HS256"), do.Begin("two", quiet=True)]
    assert in_words(commands) == "block one · no key; decide HS256; begin two"
