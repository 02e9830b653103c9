"""What of a command is cleaned, what may be empty, and what cannot be stored."""

from __future__ import annotations

import pytest

from segue.core.features.checks import Check
from segue.core.sessions import commands as do
from segue.core.sessions.cleaning import clean_command
from segue.core.sessions.feature_commands import AddFeature, MoveFeature
from segue.core.sessions.state import SessionState
from segue.errors import UsageError


def mask(text: str) -> str:
    return text.replace("s3cret", "***")


def test_a_command_whose_texts_are_clean_is_the_same_one() -> None:
    for command in (
        do.Done("one"),
        do.Thread("topic", notes=("a", "b")),
        do.Decide("use HS256", "one issuer"),
    ):
        assert clean_command(command) == command


def test_a_long_text_of_harmless_words_is_looked_through_too() -> None:
    words = "word " * 100 + "s3cret"
    assert clean_command(do.Note(words), mask).text.endswith("***")


@pytest.mark.parametrize(
    "command",
    [
        do.Pause(" ", "user"), do.Decide("d", "\x00"), do.Drop("item", " "), do.Complete(" "),
        do.Mark("m", " "), do.Focus(file="\x07", position=" "), do.Hand("codex", " "), do.Thread("t", ""),
        MoveFeature("f", "failing", " "), do.Create("id", " ", "o", "p"),
    ],
    ids=lambda command: type(command).__name__,
)  # fmt: skip
def test_a_reason_a_note_a_place_and_what_is_begun_may_be_empty(command: do.Command) -> None:
    assert type(clean_command(command)) is type(command)


@pytest.mark.parametrize(
    "command",
    [do.Begin("\x07"), do.Learn(" "), do.Fail(""), do.Solve("e", " "), do.Ask("\n"), do.Describe(goal=" "),
     do.Hand(" "), do.Mark(""), AddFeature("f", " ")],
    ids=lambda command: type(command).__name__,
)  # fmt: skip
def test_what_a_command_is_about_may_not_be_empty(command: do.Command) -> None:
    with pytest.raises(UsageError, match="is empty"):
        clean_command(command)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 2048, float("inf"), float("nan")])
def test_a_number_that_cannot_be_stored_is_refused_by_the_name_of_its_field(number: float) -> None:
    with pytest.raises(UsageError, match=r"values: .* cannot be stored"):
        clean_command(do.NoteContext({"commits_count": [number]}))


@pytest.mark.parametrize("number", [2**62, -(2**63), 0, -1.5, True])
def test_a_number_that_fits_stays_as_it_is(number: float) -> None:
    command = do.NoteContext({"commits_count": {"deep": (number,)}})
    assert clean_command(command) == command


def test_what_must_stay_byte_for_byte_is_not_cleaned() -> None:
    state = SessionState(goal="s3cret\x07")
    assert clean_command(do.Rewind(1, state, "s3cret"), mask).then is state
    splices = ((0, 0, ["s3cret"]),)
    assert clean_command(do.SaveAgent("a", 1, splices), mask).splices == splices


@pytest.mark.parametrize(
    "check",
    [
        Check(("curl", "s3cret")), Check(("true",), environment={"TOKEN": "s3cret"}),
        Check(("true",), folder="a\x07"),
        Check(("true",), pattern="s3cret"), Check(("true",), environment={"s3cret": "x"}),
    ],
)  # fmt: skip
def test_a_check_that_would_have_to_be_changed_is_refused(check: Check) -> None:
    with pytest.raises(UsageError, match="contains a secret or control characters"):
        clean_command(AddFeature("f", "d", checks=(check,)), mask)


def test_a_check_that_is_clean_stays_as_it_is() -> None:
    check = Check(("grep", " x ", "a b"), environment={"LANG": "C"}, folder="sub", pattern=r"\d+ passed")
    assert clean_command(AddFeature("f", "d", checks=(check,)), mask).checks == (check,)
