"""What a message leaves to the user, and what a short answer takes up."""

from __future__ import annotations

import pytest
from tests.support.briefs import GOAL, brief

from segue.core.brief.compose import compose
from segue.core.brief.facts import facts
from segue.core.runs.digest import decode, encode, fold
from segue.core.runs.open_questions import open_question, question_or_offer
from segue.core.runs.steps import Call, End, Prompt, Result, Rewind, Say, Step

OFFER = "If you want, I can make the importer skip rows without a customer."


def test_what_a_short_answer_takes_up_is_told_with_it() -> None:
    said = Say(2, f"The parser is done. {OFFER}")
    lines = brief(
        Prompt(1, GOAL), said, Prompt(3, "yes do that"), Say(4, "Looking at the rows first.")
    ).split("\n")
    assert lines[1:4] == [f"GOAL: {GOAL}", "LATEST FROM USER: yes do that", f'IN ANSWER TO: "{OFFER}"']


def test_it_is_known_after_many_more_messages_and_after_a_digest_was_stored() -> None:
    digest = fold([Prompt(1, GOAL), Say(2, OFFER), Prompt(3, "yes do that")])
    digest = decode(encode(digest)) or digest
    lines = compose(facts([fold([Say(4, f"Row {n} is read.") for n in range(200)], digest)])).split("\n")
    assert f'IN ANSWER TO: "{OFFER}"' in lines


def test_a_request_that_says_what_is_wanted_answers_nothing() -> None:
    lines = brief(Prompt(1, "Look at the scanned letters"), Say(2, OFFER), Prompt(3, GOAL)).split("\n")
    assert not [line for line in lines if line.startswith("IN ANSWER TO")]


@pytest.mark.parametrize("answer", ["2", "option 2", "let's try 2", "b", "(b)", "ok, 2."])
def test_a_number_or_a_letter_stands_for_the_option_that_it_chooses(answer: str) -> None:
    mark = ("A", "B") if "b" in answer else ("1", "2")
    said = f"Two ways:\n\n**{mark[0]}. Keep floats** and round late\n{mark[1]}) Store cents\n\nWhich one?"
    lines = brief(Prompt(1, GOAL), Say(2, said), Prompt(3, answer)).split("\n")
    assert 'IN ANSWER TO: "Store cents"' in lines


def test_going_on_leaves_an_offer_open_and_another_word_does_not() -> None:
    run: list[Step] = [Prompt(1, GOAL), Say(2, OFFER), Prompt(3, "yes"), Say(4, "Nothing to say.")]
    assert f'IN ANSWER TO: "{OFFER}"' in brief(*run, Prompt(5, "please continue")).split("\n")
    assert not [line for line in brief(*run, Prompt(5, "commit")).split("\n") if line.startswith("IN ANSWER")]


def test_what_was_taken_back_answers_nothing() -> None:
    run: list[Step] = [Prompt(1, GOAL), Say(2, OFFER), Prompt(3, "yes"), Rewind(4, 1)]
    assert not [line for line in brief(*run).split("\n") if line.startswith("IN ANSWER")]


def test_a_question_is_told_with_what_it_points_to() -> None:
    text = "All is written.\n- Add an index\n- Drop the view\n\nWould you like me to do any of these?"
    assert question_or_offer(text) == (
        "All is written. Add an index. Drop the view. Would you like me to do any of these?"
    )
    assert question_or_offer(
        "The rows are read.\n\n---\nShall I store the amounts of scanned invoices too?"
    ) == ("Shall I store the amounts of scanned invoices too?")


def test_what_a_finished_turn_leaves_to_the_user_is_told() -> None:
    done = Say(2, "The parser keeps cents.\n\nWant me to convert the stored invoices of last year too?")
    asked_for = "ASKED THE USER: Want me to convert the stored invoices of last year too?"
    assert asked_for in brief(Prompt(1, GOAL), done, End(3, "turn")).split("\n")
    call: list[Step] = [Call(3, "t", "Bash", "run", "ls", "ls"), Result(4, "t", text="a")]
    assert asked_for not in brief(Prompt(1, GOAL), done, *call).split("\n")


def test_what_an_agent_did_or_will_do_is_not_left_to_the_user() -> None:
    assert open_question("All green. I'd taken the numbers from the report.") == ""
    assert open_question("I'll wait for the validation to complete.") == ""
    assert open_question("Not pushed yet; say the word if you want that.") != ""


def test_no_room_is_taken_from_a_tight_brief() -> None:
    lines = brief(Prompt(1, GOAL), Say(2, OFFER), Prompt(3, "yes do that"), budget=400).split("\n")
    assert not [line for line in lines if line.startswith("IN ANSWER")]
