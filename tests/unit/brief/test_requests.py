"""What the user wants, by what they typed: which messages say little, what they answer, what is folded."""

from __future__ import annotations

import pytest

from segue.core.brief.requests import is_weak, refers, requests_of, told, unpasted
from segue.core.language.proposals import answered, picked
from segue.core.runs.digest import fold
from segue.core.runs.model import UserMessage
from segue.core.runs.steps import Interrupt, Prompt, Say, Step

ASKED = "Fix the parser so that amounts are kept in cents"


@pytest.mark.parametrize(
    ("text", "weak"),
    [
        ("yes", True),
        ("go on", True),
        ("Go on where the last run stopped", True),
        ("Please continue from where the previous session was interrupted.", True),
        ("Continue with the login from where it crashed, and add a test of its tokens", False),
        ("do the quick wins", True),
        ("do the quick wins of today first", False),
        ("rename parser module", True),
        ("rename parser module files", False),
        ("yes rename parser", True),
        ("yes rename parser module", False),
        ("why rename parser?", True),
        ("why rename parser module?", False),
        ("请把解析器改成", True),
        ("请把解析器改成分为单位", False),
        ("x " * 150, False),
        ("x " * 149, True),
    ],
)
def test_a_message_of_few_words_says_little_by_itself(text: str, weak: bool) -> None:
    assert is_weak(text) is weak


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("2", ["2"]),
        ("option 2 please", ["2"]),
        ("#2", ["2"]),
        ("b", ["b"]),
        ("1, 3 and 5", ["1", "3", "5"]),
        ("1-3", ["1", "2", "3"]),
        ("1 to 3", ["1", "2", "3"]),
        ("2-2", ["2"]),
        ("1-99", [str(number) for number in range(1, 11)]),
        ("a-c", ["a", "c"]),
        ("1-3 and 5", ["1", "3", "5"]),
        ("1 and 3", ["1", "3"]),
        ("y", []),
        ("n", []),
        ("i think so", []),
        ("100 rows", []),
        ("20%", []),
        ("go on", []),
    ],
)
def test_numbers_and_letters_choose(text: str, marks: list[str]) -> None:
    assert picked(text) == marks


@pytest.mark.parametrize(
    ("said", "text", "takes_up"),
    [
        ("Ways:\n1. Round up\n2. Use Decimal", "2", "2. Use Decimal"),
        ("Ways:\n1. Round up\n2. Use Decimal", "7", "Ways: Round up Use Decimal"),
        ("There are two ways.\n| A | Round up |\n| B | Use Decimal |", "b", "B | Use Decimal"),
        ("Done. Want me to change the exporter?", "yes", "Done. Want me to change the exporter?"),
        ("The totals are wrong. The rates are right. The exporter is old and rounds twice for each of them.",
         "then mend the totals", "The totals are wrong. The rates are right."),
        ("The totals of all invoices from the last two years are wrong by one cent. The rates are right.",
         "then mend the totals", "The totals of all invoices from the last two years are wrong by one cent."),
        ("Quick wins:\n- rename parse\n- drop the cache\n\nLarger ones:\n- new schema\n- new API",
         "do the quick wins", "Quick wins: rename parse; drop the cache"),
        ("Next I could:\n- rename parse\n- drop the cache", "yes",
         "Next I could: rename parse; drop the cache"),
        ("Next I could:\n- rename parse\n- drop the cache\nShall I?", "both",
         "Next I could: rename parse; drop the cache Shall I?"),
        ("Next I could:\n- rename parse", "yes", "Next I could: rename parse"),
        ("", "yes", ""),
    ],
)  # fmt: skip
def test_an_answer_takes_up_what_was_offered(said: str, text: str, takes_up: str) -> None:
    assert answered(text, said) == takes_up


def test_a_question_is_found_at_the_end_of_a_message_and_not_far_before_it() -> None:
    question = "Would you like me to change how the exporter rounds every amount in the file?"
    six = [
        f"The part with the number {number} was looked at and is left as it is now." for number in "123456"
    ]
    assert answered("yes", f"{question} {' '.join(six)}") == question
    far = "\n\n".join([question, *six, "That was the last of them."])
    assert "exporter" not in answered("yes", far)


def test_a_question_that_says_what_it_is_about_is_told_alone() -> None:
    question = "Shall I change how the exporter rounds every amount in the file?"
    assert answered("yes", f"The parser is done. {question}") == question
    points = "Shall I change it in the exporter, in the rates and in the totals?"
    said = f"The parser is done. {points}"
    assert answered("yes", said) == said


def test_a_short_question_is_told_with_the_two_sentences_before_it() -> None:
    said = "The first is done. The second is done. The third is done. Is this right?"
    assert answered("yes", said) == "The second is done. The third is done. Is this right?"


@pytest.mark.parametrize(
    ("text", "how", "points"),
    [
        ("yes", "", True),
        ("yes", "queued", False),
        ("yes", "command", False),
        ("do that for the parser, the exporter, rates and totals", "", True),
        ("please rename parser module files today", "", True),
        ("please rename parser module files today or tomorrow", "", False),
        ("write parser module files today", "", False),
    ],
)
def test_a_message_points_back_or_stands_for_itself(text: str, how: str, points: bool) -> None:
    assert refers(UserMessage(text, 1, how=how, reply_to="Shall I?")) is points


def wanted(*steps: Step) -> tuple[str, str, bool, str]:
    """The last message, the request that it belongs to, whether it mends that, and the one before."""
    found = requests_of(fold(steps))
    assert found.last is not None
    request, before = found.request, found.before
    return found.last.text, request.text if request else "", found.mends, before.text if before else ""


OTHER = "Write the guide about how amounts are rounded"


def test_a_request_stands_for_itself_and_the_one_before_is_known() -> None:
    assert wanted(Prompt(1, ASKED), Prompt(2, OTHER)) == (OTHER, "", False, ASKED)


def test_words_that_say_little_belong_to_the_last_request() -> None:
    assert wanted(Prompt(1, OTHER), Prompt(2, ASKED), Prompt(3, "go on")) == ("go on", ASKED, False, OTHER)


def test_what_is_put_in_mends_the_request_and_not_another_aside() -> None:
    aside = Prompt(2, "and rename parser module files too", "queued")
    said, request, mends, _ = wanted(Prompt(1, ASKED), aside, Prompt(3, OTHER, "queued"))
    assert (said, request, mends) == (OTHER, ASKED, True)


def test_what_is_said_after_an_interruption_mends_the_request_unless_work_lies_between() -> None:
    stopped: list[Step] = [Prompt(1, ASKED), Say(2, "I begin."), Interrupt(3)]
    assert wanted(*stopped, Prompt(4, OTHER)) == (OTHER, ASKED, True, "")
    later = [Say(4, "One."), Say(5, "Two."), Say(6, "Three."), Say(7, "Four.")]
    assert wanted(*stopped, *later[:3], Prompt(8, OTHER)) == (OTHER, ASKED, True, "")
    assert wanted(*stopped, *later, Prompt(8, OTHER)) == (OTHER, "", False, ASKED)


LOG = 'Traceback (most recent call last):\n  File "a.py", line 3\nValueError: no cents'


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        (f"please fix this for me\n{LOG}", "please fix this for me [3 pasted lines: "
         "ValueError: no cents; naming a.py]"),
        (f"{LOG}\nplease fix this for me", "[3 pasted lines: ValueError: no cents; "
         "naming a.py] please fix this for me"),
        ("please fix this for me\nValueError: no cents\n+ 1",
         "please fix this for me ValueError: no cents + 1"),
        ("one two three is\nfour five six are", "one two three is four five six are"),
        ("$ make all\ntwo words\nrows were read\nok", "[4 pasted lines of `make all`: rows were read]"),
    ],
)  # fmt: skip
def test_a_pasted_block_of_three_lines_is_folded(text: str, folded: str) -> None:
    assert unpasted(text) == folded


def test_a_long_plan_is_told_by_its_title_and_its_first_prose() -> None:
    lines = [
        "# Keep cents",
        "## Context",
        "The parser is older than the shop.",
        "## Steps",
        "- x: y",
        "x = 1",
    ]
    text = "\n".join(
        [*lines, "y" * 700, "It is the second thing to know.", "It is the third.", "It is the fourth."]
    )
    shown = told(UserMessage(text, 1), 500)
    assert shown == (
        "Keep cents / The parser is older than the shop. / It is the second thing to know. / It is the third."
    )


def test_what_was_given_to_a_template_comes_first() -> None:
    text = f"# Review\n\nYou are to review what is there.\n\n## User input\n\nonly the parser\n\n{'z' * 700}"
    assert told(UserMessage(text, 1), 500) == (
        "only the parser (given to a command: Review / You are to review what is there.)"
    )


def test_the_agents_plan_is_told_only_with_the_request_that_it_answers() -> None:
    from types import SimpleNamespace
    from typing import Any, cast

    from segue.core.brief import words_part

    entry = SimpleNamespace(text="Audit the rates", reply="First I read the rates.")
    held = SimpleNamespace(entry=entry, text="Audit the rates", points=())
    facts = cast("Any", SimpleNamespace(standing=SimpleNamespace(requests=[held]), trail=()))
    row = words_part._Row("REQUEST", "Audit the\nrates")
    assert words_part._agents_plan(facts, [row]) == "First I read the rates."
    assert words_part._agents_plan(facts, [row._replace(text="yes but keep it free")]) == ""
