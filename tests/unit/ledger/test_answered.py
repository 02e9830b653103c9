"""When a request counts as answered, and when it is told as left."""

from __future__ import annotations

import pytest
from tests.support.ledgers import ADDED, TASK, Talk, begun

from segue.core.ledger.sayings import Listed


def test_a_request_is_answered_when_the_last_words_are_about_it() -> None:
    talk = begun()
    talk.agent("The invoicing service uses Decimal instead of float now; all tests pass.")
    assert talk.states("request") == {TASK: "answered"}


@pytest.mark.parametrize(
    "words",
    [
        "Noted.",
        "b.py is converted.",
        "The invoicing service uses Decimal; the float helpers still need work.",
    ],
)
def test_a_request_stays_open_after_words_about_something_else_or_about_what_is_left(words: str) -> None:
    talk = begun()
    talk.agent(words)
    assert talk.states("request") == {TASK: "open"}


LATER = "Paint the header of the gallery green.", "Move the footer of the newsletter to the left."


@pytest.mark.parametrize(
    ("words", "calls"), [("b.py is as you wanted it.", 2), (f"Look: {'so it is; ' * 20}", 0)]
)
def test_a_request_that_a_turn_ended_on_is_answered_when_the_user_went_on_from_it(
    words: str, calls: int
) -> None:
    talk = begun()
    talk.user(ADDED.removesuffix(" when everything is finished."))
    talk.agent(words, calls=calls)
    for text in LATER:
        assert talk.entries("request")[1].state == "open"
        talk.user(text)
        talk.agent("It is there.")
    assert talk.states("request") | dict.fromkeys(LATER, "") == {
        TASK: "open", "Also add a CHANGELOG entry": "answered", **dict.fromkeys(LATER, ""),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "calls"), [("Noted.", 0), ("b.py is there; the entry is still to be written.", 2)]
)
def test_a_request_that_a_turn_left_open_stays_open_when_the_user_goes_on(words: str, calls: int) -> None:
    talk = begun()
    talk.agent(words, calls=calls)
    for text in LATER:
        talk.user(text)
        talk.agent("It is there.")
    assert talk.states("request")[TASK] == "open"


def test_a_request_that_turns_on_three_others_followed_is_not_told_as_left() -> None:
    talk = begun()
    talk.user("Also give the menu of the shop a shadow.")
    talk.agent("Done for the narrow pages. The logo is not yet as large as it was.", calls=2)
    for number, text in enumerate((*LATER, "Add a picture of the owner to the imprint.")):
        assert talk.entries("request")[1].state == "open", number
        talk.user(text)
        talk.agent("It is there.", calls=2)
    assert talk.entries("request")[1].state == "answered"
    assert talk.states("request")[TASK] == "open", "the work itself goes on"


def test_what_was_only_noted_put_off_or_left_out_stays_open_however_many_followed() -> None:
    talk = begun()
    talk.user("Also add a CHANGELOG entry.")
    talk.agent("Noted.", calls=0)
    talk.user("When everything is finished, add a page to the manual.")
    talk.agent("Noted.", calls=0)
    talk.user("Also give the menu of the shop a shadow.")
    talk.agent("The colours are there; the shadow of the menu is not yet.", calls=2)
    talk.user("Review findings:\n1. The cache is never emptied.\n2. The menu has no shadow.")
    talk.agent("Noted.", calls=0)
    for text in (*LATER, "Add a picture of the owner to the imprint.", "Make the logo a bit larger."):
        talk.user(text)
        talk.agent("It is there.", calls=2)
    assert [one.state for one in talk.entries("request")[1:5]] == ["open"] * 4


@pytest.mark.parametrize(
    "question",
    [
        "AttributeError: 'Compose' object has no attribute 'shape' 这是为什么",
        "npm ERR! code ERESOLVE\nwhat is wrong?",
    ],
)
def test_what_was_pasted_with_a_question_is_answered_by_what_the_agent_says(question: str) -> None:
    talk = begun()
    talk.user(question)
    talk.agent("The transform gives one picture, and the loop expects two.")
    assert talk.entries("request")[-1].state == "answered"


PLAN = "Implement the following plan:\n" + "\n".join(
    f"{number}. Port the {part} of the invoice export to the new schema, with tests and a page of words."
    for number, part in enumerate(("header", "footer", "table", "totals", "taxes", "address") * 4, 1)
)


def test_a_plan_whose_steps_nobody_ticked_off_is_answered_by_a_commit_that_is_called_done() -> None:
    talk = Talk()
    talk.user(PLAN)
    closing = "the header, footer, table, totals, taxes and address of the invoice export are ported."
    talk.agent(f"In src/export.py {closing}", "src/export.py")
    assert talk.entries("request")[0].state == "open"
    talk.agent(f"Done: {closing}", "src/export.py\ngit commit -m export")
    assert talk.entries("request")[0].state == "answered"


def test_what_the_user_goes_on_from_in_another_run_stays_open() -> None:
    talk = begun()
    talk.agent("b.py is as you wanted it.")
    for text in LATER:
        talk.next_run()
        talk.user(text)
        talk.agent("It is there.")
    assert talk.states("request")[TASK] == "open"


def test_a_question_is_answered_by_whatever_the_agent_says_then() -> None:
    talk = begun()
    talk.user("Do you have the old rates?", how="")
    talk.agent("They are in a table of the other folder.", calls=0)
    assert talk.states("request")[TASK] == "open"
    assert "Do you have the old rates?" not in talk.requests()


def test_a_request_stays_open_while_its_list_has_open_items() -> None:
    talk = begun()
    talk.hear(Listed, "todo", "", [("convert a.py", "done"), ("convert b.py", "pending")])
    talk.agent("The invoicing service uses Decimal instead of float in a.py now.")
    assert talk.states("request") == {TASK: "open"}


def test_a_request_in_few_words_is_answered_by_an_agent_that_says_that_it_is_done() -> None:
    talk = begun()
    talk.user("17px is too small still")
    talk.agent("Done. I raised it to 19 pixels in both themes.", did="src/theme.css")
    assert talk.states("request") == {TASK: "open", "17px is too small still": "answered"}


@pytest.mark.parametrize(
    "last", ["That much is done for now.", "Half of it is done.", "Noted, that comes later."]
)
def test_what_is_done_in_part_or_put_off_is_not_answered(last: str) -> None:
    talk = begun()
    talk.user("make it blue")
    talk.agent(last, did="src/theme.css")
    assert talk.states("request")["make it blue"] == "open"


def test_an_offer_to_do_more_leaves_nothing_open_of_what_was_asked() -> None:
    talk = begun()
    talk.user("Raise the font size of the invoices to 19 pixels.")
    talk.agent("The font size of the invoices is 19 pixels now. Want me to push it?", did="src/theme.css")
    assert talk.states("request")["Raise the font size of the invoices to 19 pixels."] == "answered"


def test_what_two_requests_and_a_commit_came_after_is_not_told_as_left() -> None:
    talk = begun()
    talk.user("Look at the colours of the menu.")
    talk.user("Now the footer of the page, please.")
    talk.user("And the labels of the form.")
    talk.agent("All labels are there.", did='git commit -m "Labels"')
    assert talk.states("request")["Look at the colours of the menu."] == "answered"
    assert talk.states("request")["Now the footer of the page, please."] == "open"
    assert talk.states("request")[TASK] == "open", "work has many commits"
