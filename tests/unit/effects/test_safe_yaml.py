"""What is written as YAML is read back the same, by readers of YAML 1.1 and 1.2."""

from __future__ import annotations

import yaml
from hypothesis import given, strategies as st
from tests.support.examples import examples

from segue.effects.files.safe_yaml import read_yaml, write_yaml

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
