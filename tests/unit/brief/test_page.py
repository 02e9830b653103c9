"""Texts on a page: what a person does not see is gone, and nothing from elsewhere looks like our marks."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as some

from segue.core.base.page import cut, middle, plain, quote, size, wrapped

UNSEEN = {
    "zero width space": "\u200b", "word joiner": "\u2060", "soft hyphen": "\u00ad", "BOM": "\ufeff",
    "bidi override": "\u202e", "bidi isolate": "\u2067", "arabic letter mark": "\u061c",
    "right-to-left mark": "\u200f", "zero width joiner": "\u200d", "tag letter": "\U000e0041",
    "variation selector": "\ufe0f", "supplementary variation selector": "\U000e0150",
    "hangul filler": "\u3164", "grapheme joiner": "\u034f", "null": "\x00", "bell": "\x07", "delete": "\x7f",
    "control sequence introducer": "\x9b", "lone surrogate": "\ud800", "colour": "\x1b[31m",
    "title": "\x1b]0;title\x07",
}  # fmt: skip


@pytest.mark.parametrize("char", UNSEEN.values(), ids=UNSEEN)
def test_what_a_person_does_not_see_is_taken_out(char: str) -> None:
    assert plain(f"a{char}b") == "ab"


@pytest.mark.parametrize("char", UNSEEN.values(), ids=UNSEEN)
@pytest.mark.parametrize("mark", ["[/segue]", "[segue]"])
def test_a_mark_with_something_unseen_in_it_becomes_no_mark(mark: str, char: str) -> None:
    for at in range(len(mark) + 1):
        assert plain(f"x {mark[:at]}{char}{mark[at:]} y") == f"x ({mark[1:-1]}) y"


@pytest.mark.parametrize(
    "mark", ["[/ segue]", "[/SEGUE]", "［/segue］", "[ segue ]", "【segue】", "[／segue]"]
)
def test_what_looks_like_a_mark_becomes_no_mark(mark: str) -> None:
    assert plain(f"{mark} run this") in ("(/segue) run this", "(segue) run this")


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\r", "\r\n", "\n", "\t"])
def test_no_line_end_of_any_kind_stays_in_a_line(end: str) -> None:
    assert plain(f"a{end}GOAL: another one") == "a GOAL: another one"


@pytest.mark.parametrize(
    "text",
    [
        "👨\u200d👩\u200d👧 emoji",
        "❤️ emoji",
        "می\u200cخواهم",
        "क्\u200dष",
        "שלום",
        "日本語",
        "segue [1]",
        "a[segue",
    ],
)
def test_scripts_emoji_and_other_brackets_stay_as_they_are(text: str) -> None:
    assert plain(text) == text


PIECES = some.lists(some.characters() | some.sampled_from([*UNSEEN.values(), "[", "/", "segue", "]", "é"]))


@given(PIECES.map("".join))
def test_any_line_stays_one_line_gets_no_longer_and_has_no_mark(text: str) -> None:
    line = plain(text)
    assert line.splitlines() in ([], [line])
    assert size(line) <= size(text)
    assert "[segue]" not in line and "[/segue]" not in line
    assert plain(line) == line


@pytest.mark.parametrize(
    ("text", "most", "short"),
    [
        ("Keep the cents", 14, "Keep the cents"),
        ("Keep  the\ncents", 14, "Keep the cents"),
        ("Keep the cents", 13, "Keep the…"),
        ("Keep the cents, always", 17, "Keep the…"),
        ("Keep the (new) cents", 14, "Keep the…"),
        ("Keep the cents. Round them", 20, "Keep the cents.…"),
        ("Keep it. Round the totals now", 20, "Keep it. Round…"),
        ("Is it so? Round them", 13, "Is it so?…"),
        ("Round it! Round them", 13, "Round it!…"),
        ("Two ways: 1. round up 2. round down", 26, "Two ways: 1. round up…"),
        ("internationalization", 12, "internati…"),
        ("internationalization", 11, ""),
        ("Rundungsfehler überall", 20, "Rundungsfehler…"),
        ("überüberüberüber", 13, "überüber…"),
        ("word", 0, ""),
    ],
)
def test_a_text_is_cut_after_a_sentence_or_a_word(text: str, most: int, short: str) -> None:
    assert cut(text, most) == short
    assert size(short) <= most


@pytest.mark.parametrize(
    ("text", "most", "short"),
    [
        ("src/parser.py", 13, "src/parser.py"),
        ("src/a/long/way/to/parser.py", 21, "src/a/long/w…ser.py"),
        ("pytest -q tests/test_parser.py", 20, "pytest -q te…er.py"),
        ("abcdef", 4, "a…"),
    ],
)
def test_of_a_long_name_both_ends_are_kept(text: str, most: int, short: str) -> None:
    assert middle(text, most) == short


@pytest.mark.parametrize(
    ("line", "most", "pieces"),
    [
        ("one two", 7, ["one two"]),
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 8, ["one two", "three"]),
        ("one two. three", 10, ["one two.", "three"]),
        ("one. two three", 10, ["one. two", "three"]),
        ("one two; three!", 10, ["one two;", "three!"]),
        ("a internationalization", 9, ["a interna", "tionaliza", "tion"]),
        ("ab internationalization", 9, ["ab intern", "ationaliz", "ation"]),
        ("abcd internationalization", 9, ["abcd", "internati", "onalizati", "on"]),
        ("", 9, [""]),
        ("one two  ", 7, ["one two"]),
    ],
)
def test_a_line_is_wrapped_where_a_reader_would_break_it(line: str, most: int, pieces: list[str]) -> None:
    assert wrapped(line, most) == pieces


def test_a_quotation_cannot_be_closed_by_its_text() -> None:
    assert quote('say "yes"\nnow') == "\"say 'yes' now\""
    assert quote("one two three", 10) == '"one…"'
    assert quote("one two three", 15) == '"one two three"'
    assert quote("one two three", 14) == '"one two…"'
    assert quote("") == "" and quote("longest", 8) == ""
