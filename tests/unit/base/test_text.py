"""Every durable text passes one door; names that could leave a folder do not."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as some
from tests.support import made_up_secrets

from segue.core.base.text import NAME_LIMIT, clean_name, clean_text, is_harmless, slug
from segue.core.sessions import commands as do
from segue.core.sessions.cleaning import clean_command
from segue.effects.redaction.redact import redact
from segue.errors import BadName, TextTooLong, UsageError


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("plain", "plain"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("dos\r\nold mac\r", "dos\nold mac\n"),
        ("nul\x00bell\x07del\x7f", "nulbelldel"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("c1\x9b31m", "c131m"),
        ("bidi\u202eevil\u2069", "bidievil"),
        ("\ufeffbom", "bom"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("emoji 🙂 and שלום and 日本語", "emoji 🙂 and שלום and 日本語"),
    ],
)
def test_control_characters_are_taken_out_and_all_else_stays(raw: str, clean: str) -> None:
    assert clean_text(raw) == clean


def test_a_text_over_its_limit_is_refused_in_bytes_and_never_cut() -> None:
    assert clean_text("é" * 5, limit=10) == "é" * 5
    with pytest.raises(TextTooLong, match="the note has 12 bytes; the limit is 11"):
        clean_text("é" * 6, what="note", limit=11)
    with pytest.raises(TextTooLong, match="10,000,000"):
        clean_text("x" * 10_000_000)


@pytest.mark.parametrize("name", ["a", "A1", "2026-01-02-coding-shop-001", "a.b_c-d", "x" * NAME_LIMIT])
def test_a_name_that_can_be_one_is_taken_as_it_is(name: str) -> None:
    assert clean_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "a\\b", "a..b", "/etc", ".hidden", "-x", "a b", "a\x00", "é", "a.", "a\n",
     "con", "NUL.txt", "com1", "x" * (NAME_LIMIT + 1)],
)  # fmt: skip
def test_a_name_that_cannot_be_one_is_refused(name: str) -> None:
    with pytest.raises(BadName) as raised:
        clean_name(name)
    assert raised.value.hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [("My Shop!", "my-shop"), ("--a--", "a"), ("日本", "project"), ("", "project"), ("a" * 60, "a" * 40)],
)
def test_a_slug_is_never_empty(text: str, expected: str) -> None:
    assert slug(text) == expected


def test_every_text_of_a_command_is_cleaned_and_masked() -> None:
    def mask(text: str) -> str:
        return text.replace("secret", "***")

    thread = clean_command(do.Thread(" top\x00ic secret ", notes=("a secret", "b\x07")), mask)
    assert thread == do.Thread("topic ***", notes=("a ***", "b"))
    context = clean_command(do.NoteContext({"secret": ["secret", {"x": "\x1b[1msecret"}], "n": 3}), mask)
    assert context.values == {"***": ["***", {"x": "***"}], "n": 3}


@pytest.mark.parametrize("command", [do.Add("  "), do.Note("\x00"), do.Decide(""), do.Answer("q", " ")])
def test_an_empty_wish_is_refused(command: do.Command) -> None:
    with pytest.raises(UsageError, match="is empty"):
        clean_command(command)


def test_a_reason_may_be_empty() -> None:
    assert clean_command(do.Block("item", "")) == do.Block("item", "")


TELLING = """password passwd pwd pass psk secret token key api auth basic bearer login user set export echo
use is sqlplus oracle scott expdp seed phrase mnemonic
recovery words access conn dsn sig credential cookie wif value
abandon ability able about above absent absorb abstract absurd abuse access accident hunter2secret9 tiger1234
Zk3JQ0m9xw1r6T 8f14e45fceea16 s k sk m n o AKIA ghp xoxb 5432 1 443""".split()
HARMLESS_TEXTS = some.text(alphabet="aAbcdefghijklmnopqrstuvwxyzXYZ0189 ,.;()/#!?_-\t\u00e9\x07", max_size=90)
TELLING_TEXTS = some.lists(
    some.sampled_from(TELLING).map(lambda word: word + " ")
    | some.tuples(
        some.sampled_from(TELLING), some.sampled_from(["/", ". ", "? ", ", ", "#", "!", " (", ") "])
    ).map("".join),
    max_size=24,
).map("".join)


@given(HARMLESS_TEXTS | TELLING_TEXTS)
def test_what_is_taken_for_harmless_comes_back_as_it_was(text: str) -> None:
    if is_harmless(text := text.strip()):
        assert clean_text(text, mask=redact).strip() == text


@pytest.mark.parametrize("seed", range(5))
def test_no_text_with_a_secret_is_taken_for_harmless(seed: int) -> None:
    planted = [
        "seed phrase is abandon ability able about above absent absorb abstract absurd abuse access accident",
        "sqlplus scott/tiger1234",
        "mysql login password hunter2secret9",
        *(text for _, text, _ in made_up_secrets.everywhere(seed)),
        *(made.text for made in (*made_up_secrets.bare(seed), *made_up_secrets.told(seed))),
    ]
    assert [text for text in planted if is_harmless(text) and redact(text) != text] == []
