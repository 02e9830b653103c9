"""Every index for searching finds the same: a file on this machine, and Postgres."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.postgres_store import journal_for, needs_postgres

from segue.core.search.index import NewTexts, SearchIndex, SearchSource, TextRange, Wanted
from segue.core.search.kinds import Kind
from segue.core.search.query import parsed
from segue.core.search.texts import SearchText
from segue.effects.files.search_index import SearchFile

NOW = 1_790_000_000.0


@pytest.fixture(
    params=[
        "file",
        pytest.param("postgres", marks=[needs_postgres, pytest.mark.xdist_group("postgres")]),
    ]
)
def index(request: pytest.FixtureRequest, tmp_path: Path) -> SearchIndex:
    if request.param == "file":
        return SearchFile(tmp_path / "archive" / "search.db")
    return journal_for(tmp_path).search_index


def put(
    index: SearchIndex, key: str, *texts: str, kind: Kind = "answer", anew: bool = True, failed: bool = False,
    at: float = NOW, first: int = 1, agent: str = "codex",
) -> None:  # fmt: skip
    source = SearchSource(key, agent, key, project=f"p-{key}")
    known = [SearchText(number, kind, text, at, failed) for number, text in enumerate(texts, first)]
    steps = first + len(texts) - 1
    index.put([NewTexts(source, known, steps, steps, at, anew)])


def found(index: SearchIndex, question: str, *, every: bool = True, **more: object) -> list[tuple[str, int]]:
    query = parsed(question)
    wanted = Wanted(query.terms, every=every, excluded=query.excluded, **more)  # type: ignore[arg-type]
    return [(one.source, one.step) for one in index.matches(wanted, 50)]


def test_nothing_is_found_in_an_index_that_does_not_exist_yet(index: SearchIndex) -> None:
    assert found(index, "token") == []
    assert (index.indexed(), index.sources(), index.size_in_texts()) == ({}, {}, 0)


@pytest.mark.parametrize(
    "question",
    ["expired token", "tokens expire", "EXPIRED", "toke*", '"the expired token"', "token -redis", "naïve"],
)
def test_a_text_is_found_by_its_words_their_stems_and_phrases(index: SearchIndex, question: str) -> None:
    put(index, "a", "the expired token was naive")
    put(index, "b", "redis was restarted after the migration")
    assert found(index, question) == [("a", 1)]


@pytest.mark.parametrize("question", ["parseUserId", "user id", "parse_user_id", '"parse user"', "userid*"])
def test_a_name_in_code_is_found_whole_and_by_its_parts(index: SearchIndex, question: str) -> None:
    put(index, "a", "call parseUserId(x) or parse_user_id(x), userId")
    put(index, "b", "nothing of the kind")
    assert found(index, question) == [("a", 1)]


@pytest.mark.parametrize("question", ['"token expired"', "token -expired", '"the token was"', "tok"])
def test_a_text_without_what_was_asked_for_is_not_found(index: SearchIndex, question: str) -> None:
    put(index, "a", "the expired token was here")
    assert found(index, question) == []


def test_texts_in_scripts_without_spaces_are_found_by_a_part(index: SearchIndex) -> None:
    put(index, "a", "データベースの移行が失敗しました")
    assert found(index, "移行") == [("a", 1)]
    assert found(index, "成功") == []


def test_any_of_the_terms_is_enough_where_not_all_are_asked_for(index: SearchIndex) -> None:
    put(index, "a", "a token")
    put(index, "b", "a cookie")
    assert found(index, "token cookie") == []
    assert sorted(found(index, "token cookie", every=False)) == [("a", 1), ("b", 1)]


def test_filters_hold_for_kind_time_failure_and_source(index: SearchIndex) -> None:
    put(index, "old", "token one", at=NOW - 9_000)
    put(index, "cmd", "token two", kind="command", failed=True)
    put(index, "new", "token three")
    assert found(index, "token", kinds=("command",)) == [("cmd", 1)]
    assert found(index, "token", failed=True) == [("cmd", 1)]
    assert sorted(found(index, "token", since=NOW - 60)) == [("cmd", 1), ("new", 1)]
    assert found(index, "token", sources=("old", "none")) == [("old", 1)]
    assert found(index, "token", sources=()) == []


def test_texts_come_after_those_that_are_there_or_take_their_place(index: SearchIndex) -> None:
    put(index, "a", "first", "second")
    put(index, "a", "third", anew=False, first=3)
    assert [found(index, word) for word in ("first", "second", "third")] == [
        [("a", 1)], [("a", 2)], [("a", 3)],
    ]  # fmt: skip
    before = index.find("a")
    assert before is not None and before.steps == 3
    put(index, "b", "first", "second", "third")
    same = index.find("b")
    assert same is not None and same.sum == before.sum, "the sum does not depend on how they came"
    put(index, "a", "fourth")
    assert found(index, "first") == [("b", 1)]
    assert found(index, "fourth") == [("a", 1)]


def test_a_source_that_was_dropped_is_not_found_any_more(index: SearchIndex) -> None:
    put(index, "a", "token")
    put(index, "b", "token")
    index.drop(["a", "unknown"])
    assert found(index, "token") == [("b", 1)]
    assert list(index.sources()) == ["b"]
    index.delete()
    assert found(index, "token") == []
    put(index, "c", "token")
    assert found(index, "token") == [("c", 1)]


def test_texts_come_back_as_they_were(index: SearchIndex) -> None:
    texts = ["plain", "with\nlines\tand ünïcödé 😀", "'quotes' \"and\" \\ more:1 & | ! <->", "x" * 70_000]
    put(index, "a", *texts)
    for number, text in enumerate(texts, 1):
        word = text.split()[0].strip("'")
        matches = index.matches(Wanted(parsed(word).terms), 10)
        assert [one.step for one in matches] == [number]
        assert list(index.texts([one.id for one in matches]).values()) == [text]


def test_a_rare_word_counts_more_than_a_common_one_in_how_many(index: SearchIndex) -> None:
    put(index, "a", *(f"common {n}" for n in range(20)), "rare")
    [common], [rare] = parsed("common").terms, parsed("rare").terms
    assert (index.how_many(common, 100), index.how_many(rare, 100), index.how_many(common, 5)) == (20, 1, 5)
    assert index.size_in_texts() == 21


def test_signs_of_query_languages_in_a_question_are_only_text(index: SearchIndex) -> None:
    put(index, "a", "a:b & c | (d) OR e NOT NEAR(x, y)")
    signs = ("a:b", "c | d", "(e)", "NEAR(x", "NOT y", "' OR 1=1 --", '"', '"unclosed', "e* AND")
    for question in signs:
        query = parsed(f"{question} e")
        found = index.matches(Wanted(query.terms, every=False, excluded=query.excluded), 5)
        is_phrase = question == '"unclosed'  # with what follows it, which is not in the text
        assert [one.step for one in found] == ([] if is_phrase else [1]), question


def test_the_texts_of_a_source_are_read_in_order_a_page_at_a_time(index: SearchIndex) -> None:
    put(index, "a", *(f"text {number}" for number in range(1, 8)))
    put(index, "a", "it failed", kind="output", failed=True, anew=False, first=8)
    put(index, "b", "of another")

    def steps(**wanted: object) -> list[int]:
        return [one.step for one in index.read("a", TextRange(**wanted))]  # type: ignore[arg-type]

    assert steps(limit=3) == [1, 2, 3]
    assert steps(limit=3, first=4) == [4, 5, 6]
    assert steps(limit=3, last=6) == [4, 5, 6]
    assert steps(limit=9, kinds=("output",)) == [8] == steps(limit=9, failed=True)
    assert [one.text for one in index.read("a", TextRange(limit=1, first=8))] == ["it failed"]
    assert index.read("unknown", TextRange(limit=3)) == []


def test_the_newest_texts_that_lack_vectors_are_found_whatever_words_they_have(index: SearchIndex) -> None:
    put(index, "a", "old", at=NOW - 100)
    put(index, "b", "new")
    put(index, "c", "printed", kind="output")

    def lacking(limit: int = 9, **conditions: Any) -> list[str]:
        ids = index.lacking(Wanted((), **conditions), "m", limit)
        sources = {one.id: one.source for one in index.having(ids)}
        return [sources[id] for id in ids]

    assert lacking(kinds=("answer",)) == ["b", "a"]
    assert lacking(since=NOW - 50, kinds=("answer",)) == ["b"]
    assert len(lacking(2)) == 2


def test_vectors_are_kept_for_texts_at_most_until_these_are_gone(index: SearchIndex) -> None:
    put(index, "a", "one")
    [id] = index.lacking(Wanted(()), "m", 9)
    index.put_vectors("m", {id: b"1234"})
    assert index.vectors(Wanted(()), "m") in ({id: b"1234"}, {})
    assert index.vectors(Wanted((), kinds=("output",)), "m") == {} == index.vectors(Wanted(()), "another")
    assert len(index.lacking(Wanted(()), "m", 9)) + len(index.vectors(Wanted(()), "m")) == 1
    index.drop(["a"])
    assert index.vectors(Wanted(()), "m") == {} == dict.fromkeys(index.having([id]))
