"""Phrases are found as their whole expression would find them, though it is only asked if a first word is
there."""

from __future__ import annotations

import pytest

from segue.core.base.lazy import phrases

FOUND = phrases("can't you, s'il te plaît, peux-tu, push*, looks good, für", "改成, 请")
FIRST = phrases("thanks, danke", at_start=True)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Can't you see", "Can't you"),
        ("cant you see", "cant you"),
        ("can’t  you see", "can’t  you"),
        ("S'il te plaît", "S'il te plaît"),
        ("Et peux-tu ajouter", "peux-tu"),
        ("it was PUSHED twice", "PUSHED"),
        ("Looks\ngood to me", "Looks\ngood"),
        ("FÜR mich", "FÜR"),
        ("把它改成蓝色", "改成"),
        ("请。", "请"),
    ],
)
def test_a_phrase_is_found_however_it_is_written(text: str, found: str) -> None:
    match = FOUND.search(text)
    assert match is not None
    assert match[0] == found
    assert [one[0] for one in FOUND.finditer(text)] == [found]
    assert FOUND.sub("", text) == text.replace(found, "")


@pytest.mark.parametrize("text", ["", "can we", "looks", "impush", "peu x", "furs", "plus"])
def test_other_words_are_not_found(text: str) -> None:
    assert FOUND.search(text) is None
    assert [*FOUND.finditer(text)] == []
    assert FOUND.sub("", text) == text


def test_a_phrase_at_the_start_stands_behind_nothing_but_signs() -> None:
    assert FIRST.match("… Danke dir")
    assert FIRST.search("oh, thanks") is None
