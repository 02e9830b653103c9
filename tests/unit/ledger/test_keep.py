"""What of a conversation is kept in the ledger, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.ledgers import ADDED, AT, TASK, Talk, begun

from segue.core.base.values import iso
from segue.core.ledger.fold import take_kept
from segue.core.ledger.keep import kept
from segue.core.ledger.model import Entry
from segue.core.ledger.sayings import (
    Answer,
    Attempted,
    Checked,
    Chosen,
    Finished,
    Listed,
    Message,
    Reply,
    TakenBack,
    Told,
    TurnEnded,
)
from segue.core.ledger.standing import choice_words, rules_alone

# -- requests


def test_a_second_request_adds_to_the_first() -> None:
    talk = begun()
    talk.user(ADDED)
    assert talk.requests() == [TASK, ADDED]
    assert [entry.relation for entry in talk.entries("request")] == ["new", "adds"]


@pytest.mark.parametrize("text", ["go on", "weiter", "继续", "continue where you stopped", "yes please"])
def test_to_go_on_is_no_request(text: str) -> None:
    talk = begun()
    talk.next_run()
    talk.user(text)
    assert talk.requests() == [TASK]


def test_requests_of_ten_runs_stand_in_the_words_of_the_first() -> None:
    talk = begun()
    talk.user(ADDED)
    for _ in range(10):
        talk.next_run()
        talk.user("go on")
        talk.agent("The parser is converted.")
    assert talk.requests() == [TASK, ADDED]


def test_a_yes_is_kept_with_what_it_answers() -> None:
    talk = begun()
    talk.user("yes", reply_to="The parser is done. Shall I convert the old invoices as well?")
    [_, yes] = talk.entries("request")
    assert (yes.text, yes.relation) == ("yes", "answers")
    assert yes.answers == "The parser is done. Shall I convert the old invoices as well?"


def test_a_question_that_ended_a_run_is_answered_by_the_next_one() -> None:
    talk = begun()
    talk.agent("The parser is done. Shall I convert the old invoices as well?")
    talk.next_run()
    talk.user("yes")
    [_, yes] = talk.entries("request")
    assert yes.answers.endswith("Shall I convert the old invoices as well?")


def test_a_question_is_answered_when_the_agent_has_said_something() -> None:
    talk = begun()
    talk.user("How far are we?")
    talk.agent("Half of it is done.", calls=0)
    assert talk.states("request") == {TASK: "open", "How far are we?": "answered"}


def test_a_message_that_a_hook_heard_first_is_kept_once() -> None:
    talk = Talk()
    talk.keep([Message(1, 0.0, 2, TASK)])
    talk.keep([Message(2, 0.0, 5, TASK)])
    assert talk.requests() == [TASK]


# -- points


def test_numbered_points_are_entries_with_their_marks() -> None:
    talk = begun()
    talk.user("Fix what the review found:\n1. the login redirects twice\n2. tokens never expire\n3. no tests")
    assert [(item.mark, item.text) for item in talk.entries("item")] == [
        ("1", "the login redirects twice"), ("2", "tokens never expire"), ("3", "no tests"),
    ]  # fmt: skip


def test_a_point_is_done_when_the_agents_list_ticks_it_off() -> None:
    talk = begun()
    talk.user("Fix what the review found:\n1. the login redirects twice\n2. tokens never expire")
    rows = [("Fix that the login redirects twice", "done"), ("Let tokens expire", "pending")]
    talk.hear(Listed, "todo", "", rows)
    points = {item.text: item.state for item in talk.entries("item") if item.by == "user"}
    assert points == {"the login redirects twice": "done", "tokens never expire": "open"}


# -- answered, done, withdrawn


def test_a_request_is_done_when_the_user_is_content() -> None:
    talk = begun()
    talk.agent("The invoicing service uses Decimal instead of float now; all tests pass.")
    talk.user("Perfect, thanks. Now write the guide about rounding for the shop.")
    assert talk.states("request")[TASK] == "done"


def test_a_correction_opens_a_request_again() -> None:
    talk = begun()
    talk.agent("The invoicing service uses Decimal instead of float now; all tests pass.")
    talk.user("No, the invoicing service still returns float in the API.")
    assert talk.states("request")[TASK] == "open"


def test_a_request_that_is_taken_back_is_withdrawn_with_its_points() -> None:
    talk = begun()
    talk.user("Add a PDF export:\n1. with a logo\n2. with page numbers")
    talk.user("Never mind the PDF export.")
    assert talk.requests() == [TASK]
    assert {item.state for item in talk.entries("item")} == {"withdrawn"}


def test_going_back_in_a_conversation_withdraws_what_was_said_since() -> None:
    talk = begun()
    talk.user(ADDED)
    talk.hear(TakenBack, 20)
    assert talk.states("request") == {TASK: "open", ADDED: "withdrawn"}


# -- rules and permissions


def test_a_rule_outlives_the_message_that_it_stood_in() -> None:
    talk = Talk()
    talk.user(f"{TASK} Never push to main.")
    talk.agent("The invoicing service uses Decimal instead of float now.")
    talk.user("Great, thanks.")
    assert talk.requests() == [] and talk.rules() == ["Never push to main."]


def test_what_only_says_how_far_a_request_goes_ends_with_it() -> None:
    talk = Talk()
    talk.user("Only edit shop/panel.py. Add a button that clears the cart.")
    assert talk.rules() == ["Only edit shop/panel.py."]
    talk.agent("The cart has a button that clears it now; only shop/panel.py was edited, all tests pass.")
    talk.user("Perfect, thanks. Also never log a price.")
    assert talk.rules() == ["Also never log a price."]


def test_a_message_of_rules_alone_is_no_request() -> None:
    talk = begun()
    talk.user("Never push to main. Always run ruff before a commit.")
    assert talk.requests() == [TASK]
    assert talk.rules() == ["Never push to main.", "Always run ruff before a commit."]


def test_a_permission_is_told_with_the_rule_that_it_softens() -> None:
    talk = Talk()
    talk.user(f"{TASK} Never edit anything in legacy/ at all.")
    talk.next_run()
    talk.user("You may edit legacy/ledger.py now, but nothing else in legacy/.")
    [rule] = talk.holds.rules
    assert [one.text for one in rule.permissions] == [
        "You may edit legacy/ledger.py now, but nothing else in legacy/."
    ]
    assert talk.requests() == [f"{TASK} Never edit anything in legacy/ at all."]


def test_the_same_rule_is_kept_once() -> None:
    talk = begun()
    talk.user("Never push to main.")
    talk.next_run()
    talk.user("never push to main.")
    assert len(talk.rules()) == 1


# -- choices, lists, checks, attempts


def test_a_choice_of_the_agent_is_kept() -> None:
    talk = begun()
    talk.hear(Chosen, "I decided to compare in UTC because the server has no zone.")
    [choice] = talk.holds.choices
    assert (choice.by, choice.text) == (
        "codex",
        "I decided to compare in UTC because the server has no zone.",
    )


def test_another_answer_to_the_same_question_supersedes_the_first() -> None:
    talk = begun()
    talk.hear(Answer, "Which store?", "SQLite")
    talk.hear(Answer, "Which store?", "Postgres")
    assert talk.states("choice") == {"SQLite": "superseded", "Postgres": "open"}


def test_an_option_that_stood_in_a_table_is_told_without_its_bars() -> None:
    entry = Entry("e1", "choice", "a", by="user", answers="| A | Start another round at once. |")
    assert choice_words(entry) == "a (asked: A | Start another round at once.)"


def test_an_item_of_another_run_is_recognised_and_ticked_off() -> None:
    talk = begun()
    talk.hear(Listed, "todo", "", [("convert a.py", "active"), ("convert b.py", "pending")])
    talk.next_run()
    talk.hear(Listed, "todo", "", [("convert a.py", "done"), ("write the docs", "pending")])
    assert talk.states("item") == {"convert a.py": "done", "convert b.py": "open", "write the docs": "open"}


def test_an_item_that_the_agent_took_out_of_its_own_list_is_superseded() -> None:
    talk = begun()
    talk.hear(Listed, "todo", "", [("convert a.py", "active"), ("convert b.py", "pending")])
    talk.hear(Listed, "todo", "", [("convert a.py", "done")])
    assert talk.states("item") == {"convert a.py": "done", "convert b.py": "superseded"}


def test_items_of_a_list_that_another_one_followed_stay_open() -> None:
    talk = begun()
    talk.hear(Listed, "todo", "", [("convert a.py", "done"), ("convert b.py", "pending")])
    talk.hear(Listed, "todo", "", [("draw the menu", "active")])
    assert talk.states("item") == {"convert a.py": "done", "convert b.py": "open", "draw the menu": "active"}


def test_a_check_fails_until_a_run_of_it_passes() -> None:
    talk = begun()
    talk.hear(Checked, [("pytest -q tests/test_vat.py", "1 failed")], [])
    assert [entry.text for entry in talk.holds.failing] == ["pytest -q tests/test_vat.py"]
    talk.next_run()
    talk.hear(Checked, [], ["pytest tests/test_vat.py"])
    assert talk.holds.failing == ()


def test_what_was_tried_in_vain_is_kept_once() -> None:
    talk = begun()
    for _ in range(2):
        talk.hear(Attempted, "I tried a global lock, but it deadlocks under load.")
    assert len(talk.holds.attempts) == 1


def test_the_first_answer_belongs_to_the_newest_request() -> None:
    talk = begun()
    talk.hear(Reply, "I'll do three things: the model, the API, the tests.")
    [request] = talk.holds.requests
    assert request.entry.reply == "I'll do three things: the model, the API, the tests."


def test_what_is_said_to_a_later_message_is_no_first_answer() -> None:
    talk = begun()
    talk.hear(Reply, "I'll do three things: the model, the API, the tests.", 10)
    talk.user("go on")
    talk.hear(Reply, "All three things are done: the model, the API, the tests.", 30)
    [request] = talk.holds.requests
    assert request.entry.reply == "I'll do three things: the model, the API, the tests."


def test_what_is_said_to_a_question_is_no_answer_to_the_request_before_it() -> None:
    talk = begun()
    talk.user("Why are there two exporters?")
    talk.hear(Reply, "There are two because the old one writes a file for each customer.", 20)
    assert [one.entry.reply for one in talk.holds.requests if one.entry.text == TASK] == [""]


def test_the_first_answer_may_come_when_the_agent_is_told_to_go_on() -> None:
    talk = begun()
    talk.user("go on")
    talk.hear(Reply, "I'll do three things: the model, the API, the tests.", 20)
    [request] = talk.holds.requests
    assert request.entry.reply == "I'll do three things: the model, the API, the tests."


def test_a_brief_from_elsewhere_tells_only_a_ledger_that_knows_nothing() -> None:
    told: list[Any] = [["Write the guide."], ["Never push to main."], ["Use UTC"], ["convert b.py"], []]
    talk = Talk()
    talk.hear(Told, *told)
    assert (talk.requests(), talk.rules()) == (["Write the guide."], ["Never push to main."])
    talk = begun()
    talk.next_run()
    talk.hear(Told, *told)
    assert talk.requests() == [TASK] and talk.rules() == []


# -- hearing it twice


def test_what_was_heard_is_not_kept_again() -> None:
    sayings = [Message(1, 5.0, 2, TASK), Message(2, 6.0, 9, "Never push to main.")]
    talk = Talk()
    talk.keep(sayings)
    assert kept(talk.ledger, talk.run, sayings) is None


def test_of_a_transcript_that_is_read_anew_only_new_messages_are_kept() -> None:
    talk = Talk()
    talk.keep([Message(1, 5.0, 2, TASK), Message(2, 6.0, 9, "go on")])
    body = kept(
        talk.ledger,
        talk.run,
        [Message(1, 5.0, 3, TASK), Message(4, 6.0, 12, "go on"), Message(5, 7.0, 20, ADDED)],
    )
    assert body is not None and [entry.text for entry in body.entries] == [ADDED]


def test_what_was_said_before_the_last_message_that_was_heard_is_not_judged_again() -> None:
    talk = begun()
    words = "The invoicing service uses Decimal instead of float now; all tests pass."
    turn = TurnEnded(2, 0.0, 20, words, "src/a.py", 2)
    no = Message(3, 0.0, 30, "No, the invoicing service still returns float in the API.")
    talk.keep([turn, no])
    assert talk.states("request")[TASK] == "open"
    talk.keep([Message(1, 0.0, 10, TASK), turn, no])
    assert talk.states("request")[TASK] == "open"


# -- what stands in several places, or is heard again


def test_an_item_that_is_done_is_done_in_the_words_of_the_user_too() -> None:
    talk = Talk()
    talk.hear(Listed, "todo", "", [("document the flag --silver", "pending")])
    talk.next_run()
    talk.user("Please do these:\n1. document the flag --silver\n2. write an example")
    talk.hear(Listed, "todo", "", [("document the flag --silver", "done")])
    silver = [item for item in talk.entries("item") if item.text == "document the flag --silver"]
    assert len(silver) == 2 and {item.state for item in silver} == {"done"}
    assert talk.states("item")["write an example"] == "open"


def test_a_state_has_the_time_at_which_it_was_shown_and_not_that_of_the_sync() -> None:
    talk = begun()
    talk.hear(Listed, "todo", "", [("convert the parser", "pending")])
    body = kept(talk.ledger, talk.run, [Listed(3, AT + 65, 30, "todo", "", [("convert the parser", "done")])])
    assert body is not None
    ledger = take_kept(talk.ledger, body, "2030-01-01T00:00:00Z")
    [item] = [entry for entry in ledger.entries if entry.kind == "item"]
    assert item.state == "done" and item.since == iso(AT + 65)


def test_a_list_goes_with_the_work_that_is_dropped_and_not_with_an_addition() -> None:
    talk = Talk()
    talk.user("Build an export of all data of a customer of the shop.")
    talk.hear(Listed, "todo", "", [("Pack the archive in gdpr/cellar.py", "pending")])
    talk.user("Also index the column badge_violet.")
    talk.hear(Listed, "report", "", [("anchor: the timeout is in seconds there", "pending")])
    talk.user("Drop the index on the column (badge_violet), please.")
    assert set(talk.states("item").values()) == {"open"}
    talk.user("Change of plan, drop the export of all data of a customer altogether.")
    assert talk.states("item")["Pack the archive in gdpr/cellar.py"] == "withdrawn"


def test_a_point_that_is_reported_again_by_its_number_settles_no_other_list() -> None:
    talk = begun()
    talk.hear(Listed, "report", "", [("the timeout is wrong", "pending")])
    talk.next_run()
    talk.hear(Listed, "report", "", [("an empty list is none", "pending")])
    done = Finished(2, AT + 300, 40, ["1"], "Finding 1 is fixed.")
    talk.keep([done])
    talk.keep([replace(done, number=0)])
    assert talk.states("item") == {"the timeout is wrong": "open", "an empty list is none": "done"}


@pytest.mark.parametrize(
    ("asked", "dropped"),
    [
        ("While you are at it, print the number of skipped lantern_mirror rows.",
         "Drop the number of skipped rows (lantern_mirror), please."),
        ("Also index the column badge_violet.", "Never mind the index on the column badge_violet."),
    ],
)  # fmt: skip
def test_a_withdrawal_may_name_what_the_request_ends_with(asked: str, dropped: str) -> None:
    talk = begun()
    talk.user(asked)
    talk.user(dropped)
    assert talk.states("request") == {TASK: "open", asked: "withdrawn"}


def test_a_withdrawal_without_spaces_between_words_asks_for_nothing_more() -> None:
    talk = begun()
    talk.user("willow_bridge/ のファイルを消す前に必ず聞いてください。")
    talk.user("willow_bridge に関するルールはもう不要です。")
    assert talk.rules() == [] and talk.requests() == [TASK]


def test_thanks_name_what_was_reported_right_before() -> None:
    talk = begun()
    request = "And please describe the rollback in runbooks/tunnel_bucket.md."
    talk.user(request)
    talk.next_run()
    talk.user("The rollback works, thank you.", reply_to="The rollback (tunnel_bucket) is finished.")
    assert talk.states("request") == {TASK: "open", request: "done"}


def test_thanks_name_a_request_apart_from_the_rules_in_it() -> None:
    talk = begun()
    rule = "Frag mich, bevor du etwas in ivory_voucher/ löschst."
    asked = f"While you are at it, document the flag --basket-needle in docs/flags.md. {rule}"
    talk.user(asked)
    talk.agent("Done: the documentation of the flag (basket_needle).")
    talk.user("Perfect, the documentation of the flag (basket_needle) is exactly right.")
    assert talk.states("request")[asked] == "done" and talk.rules() == [rule]


def test_an_option_is_chosen_by_its_words_whatever_they_say() -> None:
    talk = begun()
    asked = "What if the table is missing?\n1. stop with an error\n2. go on with a warning"
    talk.user("stop with an error, I think", reply_to=asked)
    assert talk.states("choice") == {"stop with an error, I think": "open"}
    assert talk.requests() == [TASK]


@pytest.mark.parametrize("answer", ["Next area", "You decide", "more questions", "let's discuss"])
def test_an_answer_that_only_steers_the_questions_is_no_choice(answer: str) -> None:
    talk = begun()
    talk.hear(Answer, "Do you have more questions?", answer)
    assert talk.entries("choice") == []


def test_a_request_that_was_stopped_and_sent_again_is_told_once() -> None:
    talk = begun()
    first = "Which is the most private option for the vault of the shop, and why?"
    again = "Compare the most private option for the vault of the shop with the default."
    talk.user("Take the most private option for the vault of the shop.")
    talk.user("Take the most privacy preserving option for the vault of the shop.", interrupts=True)
    assert talk.requests() == [TASK, "Take the most privacy preserving option for the vault of the shop."]
    talk.user(first, interrupts=True)
    talk.user(again)
    assert again in talk.requests()


def test_advice_is_no_permission_unless_it_softens_a_rule() -> None:
    talk = begun()
    talk.user("You can set group.visible using the vis library, which is less work.")
    assert talk.entries("permission") == []
    talk.user("Never touch src/generated.")
    talk.user("You can touch src/generated/index.ts.")
    assert len(talk.entries("permission")) == 1


def test_a_conversation_may_begin_with_a_question() -> None:
    talk = Talk()
    talk.user("Why is the importer so slow?")
    talk.agent("Because it reads each file twice.", calls=1)
    talk.user("Make it read each file once.")
    assert [entry.relation for entry in talk.entries("request")] == ["asks", "new"]
    assert talk.requests() == ["Make it read each file once."]


# -- what agents report in other words


def test_an_item_that_is_a_request_answers_it_when_it_is_ticked_off() -> None:
    talk = begun()
    talk.user("In addition, make the timeout of willow_marble configurable.")
    talk.next_run()
    talk.hear(Listed, "todo", "", [("Make the timeout of willow_marble configurable", "done")])
    assert talk.states("request") == {
        TASK: "open", "In addition, make the timeout of willow_marble configurable.": "answered",
    }  # fmt: skip


@pytest.mark.parametrize(
    "order", ["Review the parser, but don't commit.", "Check the tests. Do not edit any files."]
)
def test_orders_for_one_job_are_no_rules_of_the_project(order: str) -> None:
    talk = begun()
    talk.user(f"{order} Never touch src/legacy.")
    assert [one.text for one in rules_alone(talk.ledger.entries)] == ["Never touch src/legacy."]
