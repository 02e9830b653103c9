"""What a question asks for."""

from __future__ import annotations

import pytest

from segue.core.search.query import parsed, since_of
from segue.errors import UsageError

NOW = 1_790_000_000.0


def terms(question: str) -> list[str]:
    return [term.text for term in parsed(question).terms]


def test_words_that_say_nothing_are_left_out_where_others_are_there() -> None:
    assert terms("why did we drop the redis cache") == ["drop", "redis", "cache"]


def test_a_question_of_such_words_alone_is_taken_as_it_is() -> None:
    assert terms("what is it") == ["what", "is", "it"]


def test_a_phrase_stays_together_and_a_word_that_must_not_occur_stands_apart() -> None:
    query = parsed('"connection refused" -docker -"by peer" port')
    assert [term.text for term in query.terms] == ["connection refused", "port"]
    assert [term.text for term in query.excluded] == ["docker", "by peer"]


def test_a_name_in_code_is_looked_for_whole_and_by_its_parts() -> None:
    [term] = parsed("parseUserId").terms
    assert term.forms == ("parseUserId", "parse User Id")


def test_a_star_asks_for_words_that_begin_so() -> None:
    [term] = parsed("migrat*").terms
    assert term.is_prefix and term.text == "migrat"


@pytest.mark.parametrize("question", ["", "   ", "?!", "- *", '""'])
def test_a_question_without_a_word_is_refused(question: str) -> None:
    with pytest.raises(UsageError):
        parsed(question)


@pytest.mark.parametrize(
    ("text", "ago"),
    [("7d", 604_800), ("12h", 43_200), ("30 min", 1_800), ("2w", 1_209_600), ("yesterday", 172_800)],
)
def test_a_time_is_said_as_people_say_it(text: str, ago: int) -> None:
    assert since_of(text, now=NOW) == NOW - ago


def test_a_date_is_a_time_and_nonsense_is_refused() -> None:
    assert since_of("2026-09-21", now=NOW) == 1_789_948_800.0
    assert since_of("", now=NOW) == 0.0
    with pytest.raises(UsageError):
        since_of("soon", now=NOW)
