"""Very long JSON is shortened in its strings, and stays the same JSON otherwise."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from segue.core.base import long_json
from segue.core.base.long_json import LongJson

KEPT = 96
TEXTS = st.text(st.sampled_from('ab \n"\\äß漢😀\x01'), max_size=600)
VALUES = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner),
)


def shortened(body: bytes, piece: int = 7) -> bytes:
    long = LongJson()
    for at in range(0, len(body), piece):
        long.feed(body[at : at + piece])
    return long.result()


@pytest.fixture(autouse=True, scope="module")
def small() -> Any:
    before = long_json._HEAD_BYTES, long_json._TAIL_BYTES
    long_json._HEAD_BYTES = long_json._TAIL_BYTES = KEPT
    yield
    long_json._HEAD_BYTES, long_json._TAIL_BYTES = before


def same_but_shorter(short: Any, whole: Any) -> bool:
    if isinstance(whole, str):
        head, mark, tail = short.partition(" … ")
        return short == whole or (bool(mark) and whole.startswith(head) and whole.endswith(tail))
    if isinstance(whole, list):
        return len(short) == len(whole) and all(map(same_but_shorter, short, whole))
    if isinstance(whole, dict):
        pairs = zip(short.items(), whole.items(), strict=True)
        return all(same_but_shorter(a, b) and same_but_shorter(x, y) for (a, x), (b, y) in pairs)
    return bool(short == whole)


def keys_differ_early(value: Any) -> bool:
    """Whether no two keys could become one by being shortened."""
    if isinstance(value, dict):
        return len({key[:8] for key in value}) == len(value) and all(map(keys_differ_early, value.values()))
    return not isinstance(value, list) or all(map(keys_differ_early, value))


@settings(deadline=None)
@given(VALUES.filter(keys_differ_early), st.booleans(), st.integers(1, 50))
def test_a_shortened_text_is_the_same_json_with_shorter_strings(value: Any, ascii: bool, piece: int) -> None:
    body = json.dumps(value, ensure_ascii=ascii).encode()
    assert same_but_shorter(json.loads(shortened(body, piece)), value)


def test_strings_that_are_not_long_stay_byte_for_byte() -> None:
    body = json.dumps({"a": ["x" * KEPT, 'say "hi" \\ \n'], "b": 1.5e300, "c": "é" * 20}).encode()
    assert shortened(body) == body


def test_of_a_long_string_the_beginning_and_the_end_are_kept_in_whole_words() -> None:
    value = json.loads(shortened(json.dumps({"text": "begin " + "middle " * 100 + "end"}).encode()))
    assert value["text"].startswith("begin middle ") and value["text"].endswith(" middle end")
    assert " … " in value["text"] and len(value["text"]) < 2 * KEPT + 5
    assert set(value["text"].split()) == {"begin", "middle", "…", "end"}


def test_what_is_too_long_without_long_strings_is_an_empty_object() -> None:
    long = LongJson(bytes_max=100)
    for _ in range(100):
        long.feed(b'["a","b"],')
    assert long.result() == b"{}"


def test_a_long_run_of_backslashes_is_read_as_quickly_as_any_other_text() -> None:
    body = json.dumps({"text": "\\" * 5_000_001, "more": 1}).encode()
    started = time.process_time()
    assert json.loads(shortened(body, 1 << 18))["more"] == 1
    assert time.process_time() - started < 1
