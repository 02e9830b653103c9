"""How a message relates to what was said before it, where words of assent or of trouble could mislead."""

from __future__ import annotations

import pytest

from segue.core.language.messages import relation_of
from segue.core.language.points import findings_in
from segue.core.language.rules import softens

QUESTION = "The page is styled. Shall I also track the latency, or leave it as it is?"


@pytest.mark.parametrize(
    "text",
    [
        "ça marche pas : /get échoue", "ya un problème : la date est fausse", "ok it still fails here",
        "hay un problema con la fecha", "ja, geht nicht",
    ],
)  # fmt: skip
def test_a_report_of_trouble_answers_no_question(text: str) -> None:
    assert relation_of(text, reply_to=QUESTION) == "corrects"


@pytest.mark.parametrize("text", ["ça marche", "yes, track it", "ok, leave it"])
def test_a_message_that_agrees_answers_the_question(text: str) -> None:
    assert relation_of(text, reply_to=QUESTION) == "answers"


def test_a_list_of_wishes_answers_no_question_though_it_begins_as_an_answer_does() -> None:
    wishes = "Please do these too:\n- add the export to the nightly build\n- add a benchmark of it"
    assert relation_of(wishes, reply_to="Shall the filter be case-insensitive?") == "adds"


def test_a_list_of_facts_is_no_list_of_findings() -> None:
    facts = "Facts:\n1. Roads: updates should be daily.\n2. Fuel: 175 stations.\n3. Must be low cost."
    assert findings_in(facts) == []


@pytest.mark.parametrize(
    "report",
    [
        "Review:\n1. shop.py:12 the total is not checked\n2. High: the lock is never released",
        "Findings:\n- the token is logged\n- the second call has no timeout",
    ],
)
def test_a_review_is_a_list_of_findings(report: str) -> None:
    assert len(findings_in(report)) == 2


def test_one_common_word_of_many_does_not_tie_a_permission_to_a_rule() -> None:
    rule = "Never send lists of more than five items in a single message, use several pages."
    assert not softens("You can now add a description and a picture, see /help for a list of commands.", rule)
    assert softens("You may send a list of six items to admins.", "Never send lists of more than five items.")
