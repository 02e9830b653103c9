"""Days as words: what a memory is of, and what a query names."""

from __future__ import annotations

import pytest

from segue.core.memories.dates import days_asked, days_of

TODAY = "2026-01-15T08:00:00.000000Z"


def test_a_moment_has_words_for_its_day_month_week_and_year() -> None:
    found = days_of("2026-11-15T08:00:00.000000Z")
    assert set(found) == {"~2026-11-15", "~-11-15", "~2026-11", "~-11", "~2026", "~2026w46"}
    assert days_of("") == days_of("never") == []


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("what broke on 25 May, 2022?", ["~2022-05-25", "~2022-05"]),
        ("August 3, 2023", ["~2023-08-03", "~2023-08"]),
        ("the 1st of May", ["~-05-01", "~-05"]),
        ("in January 2022", ["~2022-01"]),
        ("what did we learn in May", ["~-05"]),
        ("deployed 2022-05-01", ["~2022-05-01", "~2022-05"]),
        ("since 2021", ["~2021"]),
        ("yesterday", ["~2026-01-14"]),
        ("last month", ["~2025-12"]),
        ("last week", ["~2026w02"]),
        ("last year", ["~2025"]),
    ],
)
def test_a_query_names_days(query: str, words: list[str]) -> None:
    assert days_asked(query, TODAY) == words


@pytest.mark.parametrize(
    "query", ["may we merge", "march on", "CVE-2023-4863", "release 2024.1", "E2022", "src/2024/a.py", "31"]
)
def test_what_only_looks_like_a_day_is_none(query: str) -> None:
    assert days_asked(query, TODAY) == []


def test_every_word_that_is_asked_for_is_one_that_a_memory_of_that_day_has() -> None:
    for query in ("15 November 2026", "15 November", "November 2026", "in November", "2026-11-15", "2026"):
        assert set(days_asked(query)) <= set(days_of("2026-11-15T00:00:00Z")), query
