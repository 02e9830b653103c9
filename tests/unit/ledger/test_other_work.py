"""Whether the first message of a run goes on with the work before."""

from __future__ import annotations

import pytest

from segue.core.ledger.model import Entry
from segue.core.ledger.other_work import Relevance, is_other_work, relevance

LOGIN = [
    Entry("a1", "request", "Move the login of the shop from cookies to signed tokens, with a middleware."),
    Entry("b2", "item", "write the token signer in src/auth/signer.py"),
]


@pytest.mark.parametrize(
    "message",
    [
        "Write a script tools/thumbnails.sh that resizes pictures of the gallery and uploads them there.",
        "Add a dark theme to the settings page with a switch in the header bar; remember the choice.",
        "Schreib ein Skript, das die Bilder der Galerie verkleinert, komprimiert und dann hochlädt.",
    ],
)  # fmt: skip
def test_what_names_nothing_of_the_work_and_says_enough_is_other_work(message: str) -> None:
    assert is_other_work(message, LOGIN)


@pytest.mark.parametrize(
    "message",
    [
        "go on",
        "No, take a full index for the gallery of products, partial ones confuse the planner.",
        "It still fails on the staging machine with a timeout after thirty seconds of waiting for the queue.",
        "That broke the header of the gallery page, the pictures and the footer of the newsletter.",
        "Also add a dark theme to the settings page, with a switch in the header bar that users can see.",
        "ok, gallery_pictures/newsletter.py darfst du ändern, nur diese Datei",
        "Oh, and send a mail to the people of operations when the newsletter of the gallery fails.",
        "I'd also like you to send a mail to the people of operations when the newsletter fails.",
        "Yesterday's change made the gallery page of the newsletter slow, find out why.",
        "The middleware should refuse tokens of accounts that were revoked by an administrator.",
        "Never use the word basket in the interface of the gallery, the newsletter or the product pages.",
    ],
)  # fmt: skip
def test_what_points_back_adds_rules_or_names_the_work_is_not(message: str) -> None:
    assert not is_other_work(message, LOGIN)


LAST = [
    Entry(
        "1", "request", "Move the login of the shop from cookies to signed tokens.", "answered", run="codex/1"
    )
]
OPEN = [
    *LAST,
    Entry("2", "item", "sign the tokens of the shop's login with HS256 and a legend", run="codex/1"),
]


@pytest.mark.parametrize(
    ("prompt", "finished", "unfinished"),
    [
        ("make the text output fields scrollable", "other", "other"),
        ("what happens when both expected_output and assertions are defined?", "other", "other"),
        ("Also make the text output fields scrollable", "goes_on", "goes_on"),
        ("go on", "goes_on", "goes_on"),
        ("where were we?", "goes_on", "goes_on"),
        ("Never rename the text output fields.", "goes_on", "goes_on"),
        ("Could you also describe the rollback in runbooks/basket.md?", "goes_on", "goes_on"),
        ("we changed the pause to 10 minutes but nobody sees that anymore", "other", "other"),
        ("analyse this code and tell me about it", "other", "other"),
        ("fix this", "goes_on", "goes_on"),
        ("it still fails", "goes_on", "goes_on"),
        ("/home/anna/shop", "other", "other"),
        ("Is the model of the pictures a small one?", "other", "other"),
        ("Sign the tokens of the login with HS256.", "touches", "goes_on"),
        ("Draw the login of the shop with its tokens. Then add a legend.", "touches", "goes_on"),
        ("Sort the text output fields before they are printed on the page.", "other", "other"),
    ],
)
def test_a_prompt_is_told_at_length_if_it_says_that_it_goes_on_or_speaks_of_what_was_left_open(
    prompt: str, finished: Relevance, unfinished: Relevance
) -> None:
    assert relevance(prompt, LAST, is_cut_off=False) == finished
    assert relevance(prompt, LAST, is_cut_off=True) == unfinished
    assert relevance(prompt, OPEN, is_cut_off=False) == unfinished


TEMPLATE = """Write a specification for the use case that the user names below, and nothing else.
Read the list of actors, the main flow and every alternative flow of that use case before you begin.
Every requirement must name the step of the flow from which it was taken, and how it can be tested.
If a step of the flow can be understood in two ways, ask, with a lettered list of the possible answers.
Write the specification into specs/, below a folder with the number and the short name of the use case.
"""


def test_what_a_command_always_says_makes_two_of_its_uses_no_one_work() -> None:
    before = Entry(
        "1", "request", f"{TEMPLATE}\nThe student pays the fees of a course by card.", run="codex/1"
    )
    other = f"{TEMPLATE}\nAn administrator sends notices to all students of a faculty."
    same = f"{TEMPLATE}\nThe student pays the fees of a course by card or by invoice."
    assert relevance(other, [before], is_cut_off=True) == "other"
    assert relevance(same, [before], is_cut_off=True) == "goes_on"


def test_a_run_that_was_cut_off_is_told_shortly_to_a_prompt_about_what_was_asked_before() -> None:
    newest = Entry("3", "request", "Compress the pictures of the gallery with a script.", run="codex/1")
    login = "Draw the login of the shop with its tokens. Then write a legend."
    assert relevance(login, [*LAST, newest], is_cut_off=True) == "touches"


def test_a_long_message_that_adds_says_itself_what_it_is_about() -> None:
    item = (
        "Next feedback: the invoice export of customers in Norway writes amounts with a comma, the table of"
        " countries lacks Iceland and Greenland, totals are rounded before taxes, and the footer repeats the"
        " address of the warehouse instead of the office; dates lose their zone when the ledger closes."
    )
    assert relevance(item, LAST, is_cut_off=False) == "touches"
    assert relevance("Next feedback: the comma in amounts.", LAST, is_cut_off=False) == "goes_on"


def test_what_was_left_open_before_the_last_run_counts_if_the_prompt_is_about_it() -> None:
    earlier = Entry("0", "item", "sign the tokens with a new key", run="codex/0")
    assert (
        relevance("Sign the tokens of the login with HS256.", [earlier, *LAST], is_cut_off=False) == "goes_on"
    )
    earlier = Entry("0", "item", "draw the pictures of the gallery", run="codex/0")
    assert (
        relevance("Sign the tokens of the login with HS256.", [earlier, *LAST], is_cut_off=False) == "touches"
    )


def test_an_answer_to_what_the_agent_asked_last_goes_on() -> None:
    asked = Entry("2", "question", "Should the exporter use the sandbox or the real service?", run="codex/1")
    prompt = "with the real service and its staging keys"
    assert relevance(prompt, LAST, is_cut_off=False) == "other"
    assert relevance(prompt, [*LAST, asked], is_cut_off=False) == "goes_on"
