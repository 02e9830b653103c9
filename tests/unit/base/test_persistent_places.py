"""Places: ascending numbers that can be added and taken out without copying all of them."""

from __future__ import annotations

import time

from hypothesis import given, strategies as st

from segue.core.base.persistent_places import Places

CHANGES = st.lists(st.tuples(st.booleans(), st.integers(0, 900)), max_size=60)


@given(st.sets(st.integers(0, 900), max_size=700), CHANGES)
def test_places_are_what_a_sorted_set_is(start: set[int], changes: list[tuple[bool, int]]) -> None:
    places, expected = Places(start), set(start)
    for adds, place in changes:
        before, copy = places, places.flat()
        places = places.added(place) if adds else places.removed(place)
        (expected.add if adds else expected.discard)(place)
        assert places == tuple(sorted(expected)) and len(places) == len(expected)
        assert before.flat() == copy, "the sequence of before stays as it was"
        assert (place in places) == adds
    assert places == Places(expected) and hash(places) == hash(Places(expected))
    assert list(places[:5]) == sorted(expected)[:5]
    if expected:
        assert (places[0], places[-1]) == (min(expected), max(expected))


def seconds_of_changes(size: int) -> float:
    places = Places(range(0, 2 * size, 2))
    started = time.process_time()
    for number in range(2_000):
        places = places.added(number * size // 1_000 | 1).removed(number)
    return time.process_time() - started


def test_a_change_of_many_places_costs_little_more_than_one_of_few() -> None:
    few, many = seconds_of_changes(2_000), seconds_of_changes(200_000)
    assert many < 15 * few + 0.05, "a tuple of a hundred times the size costs a hundred times as much"
