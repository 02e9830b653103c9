"""What is written as YAML is read back the same, by readers of YAML 1.1 and 1.2."""

from __future__ import annotations

import time

import pytest
import yaml
from hypothesis import given, strategies as st
from tests.support.examples import examples

from segue.effects.files import safe_yaml
from segue.effects.files.safe_yaml import read_yaml, write_yaml
from segue.errors import BadImport

NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 2**63)
SCALARS = (
    NUMBERS
    | st.booleans()
    | st.none()
    | st.sampled_from(["1e-06", "1e5", "7e+10", "1.0", "012", "1_0", "no"])
)


@examples(200)
@given(st.dictionaries(st.sampled_from("abcdef"), SCALARS))
def test_numbers_and_texts_that_look_like_numbers_come_back_as_they_were(values: dict[str, object]) -> None:
    text = write_yaml(values)
    assert read_yaml(text.encode()) == values
    assert yaml.safe_load(text) == values


def test_a_number_that_an_earlier_version_wrote_without_a_point_is_a_number() -> None:
    assert read_yaml(b"cost: 1e-06\nhash: 7e10\n") == {"cost": 1e-06, "hash": "7e10"}


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (b'a: "' + rb"\x41" * 2_000_000 + b'"\n', "bytes without a space"),
        (b"a: " + b"1" * 5_000_000 + b"\n", "bytes without a space"),
        (b"agents:\n" + b"".join(b"  a%d: {note: x}\n" % n for n in range(100_000)), "values"),
    ],
    ids=["escapes", "digits", "agents"],
)
def test_what_would_take_long_to_read_is_refused(document: bytes, told: str) -> None:
    started = time.process_time()
    with pytest.raises(BadImport, match=told):
        read_yaml(document)
    assert time.process_time() - started < 60


def test_a_document_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_yaml, "SECONDS_MAX", 0.0)
    with pytest.raises(BadImport, match="more than 0 seconds"):
        read_yaml(b"a: " + b"[" + b"b, " * 10_000 + b"]\n")
