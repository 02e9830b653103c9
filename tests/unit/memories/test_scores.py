"""What a memory's score is made of, as orders between two memories that a reader would expect."""

from __future__ import annotations

import math

import pytest

from segue.core.memories.model import Memory
from segue.core.memories.ranking import (
    Hit,
    ScoredMemory,
    SessionNeighbours,
    Texts,
    by_session,
    length_of,
    rank,
    text_scores,
    with_neighbours,
    with_priors,
)


def order(
    asked: list[str], found: Texts, near: dict[int, float], *, semantic: bool = True, embedded: bool = True
) -> list[int]:
    return [one.no for one in rank(asked, found, near, semantic=semantic, embedded=embedded)]


def texts(*hits: Hit, counts: tuple[int, ...] = (1,), total: int = 100, mean: float = 10.0) -> Texts:
    return Texts(hits, counts, total, mean)


def test_the_length_of_a_text_is_its_words_without_those_for_dates() -> None:
    assert length_of("") == 0
    assert length_of("pool") == 1
    assert length_of("pool size doubled ~2026-11 ~2026") == 3


# -- full text --------------------------------------------------------------------------------------


def test_a_text_of_usual_length_scores_what_its_words_are_worth() -> None:
    [(score, share)] = text_scores(["a"], texts(Hit(1, 0b1, 10), counts=(4,), total=10)).values()
    assert score == pytest.approx(math.log(1 + 6.5 / 4.5)) and share == 1.0


def test_texts_of_a_single_word_are_of_usual_length_where_all_are() -> None:
    [(score, _)] = text_scores(["a"], texts(Hit(1, 0b1, 1), counts=(4,), total=10, mean=1.0)).values()
    assert score == pytest.approx(math.log(1 + 6.5 / 4.5))


def test_a_text_that_is_twice_as_long_scores_about_seven_tenths_for_the_same_words() -> None:
    scores = text_scores(["a"], texts(Hit(1, 0b1, 10), Hit(2, 0b1, 20), Hit(3, 0b1, 1)))
    usual, long, short = (scores[number][0] for number in (1, 2, 3))
    assert 0.7 < long / usual < 0.72 and 1.5 < short / usual < 1.7


def test_a_rare_word_is_worth_more_than_a_frequent_one_and_one_of_all_memories_nearly_nothing() -> None:
    found = texts(Hit(1, 0b001, 10), Hit(2, 0b010, 10), Hit(3, 0b100, 10), counts=(1, 20, 100))
    scores = text_scores(["rare", "frequent", "everywhere"], found)
    rare, frequent, everywhere = (scores[number][0] for number in (1, 2, 3))
    assert rare > 2 * frequent > 0 and 0 < everywhere < 0.01


def test_the_share_of_a_query_is_that_of_its_words_by_how_rare_they_are() -> None:
    found = texts(Hit(1, 0b01, 10), Hit(2, 0b10, 10), Hit(3, 0b11, 10), counts=(1, 20))
    shares = {number: share for number, (_, share) in text_scores(["rare", "frequent"], found).items()}
    assert shares[1] > 2 * shares[2] and shares[1] + shares[2] == pytest.approx(shares[3]) == 1.0


def test_a_date_that_no_memory_is_of_counts_for_nothing_and_a_word_that_none_has_does() -> None:
    hit = Hit(1, 0b01, 10)
    assert text_scores(["a", "~2026"], texts(hit, counts=(1, 0)))[1][1] == 1.0
    assert text_scores(["a", "b"], texts(hit, counts=(1, 0)))[1][1] < 0.5
    assert text_scores(["a", "~2026"], texts(hit, counts=(1, 1)))[1][1] == 0.5


def test_more_hits_than_memories_that_were_counted_are_no_fault() -> None:
    found = texts(Hit(1, 0b1, 10), Hit(2, 0b1, 10), counts=(2,), total=0)
    assert text_scores(["a"], found) == text_scores(["a"], texts(*found.hits, counts=(2,), total=2))


# -- full text and vectors --------------------------------------------------------------------------


def test_what_full_text_does_not_find_is_ranked_by_its_vector_alone() -> None:
    assert order(["a"], Texts(), {1: 0.3, 2: 0.6}) == [2, 1]


def test_of_two_that_are_equally_good_the_newer_one_comes_first() -> None:
    assert order(["a"], Texts(), {1: 0.5, 2: 0.5, 3: 0.4}) == [2, 1, 3]


TWO_WORDS = ["a", "b"]


def test_one_word_of_two_in_common_is_worth_less_than_a_little_more_meaning() -> None:
    found = texts(Hit(1, 0b01, 10), counts=(1, 1))
    assert order(TWO_WORDS, found, {1: 0.30, 2: 0.80}) == [2, 1]
    assert order(TWO_WORDS, found, {1: 0.40, 2: 0.80}) == [1, 2]


def test_one_word_of_three_in_common_means_nothing_next_to_meaning_and_two_do() -> None:
    three = ["a", "b", "c"]
    one, two = (texts(Hit(1, held, 10), counts=(1, 1, 1)) for held in (0b001, 0b011))
    assert order(three, one, {1: 0.40, 2: 0.41}) == [2, 1]
    assert order(three, two, {1: 0.40, 2: 0.80}) == [1, 2]


def test_one_word_of_three_in_common_counts_where_there_are_no_vectors() -> None:
    found = texts(Hit(1, 0b001, 10), Hit(2, 0b010, 10), counts=(30, 1, 1))
    assert [one.score > 0 for one in rank(["a", "b", "c"], found, {}, semantic=True, embedded=False)] == [
        True,
        True,
    ]


def test_all_words_in_common_are_worth_more_than_much_more_meaning() -> None:
    found = texts(Hit(1, 0b11, 10), counts=(1, 1))
    assert order(TWO_WORDS, found, {1: 0.0, 2: 0.9}) == [1, 2]


def test_a_memory_without_a_vector_is_taken_for_one_that_is_as_near_as_its_words_suggest() -> None:
    found = texts(Hit(1, 0b11, 10), Hit(2, 0b11, 10), counts=(2, 2))
    assert order(TWO_WORDS, found, {2: 0.7}) == [2, 1]
    assert order(TWO_WORDS, found, {2: 0.6}) == [1, 2]
    half = texts(Hit(1, 0b01, 10), Hit(2, 0b01, 10), counts=(2, 2))
    assert order(TWO_WORDS, half, {2: 0.47}) == [2, 1]
    assert order(TWO_WORDS, half, {2: 0.43}) == [1, 2]


def test_letters_that_are_alike_weigh_less_than_words_in_common() -> None:
    found = texts(Hit(1, 0b1, 10), counts=(1,))
    assert order(["a"], found, {1: 0.0, 2: 0.99}, semantic=False) == [1, 2]
    frequent = texts(Hit(1, 0b1, 10), counts=(20,))
    assert order(["a"], frequent, {1: 0.0, 2: 0.3}, semantic=False) == [1, 2]
    assert order(["a"], frequent, {1: 0.0, 2: 0.5}, semantic=False) == [2, 1]


def test_without_a_vector_of_letters_a_memory_is_taken_for_four_fifths_as_near_as_the_best() -> None:
    found = texts(Hit(1, 0b1, 10), Hit(2, 0b1, 10), counts=(2,))
    assert order(["a"], found, {2: 0.85}, semantic=False) == [2, 1]
    assert order(["a"], found, {2: 0.75}, semantic=False) == [1, 2]
    weaker = texts(Hit(1, 0b01, 10), Hit(2, 0b11, 10), counts=(2, 2))
    [best, other] = rank(["a", "b"], weaker, {3: 0.0}, semantic=False)[:2]
    assert best.score == pytest.approx(2 * other.score), "half of the words, half of the nearness"


def test_without_any_vectors_the_words_alone_decide_and_nothing_is_assumed() -> None:
    found = texts(Hit(1, 0b1, 10), counts=(1,))
    [alone] = rank(["a"], found, {}, semantic=False, embedded=False)
    [assumed] = rank(["a"], found, {}, semantic=False, embedded=True)
    assert alone.near is None and 0 < alone.score < assumed.score
    assert rank(["a"], found, {}, semantic=False) == [assumed], "vectors are there unless it is said"
    assert alone.score < 0.1 * alone.text


NAMES = ["=parse_user_id", "=E0308", "parse"]


def test_a_memory_with_the_name_that_was_asked_for_comes_before_what_only_means_the_same() -> None:
    found = texts(Hit(1, 0b001, 10), Hit(2, 0b100, 10), counts=(1, 1, 50))
    assert order(NAMES[:1], found, {1: 0.0, 2: 1.0}) == [1, 2]


def test_half_of_the_names_is_worth_less_than_the_same_meaning_and_all_of_them_more() -> None:
    half = texts(Hit(1, 0b01, 10), counts=(20, 20))
    assert order(NAMES[:2], half, {1: 0.0, 2: 0.9}) == [2, 1]
    both = texts(Hit(1, 0b11, 10), counts=(20, 20))
    assert order(NAMES[:2], both, {1: 0.0, 2: 1.0}) == [1, 2]


def test_where_names_are_asked_for_other_words_still_count() -> None:
    found = texts(Hit(1, 0b001, 10), Hit(2, 0b101, 10), counts=(2, 0, 2))
    first, second = rank(NAMES, found, {1: 0.5, 2: 0.5}, semantic=True)
    assert (first.no, second.no) == (2, 1)
    assert 0.1 < (first.score - second.score) / (first.text - second.text) < 0.2


# -- priors -----------------------------------------------------------------------------------------


def memory(**facts: object) -> Memory:
    return Memory(id="m", content="x", **facts)  # type: ignore[arg-type]


def lift(age_days: float = 0.0, **facts: object) -> float:
    """By how much of itself a score is raised, in hundredths."""
    return (with_priors(1.0, memory(**facts), age_days) - 1.0) * 100


def test_a_fresh_memory_is_raised_a_little_and_half_as_much_after_a_month() -> None:
    fresh, month, old = (lift(days, trust="unknown") for days in (0, 30, 3_000))
    assert 1 < fresh < 2 and old == pytest.approx(0, abs=0.01)
    assert month - old == pytest.approx((fresh - old) / 2)
    assert lift(-5) == lift(0), "a clock that runs ahead makes nothing fresher than fresh"


def test_what_a_person_said_is_raised_more_than_what_an_agent_an_import_or_a_transcript_says() -> None:
    raised = [lift(trust=trust) for trust in ("user", "agent", "imported", "transcript", "unknown")]
    assert raised == sorted(raised, reverse=True) and len(set(raised)) == 5
    user, agent, imported, transcript, nobody = (one - raised[-1] for one in raised)
    assert user == pytest.approx(lift(trust="unknown")), "trust weighs as much as freshness"
    assert 0.5 * user < agent < 0.7 * user and 0.2 * user < transcript + 0.01 < imported < 0.4 * user
    assert 0.1 * user < transcript < 0.25 * user and nobody == 0


def test_votes_weigh_as_much_as_freshness_and_trust_together() -> None:
    voted = lift(3_000, trust="unknown", helpful=1_000_000)
    assert voted == pytest.approx(lift(0, trust="user"), rel=0.01)


def test_priors_never_lift_a_memory_past_one_that_is_a_tenth_better() -> None:
    best = with_priors(1.0, memory(trust="user", helpful=50), 0)
    assert 1.04 < best < 1.1
    assert best > with_priors(1.0, memory(trust="user", harmful=50), 0)


def test_a_score_of_nothing_stays_nothing() -> None:
    assert with_priors(0.0, memory(trust="user"), 0) == 0.0
    assert with_priors(-0.2, memory(trust="user"), 0) == -0.2


# -- neighbours and sessions ------------------------------------------------------------------------


def test_a_neighbour_gets_a_quarter_and_the_one_behind_it_a_tenth() -> None:
    ranked = [ScoredMemory(1, 1.0, 0.0, None)]
    raised = with_neighbours(ranked, {1: SessionNeighbours("s", [[2], [3], [4]])})
    assert [(one.no, round(one.score, 3)) for one in raised] == [(1, 1.0), (2, 0.25), (3, 0.1)]


def test_a_neighbour_that_is_lent_to_keeps_what_is_known_of_it() -> None:
    ranked = [ScoredMemory(1, 1.0, 2.0, 0.9), ScoredMemory(2, 0.5, 1.0, 0.4)]
    raised = with_neighbours(ranked, {1: SessionNeighbours("s", [[2, 5]])})
    assert raised[1] == ScoredMemory(2, 0.75, 1.0, 0.4)
    assert (raised[2].text, raised[2].near) == (0.0, None)


def test_one_that_is_not_ranked_itself_lends_nothing() -> None:
    assert with_neighbours([], {1: SessionNeighbours("s", [[2]])})[0].score == 0.0


def scored(*scores: float, near: float | None = None) -> list[ScoredMemory]:
    return [ScoredMemory(number, score, 0.0, near) for number, score in enumerate(scores, 1)]


def test_the_three_best_memories_stand_for_a_session() -> None:
    sessions = dict.fromkeys(range(1, 6), "s")
    [(_, score)] = by_session(scored(0.9, 0.6, 0.3, 0.1, 0.0), sessions, Texts(), 5)
    assert score == pytest.approx(0.6)


def test_how_near_a_session_is_on_average_counts_as_much_as_its_best() -> None:
    sessions = {1: "s", 2: "s", 3: ""}
    ranked = [ScoredMemory(1, 0.5, 0.0, 0.8), ScoredMemory(2, 0.5, 0.0, 0.2), ScoredMemory(3, 9.0, 0.0, 9.0)]
    [(name, score)] = by_session(ranked, sessions, Texts(), 5)
    assert name == "s" and score == pytest.approx(1.0)


def test_only_so_many_sessions_are_named_and_equal_ones_in_the_order_of_their_names() -> None:
    sessions = {1: "b", 2: "a", 3: "c"}
    assert [name for name, _ in by_session(scored(0.5, 0.5, 0.9), sessions, Texts(), 2)] == ["c", "a"]


def test_a_word_that_only_one_session_holds_weighs_more_than_one_of_all() -> None:
    sessions = {1: "a", 2: "b", 3: "c"}
    found = Texts([Hit(1, 0b11, 5), Hit(2, 0b01, 5), Hit(3, 0b01, 5)], [3, 1], 3, 5.0)
    scores = dict(by_session([], sessions, found, 5))
    assert scores["b"] == scores["c"] == pytest.approx(0.2 * math.log(1 + 0.5 / 3.5))
    assert scores["a"] - scores["b"] == pytest.approx(0.2 * math.log(1 + 2.5 / 1.5))


def test_a_word_counts_more_if_more_memories_hold_it_and_less_in_a_longer_session() -> None:
    short, long = {1: "a", 2: "a", 9: "z"}, {1: "a", 2: "a", 3: "a", 4: "a", 9: "z"}
    once, twice = Texts([Hit(1, 0b1, 5)], [1], 9, 5.0), Texts([Hit(1, 0b1, 5), Hit(2, 0b1, 5)], [2], 9, 5.0)
    [(_, few)], [(_, many)] = (by_session([], short, found, 5) for found in (once, twice))
    assert 1.2 < many / few < 1.5, "not twice as much"
    [(_, longer)] = by_session([], long, once, 5)
    assert 0.8 < longer / few < 0.95


def test_hits_outside_of_any_session_are_no_session() -> None:
    assert by_session([], {}, texts(Hit(1, 0b1, 5)), 5) == []
