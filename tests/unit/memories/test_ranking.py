"""How memories are ranked: days, neighbours in a session, sessions as a whole, vectors that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from segue.api.segue import Segue
from segue.core.memories.ranking import (
    Hit,
    ScoredMemory,
    SessionNeighbours,
    Texts,
    by_session,
    with_neighbours,
)
from segue.effects.vectors.embedder import HashEmbedder

MEANINGS = ({"car", "automobile", "vehicle"}, {"dog", "puppy", "hound"}, {"soup", "broth", "stew"})


class Meanings:
    """An embedder that knows a few words that mean the same, and can be told to fall behind."""

    name, semantic, ready = "meanings", True, True

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._one(set(text.lower().split())) for text in texts]

    @staticmethod
    def _one(words: set[str]) -> list[float]:
        return [0.1, *(1.0 if words & group else 0.0 for group in MEANINGS)]


@pytest.fixture
def seg(tmp_path: Path):
    with Segue(home=tmp_path / "home", folder=tmp_path, embedder=HashEmbedder()) as opened:
        yield opened


def contents(seg: Segue, query: str, **more: object) -> list[str]:
    return [one.content for one in seg.recall(query, **more)]


def test_a_memory_is_found_by_the_day_that_it_is_of(seg: Segue):
    seg.remember("the deploy went wrong, again", created="2026-03-02T10:00:00.000000Z")
    seg.remember("the deploy went wrong, once more", created="2026-05-25T10:00:00.000000Z")
    seg.remember("the deploy went wrong, a third time", created="2026-06-25T10:00:00.000000Z")
    assert contents(seg, "deploy on 25 May 2026")[0] == "the deploy went wrong, once more"
    assert contents(seg, "what about the deploy in March")[0] == "the deploy went wrong, again"
    assert contents(seg, "deploy 2026-06")[0] == "the deploy went wrong, a third time"


def test_a_memory_is_found_by_yesterday_and_today(seg: Segue):
    seg.remember("pool size", created="2025-01-01T00:00:00.000000Z")
    fresh = seg.remember("pool size doubled").id
    assert seg.recall("what did we learn today")[0].id == fresh


def test_a_memory_with_a_time_of_its_own_is_of_that_time(seg: Segue):
    seg.remember("prices rise", valid_from="2026-02-01T00:00:00.000000Z")
    seg.remember("prices fall")
    assert contents(seg, "prices in February 2026")[0] == "prices rise"


def test_what_stands_beside_a_good_answer_in_its_session_is_found_too(seg: Segue):
    for number in range(12):
        seg.remember(f"note {number} of nothing in particular", session="talk")
    seg.remember("which car did we choose", session="talk")
    seg.remember("the blue one with five doors", session="talk")
    seg.remember("in another talk the red one", session="other")
    found = contents(seg, "which car did we choose", top_k=3)
    assert found[0] == "which car did we choose" and "the blue one with five doors" in found


def test_a_name_is_asked_for_by_itself_and_lends_nothing(seg: Segue):
    seg.remember("parse_user_id raises for a dash", session="talk")
    seg.remember("lunch is at noon", session="talk")
    first, *rest = seg.recall("parse_user_id")
    assert first.content.startswith("parse_user_id")
    assert all(one.score < 0.3 * first.score for one in rest)


def test_neighbours_are_lent_the_most_that_anybody_offers_and_unknown_ones_come_in():
    ranked = [ScoredMemory(1, 1.0, 0.0, None), ScoredMemory(3, 0.8, 0.0, None)]
    places = {1: SessionNeighbours("s", [[2], [3]]), 3: SessionNeighbours("s", [[2, 4], [1]])}
    found = {one.no: round(one.score, 3) for one in with_neighbours(ranked, places, least=0.1)}
    assert found == {1: 1.08, 3: 0.9, 2: 0.35, 4: 0.3}


def test_a_session_counts_by_what_all_of_its_memories_hold():
    ranked = [ScoredMemory(1, 0.5, 1.0, 0.5), ScoredMemory(2, 0.5, 1.0, 0.5), ScoredMemory(3, 0.4, 1.0, 0.4)]
    sessions = {1: "a", 2: "b", 3: "b"}
    found = Texts([Hit(1, 0b1, 5), Hit(2, 0b1, 5), Hit(3, 0b10, 5)], [2, 1], 10, 5.0)
    assert [name for name, _ in by_session(ranked, sessions, found, 5)] == ["b", "a"]


def test_sessions_are_found_by_what_was_remembered_in_them(seg: Segue):
    seg.remember("the car is blue", session="cars")
    seg.remember("the dog barks", session="dogs")
    seg.remember("nothing of a session")
    assert seg.memories.sessions_about("the car", top_k=1)[0][0] == "cars"


def test_search_stays_good_while_half_the_vectors_are_missing(tmp_path: Path):
    rows = [f"fact {number} about {word}" for number in range(20) for word in ("car", "dog", "soup")]
    with Segue(home=tmp_path / "home", folder=tmp_path, embedder=HashEmbedder()) as seg:
        seg.memories.remember_many([{"content": row} for row in rows[:30]])
    with Segue(home=tmp_path / "home", folder=tmp_path, embedder=Meanings()) as seg:
        seg.memories.remember_many([{"content": row} for row in rows[30:]])
        seg.memories._catch_up = lambda: None  # type: ignore[method-assign]
        by_meaning = contents(seg, "automobile", top_k=10)
        assert by_meaning and all("car" in text for text in by_meaning)
        assert contents(seg, "fact 3 about dog", top_k=3)[0] == "fact 3 about dog", "it has no vector yet"
        assert contents(seg, "fact 17 about dog", top_k=3)[0] == "fact 17 about dog", "it has one"
