"""Tokens: an estimate from above that adds up."""

from __future__ import annotations

from hypothesis import given, strategies as st

from segue.core.base.token_estimate import estimate, estimate_line


@given(st.lists(st.text(st.characters(exclude_characters="\n"), max_size=80), min_size=1, max_size=12))
def test_a_text_takes_what_its_lines_take(lines: list[str]) -> None:
    assert estimate("\n".join(lines)) == (
        sum(map(estimate_line, lines)) if any(lines) or len(lines) > 1 else 0
    )


def test_nothing_takes_nothing() -> None:
    assert estimate("") == 0


def test_the_estimate_is_above_what_is_known_of_public_tokenizers() -> None:
    known = {  # counted with o200k
        "The quick brown fox jumps over the lazy dog.": 10,
        "def refresh_token(user_id: int) -> str:": 11,
        "npm run build -- --mode production": 7,
        "2026-11-15T09:30:00Z": 13,
    }
    for text, tokens in known.items():
        assert tokens <= estimate(text) <= 3 * tokens


def test_letters_that_are_not_latin_take_more() -> None:
    assert estimate("数" * 30) > estimate("word" * 30) / 2
    assert estimate("数" * 30) >= 30
