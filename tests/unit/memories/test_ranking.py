"""How memories are ranked: days, neighbours in a session, sessions as a whole, vectors that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from segue.api.segue import Segue
from segue.core.memories.dates import MARK
from segue.core.memories.model import Memory
from segue.core.memories.ranking import (
    Hit,
    Placed,
    ScoredMemory,
    Texts,
    by_session,
    length_of,
    lent,
    rank,
    text_scores,
    with_priors,
)
from segue.core.memories.words import EXACT
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
    places = {1: Placed("s", [[2], [3]]), 3: Placed("s", [[2, 4], [1]])}
    found = {one.no: round(one.score, 3) for one in lent(ranked, places, least=0.1)}
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


# -- which comes first ------------------------------------------------------------------------------

ASKED = "abcd"
"""Four words of a query; of sixty memories twenty hold the first, and one holds the last."""
Held = tuple[str, int, float | None]
"""Which of the words a memory holds, how many words it has, and how near it is; None: it has no vector."""

BY_NAMES: list[Held] = [
    ("bd", 4, None), ("bcd", 30, 0.43), ("bc", 30, 0.86), ("bd", 10, 0.13), ("b", 30, None), ("a", 4, None),
    ("", 10, 0.47), ("a", 10, None), ("a", 30, None), ("b", 10, 0.0), ("a", 10, 0.16), ("", 4, 0.19),
]  # fmt: skip
BY_MEANING: list[Held] = [
    ("abcd", 10, 0.85), ("acd", 4, None), ("abcd", 30, 0.09), ("abd", 30, None), ("a", 4, 0.66),
    ("bc", 4, 0.08), ("ac", 10, None), ("d", 10, None), ("bc", 30, 0.21), ("b", 10, 0.35), ("b", 10, None),
    ("", 10, 0.06),
]  # fmt: skip
BY_LETTERS: list[Held] = [
    ("bd", 4, 0.75), ("bd", 4, 0.63), ("bc", 4, None), ("cd", 10, None), ("ad", 4, 0.77), ("c", 4, None),
    ("a", 4, 0.86), ("c", 10, 0.32), ("ab", 10, 0.09), ("ad", 30, None), ("b", 10, None), ("b", 10, 0.14),
]  # fmt: skip
BY_WORDS: list[Held] = [
    ("acd", 10, None), ("cd", 10, None), ("bcd", 30, None), ("d", 4, None), ("ad", 10, None),
    ("ab", 4, None), ("cd", 30, None), ("abc", 30, None), ("c", 10, None), ("c", 30, None),
    ("b", 30, None), ("a", 30, None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "names", "semantic", "embedded"),
    [
        pytest.param(BY_NAMES, "cd", True, True, id="the exact name comes first, however near others are"),
        pytest.param(
            BY_MEANING, "", True, True, id="prose is found by meaning, with most of the words beside it"
        ),
        pytest.param(BY_LETTERS, "", False, True, id="where vectors know no meanings, words come first"),
        pytest.param(BY_WORDS, "", False, False, id="without vectors it is rare words in short texts"),
    ],
)
def test_answers_come_in_the_order_of_what_they_hold_and_how_near_they_are(
    rows: list[Held], names: str, semantic: bool, embedded: bool
) -> None:
    asked = [EXACT + word if word in names else word for word in ASKED]
    hits = [
        Hit(no, sum(1 << ASKED.index(word) for word in held), length)
        for no, (held, length, _) in enumerate(rows)
        if held
    ]
    near = {no: close for no, (_, _, close) in enumerate(rows) if close is not None}
    found = Texts(hits, (20, 5, 2, 1), 60, 10.0)
    ranked = rank(asked, found, near, semantic=semantic, embedded=embedded)
    assert [one.no for one in ranked] == list(range(len(rows)))
    assert {one.no: one.near for one in ranked} == {no: near.get(no) for no in range(len(rows))}


def test_of_two_that_are_as_good_the_newer_comes_first() -> None:
    ranked = rank(["a"], Texts([Hit(1, 1, 5), Hit(2, 1, 5)], [2], 9, 5.0), {}, semantic=True)
    assert [one.no for one in ranked] == [2, 1]


def test_what_holds_nothing_and_is_not_near_has_no_score() -> None:
    [alone] = rank(["a"], Texts(), {7: 0.0}, semantic=False)
    assert (alone.no, alone.score, alone.text) == (7, 0.0, 0.0)
    [worded] = rank(["a"], Texts([Hit(1, 0, 4)], [0], 1, 4.0), {}, semantic=False, embedded=False)
    assert worded.score == 0.0
    [named] = rank([EXACT + "a"], Texts(), {7: 0.3}, semantic=True)
    assert named.score == pytest.approx(0.3), "it does not hold the name"


def test_a_day_of_which_nothing_is_remembered_is_as_if_it_had_not_been_named() -> None:
    hits = [Hit(1, 0b1, 5)]
    with_day = text_scores(["a", f"{MARK}2026-05-25"], Texts(hits, [1, 0], 9, 5.0))
    assert with_day == text_scores(["a"], Texts(hits, [1], 9, 5.0)) and with_day[1][1] == 1.0
    unknown_word = text_scores(["a", "b"], Texts(hits, [1, 0], 9, 5.0))
    assert unknown_word[1][1] < 0.6, "a word that nobody knows was asked for all the same"


def test_counts_that_are_too_large_or_too_few_do_no_harm() -> None:
    grown = text_scores(["a"], Texts([Hit(1, 1, 5), Hit(2, 1, 5)], [9], 3, 5.0))
    assert all(0 < score < 0.2 for score, _ in grown.values()), "more hold it than there were a moment ago"
    assert text_scores(["a", "b"], Texts([Hit(1, 1, 5)], [1], 9, 0.0))[1][0] > 0


def test_a_longer_text_needs_more_to_be_as_good() -> None:
    scores = text_scores(["a"], Texts([Hit(1, 1, 3), Hit(2, 1, 12), Hit(3, 1, 48)], [3], 100, 12.0))
    short, usual, long = (scores[no][0] for no in (1, 2, 3))
    assert short == pytest.approx(1.5 * usual, rel=0.15) and long == pytest.approx(0.45 * usual, rel=0.15)


def test_marks_of_days_are_no_words_of_a_text() -> None:
    assert [length_of(text) for text in ("", "one", "one two", f"one two {MARK}2026 {MARK}2026-05")] == [
        0,
        1,
        2,
        2,
    ]


def kept(trust: str, helpful: int = 0) -> Memory:
    return Memory("m", "c", trust=trust, helpful=helpful)


def test_what_is_fresh_trusted_or_was_of_help_is_a_little_better() -> None:
    def lifted(memory: Memory, days: float) -> float:
        return with_priors(1.0, memory, days)

    user, agent, imported, transcript = map(kept, ("user", "agent", "imported", "transcript"))
    assert lifted(user, 5) > lifted(agent, 5) > lifted(imported, 5) > lifted(transcript, 5) > 1
    assert lifted(user, 0) > lifted(user, 30) > lifted(user, 300)
    assert lifted(user, -9) == lifted(user, 0), "a clock may be wrong"
    assert lifted(user, 0) - lifted(user, 30) == pytest.approx(lifted(user, 30) - lifted(user, 1e6), rel=0.01)
    assert lifted(kept("agent", helpful=9), 5) > lifted(user, 5), "help counts for more than who said it"
    assert lifted(kept("user", helpful=50), 0) < 1.07, "never past a much better answer"
    assert with_priors(-0.5, user, 0) == -0.5
    agent_after_a_month = lifted(agent, 0) - lifted(agent, 30)
    assert lifted(user, 5) - lifted(agent, 5) == pytest.approx(0.8 * agent_after_a_month, rel=0.1)


SESSIONS = {1: "tea", 2: "tea", 3: "tea", 4: "tea", 5: "oil", 6: "oil", 7: "ink", 8: "sky", 9: ""}


def scored(**scores: tuple[float, float | None]) -> list[ScoredMemory]:
    rows = [ScoredMemory(int(no[1:]), score, 0.0, near) for no, (score, near) in scores.items()]
    return sorted(rows, key=lambda one: -one.score)


def test_sessions_come_by_their_best_by_what_they_hold_and_by_how_near_they_are() -> None:
    ranked = scored(
        m1=(0.9, 0.3), m2=(0.8, 0.2), m3=(0.7, None), m4=(0.1, 0.1), m5=(0.8, 0.5), m6=(0.4, None),
        m7=(0.5, 0.5), m8=(0.9, None), m9=(2.0, 0.9),
    )  # fmt: skip
    assert names(ranked, Texts()) == ["oil", "tea", "ink", "sky"]
    assert names(ranked, Texts(), most=2) == ["oil", "tea"]
    held = Texts([Hit(7, 0b11, 5), Hit(8, 0b10, 5), Hit(1, 0b01, 5), Hit(9, 0b11, 5)], [2, 2], 9, 5.0)
    assert names(ranked, held) == ["ink", "tea", "sky", "oil"]


def names(ranked: list[ScoredMemory], found: Texts, most: int = 9) -> list[str]:
    return [name for name, _ in by_session(ranked, SESSIONS, found, most)]


def test_a_session_is_as_good_as_the_mean_of_its_three_best() -> None:
    found = dict(
        by_session(
            scored(m1=(0.9, None), m2=(0.6, None), m3=(0.3, None), m4=(0.1, None)), SESSIONS, Texts(), 9
        )
    )
    assert found == {"tea": pytest.approx(0.6)}


def test_a_session_that_says_a_word_often_or_is_short_holds_more_of_it() -> None:
    once = Texts([Hit(1, 0b1, 5), Hit(5, 0b1, 5)], [2], 9, 5.0)
    found = dict(by_session([], SESSIONS, once, 9))
    assert found["oil"] > found["tea"], "it has fewer memories"
    often = Texts([Hit(1, 0b1, 5), Hit(2, 0b1, 5), Hit(3, 0b1, 5), Hit(5, 0b1, 5)], [4], 9, 5.0)
    more = dict(by_session([], SESSIONS, often, 9))
    assert more["tea"] > more["oil"] and 1.1 < more["tea"] / more["oil"] < 1.6
    rare = Texts([Hit(7, 0b10, 5), Hit(1, 0b1, 5), Hit(5, 0b1, 5), Hit(8, 0b1, 5)], [3, 1], 9, 5.0)
    weighed = dict(by_session([], SESSIONS, rare, 9))
    assert weighed["ink"] > 2 * weighed["sky"], "a word that no other session holds"


def test_who_stands_beside_is_lent_a_quarter_and_the_one_behind_it_a_tenth() -> None:
    ranked = scored(m1=(0.8, 0.4), m2=(0.5, 0.2))
    places = {1: Placed("tea", [[2, 3], [4]])}
    found = {one.no: (round(one.score, 3), one.near) for one in lent(ranked, places)}
    assert found == {1: (0.8, 0.4), 2: (0.7, 0.2), 3: (0.2, None), 4: (0.08, None)}
    assert [one.no for one in lent(ranked, places)] == [1, 2, 3, 4]
    assert lent(ranked, {9: Placed("tea", [[2]])}) == ranked, "who has no score lends none"
