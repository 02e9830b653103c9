"""A transcript read in any pieces gives the digest that reading it in one go gives."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, strategies as st
from tests.properties.steps import runs
from tests.support.examples import examples
from tests.support.long_story import story

from segue.core.runs.digest import FORMAT, decode, encode, fold
from segue.core.runs.model import RunDigest
from segue.core.runs.steps import Step


def in_pieces(steps: list[Step], places: list[int]) -> bytes:
    digest = RunDigest()
    edges = [0, *sorted(place % (len(steps) + 1) for place in places), len(steps)]
    for start, stop in pairwise(edges):
        kept = decode(encode(fold(steps[start:stop], digest)))
        assert kept is not None
        digest = kept
    return encode(digest)


@examples(300)
@given(runs, st.lists(st.integers(0, 200), max_size=6))
def test_any_pieces_of_any_steps_give_the_digest_of_all_of_them(steps: list[Step], places: list[int]) -> None:
    assert in_pieces(steps, places) == encode(fold(steps))


@examples(10)
@given(st.integers(0, 1_000), st.lists(st.integers(0, 5_000), max_size=8))
def test_a_long_session_in_pieces_is_the_same_as_in_one_go(seed: int, places: list[int]) -> None:
    steps = story(seed, calls=400, compact_every=90)
    assert in_pieces(steps, places) == encode(fold(steps))


@examples(10)
@given(st.integers(0, 1_000))
def test_a_digest_does_not_grow_with_the_session(seed: int) -> None:
    long = len(encode(fold(story(seed, calls=2_000, compact_every=150))))
    assert long < 400_000


def test_what_another_version_kept_is_not_taken_for_ours() -> None:
    assert decode(encode(RunDigest())) == RunDigest()
    assert decode(bytes((FORMAT - 1,)) + encode(RunDigest())[1:]) is None
    assert decode(b"no digest") is None
