"""Which text answers best, and which part of it is shown."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from segue.core.search.query import parsed
from segue.core.search.ranking import snippet, spans, worth

NOW = 1_790_000_000.0


def marked(text: str, question: str) -> list[str]:
    return [text[span.start : span.stop] for span in spans(text, parsed(question))]


def score(text: str, question: str, *, kind: str = "answer", at: float = NOW, rank: float = -5.0) -> float:
    query = parsed(question)
    return worth(rank, kind, at, spans(text, query), query, now=NOW)  # type: ignore[arg-type]


def test_words_are_marked_by_their_stems_and_as_parts_of_names() -> None:
    assert marked("Tokens expired; parseTokenId and detoken", "token expire") == [
        "Tokens",
        "expired",
        "Token",
    ]


def test_a_text_with_all_words_is_worth_more_than_one_with_some() -> None:
    assert score("the expired token", "expired token") > score("the token here", "expired token")


def test_words_next_to_each_other_are_worth_more_than_words_far_apart() -> None:
    assert score("expired token", "expired token") > score(f"expired {'x ' * 200} token", "expired token")


def test_what_somebody_said_is_worth_more_than_what_a_program_printed() -> None:
    assert score("a token", "token", kind="prompt") > score("a token", "token", kind="output")


def test_what_is_new_is_worth_more_than_what_is_old_but_not_much() -> None:
    new, old = score("a token", "token"), score("a token", "token", at=NOW - 1e8)
    assert old < new < 1.5 * old


def test_the_part_with_most_of_the_words_is_shown() -> None:
    text = f"token {'x ' * 300}\nthe expired token of the session {'y ' * 300}"
    part = snippet(text, spans(text, parsed("expired token session")))
    assert "the expired token of the session" in part.text
    assert [part.text[start:stop] for start, stop in part.marks] == ["expired", "token", "session"]


@given(st.text(alphabet="ab \n", max_size=700), st.text(alphabet="ab \n", max_size=700))
def test_the_part_that_is_shown_has_a_word_that_was_asked_for(before: str, after: str) -> None:
    text = f"{before} token {after}"
    part = snippet(text, spans(text, parsed("tokens")))
    assert [part.text[start:stop] for start, stop in part.marks] == ["token"]


@pytest.mark.parametrize(
    ("text", "question", "words"),
    [
        ("It is reliable.", "reliability", ["reliable"]), ("the reliability", "reliable", ["reliability"]),
        ("by the way", "ways", ["way"]), ("copied twice", "copy", ["copied"]),
        ("A Café there", "cafe", ["Café"]), ("the cafe", "café", ["cafe"]),
        ("先按开始安装程序", "开始安装", ["开始安装"]), ("v2 安装", "v2安装", ["v2", "安装"]),
        ("İstanbul token", "token", ["token"]),
    ],
)  # fmt: skip
def test_words_are_marked_in_every_form_in_which_the_index_finds_them(
    text: str, question: str, words: list[str]
) -> None:
    assert marked(text, question) == words


@given(st.text(max_size=400), st.text(alphabet='abc Token-"*ßİ', min_size=1, max_size=20))
def test_marks_stand_inside_the_part_and_do_not_overlap(text: str, words: str) -> None:
    query = parsed(f"token {words}")
    part = snippet(text, spans(text, query))
    end = 0
    for start, stop in part.marks:
        assert end <= start < stop <= len(part.text)
        end = stop
