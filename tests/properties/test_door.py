"""The door: what passes it is clean, and passing twice changes nothing."""

from __future__ import annotations

import ntpath
import unicodedata
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given, strategies as st
from tests.properties.strategies import ODD
from tests.support.examples import examples

from segue.core.base.text import clean_name, clean_text, slug
from segue.errors import BadName

nasty = st.lists(
    st.sampled_from(
        [
            *ODD,
            "\x1b",
            "[",
            "]",
            "31m",
            "0;t",
            "\x07",
            "\x1b\\",
            "\r",
            "\n",
            "\u202e",
            "\x9b",
            "\ud800",
            "A",
            ";",
        ]
    )
    | st.text(max_size=3),
    max_size=12,
).map("".join)


@examples(400)
@given(nasty)
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean_text(clean_text(text)) == clean_text(text)


@examples(400)
@given(nasty)
def test_no_control_character_and_no_surrogate_gets_in(text: str) -> None:
    clean = clean_text(text)
    assert not [c for c in clean if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    assert not {*clean} & {*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"}


VISIBLE = st.characters(exclude_categories=("Cc", "Cs", "Cf")).filter(
    lambda c: not 0xE0000 <= ord(c) < 0xE1000
)


@given(st.text(VISIBLE, max_size=30))
def test_a_text_without_controls_passes_as_it_is(text: str) -> None:
    assert clean_text(text) == text


@pytest.mark.parametrize(
    "text", ["🎈", "👩‍👩‍👧", "שלום עולם", "سلام", "\u200fרtl\u200e", "日本語", "a\tb\nc"]
)
def test_emoji_and_right_to_left_text_pass_as_they_are(text: str) -> None:
    assert clean_text(text) == text


parts = st.lists(
    st.sampled_from(
        ["a", "B", "7", ".", "..", "/", "\\", "-", "_", "~", "C:", "con", "nul", "\0", " ", "é", "COM1"]
    ),
    max_size=6,
).map("".join)


@examples(500)
@given(parts | st.text(max_size=10))
def test_a_name_that_is_accepted_stays_in_its_folder(name: str) -> None:
    try:
        clean_name(name)
    except BadName:
        return
    for path in (PurePosixPath("home", name), PureWindowsPath("home", name)):
        assert path.parent == type(path)("home")
        assert path.name == name
    reserved = getattr(ntpath, "isreserved", None) or (lambda n: PureWindowsPath(n).is_reserved())
    assert not reserved(name)
    assert name.isascii()
    assert name.strip(". ") == name


@given(st.text(max_size=60))
def test_a_slug_of_any_text_is_a_part_of_a_name(text: str) -> None:
    assert clean_name(f"x-{slug(text)}")
