"""Masking keeps the JSON around a secret, is done once, and never fails, whatever it is given."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from tests.support import made_up_secrets as secrets
from tests.support.examples import examples

from segue.effects.redaction.hint import may_hold_secret
from segue.effects.redaction.redact import redact, redact_bytes
from segue.effects.redaction.scan import mask_text

KIND = re.compile(r":[a-z-]+(?=\])")
CORPUS = os.environ.get("SEGUE_CORPUS", "")
"""A folder of real transcripts; read here, because tests see no settings of yours."""
MASKED_SHARE_MAX = 0.02
"""Of their lines."""

SECRETS = [made.text for made in (*secrets.bare(11), *secrets.told(11))]
TELLING = (
    "password token= secret: api_key --token Authorization: Bearer basic :// @ -u login value name "
    "-----BEGIN sk- eyJ AKIA ghp_ PRIVATE\x20KEY----- -----END \\n \\ \\\\ \" ' ` , ; : = => { } [ ] ( ) < > "
    "\x1b[32m \x1b]8;;x \x1b\\ \x07 \x9b0m \u200b \xad \U000e0041 \ufe0f "
    "\\u001b[1m \\x1b[0m \n \t \r \x1b[0m é 日 \x80\x80 😀 \u2028 \x00 [redacted:jwt] abc12345 hunter2x ${X} "
    "/"
).split(" ")
PIECES = st.sampled_from([*TELLING, " "]) | st.sampled_from(SECRETS) | st.text(max_size=8)
TEXTS = st.lists(PIECES, max_size=24).map("".join)
VALUES = st.recursive(
    TEXTS | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)


def shape(value: Any) -> Any:
    """A value without its strings."""
    if isinstance(value, str):
        return str
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    if isinstance(value, dict):
        return [shape(inner) for inner in value.values()]
    return value


class Pairs(list[tuple[str, Any]]):
    """An object with all its keys, also with those that masking made equal."""


def structure(value: Any) -> Any:
    if isinstance(value, Pairs):
        return ("object", [structure(inner) for _, inner in value])
    return [structure(inner) for inner in value] if isinstance(value, list) else shape(value)


def parsed(line: str | bytes) -> Any:
    return json.loads(line, object_pairs_hook=Pairs)


@examples(400)
@given(VALUES, st.booleans(), st.integers(0, 2))
def test_json_stays_json_with_the_same_structure(value: Any, ascii_only: bool, depth: int) -> None:
    line = json.dumps(value, ensure_ascii=ascii_only)
    for _ in range(depth):
        line = json.dumps({"text": line, "n": 1}, ensure_ascii=ascii_only)
    masked = redact_bytes(line.encode())
    assert structure(parsed(masked)) == structure(parsed(line))


@examples(400)
@given(TEXTS, st.integers(0, 2))
def test_masking_twice_is_masking_once(text: str, depth: int) -> None:
    once = redact(text)
    assert redact(once) == once
    for _ in range(depth):
        text = json.dumps({"text": text})
    masked = redact_bytes(text.encode())
    assert redact_bytes(masked) == masked


KEY_LINES = ("Zk3JQ0m9xw1r6TtUu5Vv8Ww2XqbF7LcE", "pR5sD8gH1jK4lZ7xC0vB3nM6qW9eT2yU", "u8Io5Pa2")
KEY_BLOCK = ("-----BEGIN RSA PRIVATE " + "KEY-----", *KEY_LINES, "-----END RSA PRIVATE " + "KEY-----")
UNSEEN = (
    "\x7f\xad",
    "a\xad",
    "x\u200d\u200d",
    "\u200b",
    "\x00",
    "\x1b",
    "\x1b[0m",
    "\x9b0m",
    "\ufeff",
    "\u202e",
)


def key_blocks_with(sign: str) -> list[str]:
    """A private key with the sign before, inside and after its first line, its lines and its last line."""
    block = "\n".join(KEY_BLOCK)
    first, last = len(KEY_BLOCK[0]), len(block) - len(KEY_BLOCK[-1])
    places = (
        0,
        3,
        12,
        first - 2,
        first,
        first + 1,
        first + 20,
        last - 1,
        last,
        last + 3,
        last + 12,
        len(block),
    )
    return [block[:at] + sign + block[at:] for at in places]


def without_kinds(masked: str) -> str:
    """A masked text by which two ways to write the same JSON are compared: a header may be taken for one kind
    or the other, and a word with a sign behind it for the beginning of what follows."""
    return re.sub(r"\w*[^\w\n]?\[redacted\]", "[redacted]", KIND.sub("", masked))


@examples(400)
@given(TEXTS)
@example("\x7f\xad" + "\n".join(KEY_BLOCK))
@example("a\u200d\u200d" + "\n".join(KEY_BLOCK))
@example("password=NGayiJ8q5\u202e5k2SkiM\x80\x7f0")
@example("mnemonic: pistol legal dragon worth hazard vivid filter pistol sausage dragon sausage ocean\x7fA")
def test_both_entries_agree(text: str) -> None:
    masked = redact(text)
    assert json.loads(redact_bytes(json.dumps(text).encode())) == masked
    if "\\" not in text:  # a backslash before an escape could belong to either
        raw = json.loads(redact_bytes(json.dumps(text, ensure_ascii=False).encode()))
        assert without_kinds(raw) == without_kinds(masked)


@pytest.mark.parametrize("sign", UNSEEN)
def test_both_entries_agree_on_a_key_with_an_unseen_character_anywhere(sign: str) -> None:
    for text in key_blocks_with(sign):
        masked = redact(text)
        assert not any(line[:12] in masked for line in KEY_LINES[:2]), text
        for ascii_only in (True, False):
            line = json.dumps(text, ensure_ascii=ascii_only).encode()
            assert json.loads(redact_bytes(line)) == masked, text


@examples(400)
@given(TEXTS)
def test_a_text_in_which_something_is_masked_was_never_said_to_hold_nothing(text: str) -> None:
    assert may_hold_secret(text) or mask_text(text) == text


@examples(300)
@given(st.binary(max_size=300) | st.lists(PIECES.map(str.encode) | st.binary(max_size=4)).map(b"".join))
def test_any_bytes_can_be_masked_and_masked_again_stay_the_same(chunk: bytes) -> None:
    masked = redact_bytes(chunk)
    assert redact_bytes(masked) == masked


@given(st.text(st.characters(), max_size=60))
def test_a_secret_is_masked_whatever_stands_before_it(text: str) -> None:
    assert "ghp_16C7e42F292c6912E7710c838347Ae178B4a" not in redact(
        f"{text} ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    )


@pytest.mark.skipif(not CORPUS, reason="NOT TESTED on real transcripts: SEGUE_CORPUS names no folder")
@pytest.mark.timeout(900)
def test_real_transcripts_stay_whole_and_nearly_all_of_them_as_they_are() -> None:
    lines = changed = 0
    for path in sorted(Path(CORPUS).rglob("*.json*")):
        for line in path.read_bytes().splitlines():
            masked = redact_bytes(line)
            lines += 1
            if masked != line:
                changed += 1
                assert redact_bytes(masked) == masked
                try:
                    before = parsed(line)
                except ValueError:
                    continue
                assert structure(parsed(masked)) == structure(before), path
    assert lines and changed <= MASKED_SHARE_MAX * lines
