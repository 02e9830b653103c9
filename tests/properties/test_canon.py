"""Canonical JSON: equal values, equal bytes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, strategies as st
from tests.properties.strategies import json_values
from tests.support.examples import examples

from segue.core.base import canonical


def shuffled(value: Any, chance: Any) -> Any:
    """The same value with its keys in another order."""
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled(value[key], chance) for key in keys}
    return [shuffled(inner, chance) for inner in value] if isinstance(value, list) else value


@examples(300)
@given(json_values)
def test_encoding_what_was_decoded_gives_the_same_bytes(value: Any) -> None:
    body = canonical.encode(value)
    assert canonical.encode(canonical.decode(body)) == body


@examples(200)
@given(json_values, st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(value: Any, chance: Any) -> None:
    assert canonical.encode(shuffled(value, chance)) == canonical.encode(value)


@examples(200)
@given(json_values)
def test_any_other_reader_of_json_reads_the_same_value(value: Any) -> None:
    assert json.loads(canonical.encode(value)) == value
