"""Memories compared by meaning: what repeats another one is told, what changes a fact is told as that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.memory.quality import pairs

from segue import Segue
from segue.core.memories import curation as curate
from segue.effects.vectors.embedder import HashEmbedder
from segue.effects.vectors.static import StaticEmbedder
from segue.services.memories import curation as upkeep
from segue.stores.vectors import cosine, packed


@pytest.fixture
def seg(tmp_path: Path) -> Iterator[Segue]:
    with Segue(home=tmp_path / "home", folder=tmp_path, embedder=StaticEmbedder()) as seg:
        yield seg


def test_what_is_remembered_in_other_words_is_told_and_kept(seg: Segue) -> None:
    known = seg.remember("tests need docker to be running").id
    seg.remember("invoices are mailed by a separate worker")
    again = seg.remember("docker has to be up for the tests")
    found = seg.memories.compared(again.id)
    assert [(pair.other, pair.why) for pair in found.duplicates] == [(known, "they seem to mean the same")]
    assert found.contradictions == [] and not again.known and len(seg.recall("*")) == 3


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [("the cache timeout is 30 seconds", "cached entries expire after 60 seconds",
      "they say the same with different numbers"),
     ("the staging server restarts at 2 am", "the staging server is rebooted every night at three",
      "they say the same with different numbers"),
     ("use redis for the cache", "use memcached for the cache", "they say the same except for one word"),
     ("changes of payments are reviewed by Alice", "for payments, reviews of changes go to Bob",
      "they say the same about different names"),
     ("parse_user_id raises ValueError for ids with a dash",
      "parse_user_ids raises ValueError for ids with a dash", "they say the same about different names"),
     ("run the migrations, then start the workers", "workers never start with migrations having run",
      "one of them negates what the other says")],
)  # fmt: skip
def test_what_changes_a_number_a_name_or_a_negation_may_contradict(
    seg: Segue, one: str, other: str, why: str
) -> None:
    known, new = seg.remember(one).id, seg.remember(other).id
    found = seg.memories.compared(new)
    assert [(pair.other, pair.why) for pair in found.contradictions] == [(known, why)]
    audit = upkeep.audit(seg.memories)
    assert [{pair.one, pair.other} for pair in audit.contradictions] == [{known, new}]
    assert upkeep.consolidate(seg.memories, dry_run=False) == [] and len(seg.recall("*")) == 2


def test_what_only_seems_to_mean_the_same_is_named_by_an_audit_and_never_merged(seg: Segue) -> None:
    one = seg.remember("tests need docker to be running").id
    two = seg.remember("docker has to be up for the tests").id
    assert [{pair.one, pair.other} for pair in upkeep.audit(seg.memories).duplicates] == [{one, two}]
    assert upkeep.consolidate(seg.memories, dry_run=False) == []


def test_the_same_words_with_a_number_more_contradict_nothing() -> None:
    assert curate.opposed("retry on 502", "retry on 502 after 5 seconds", 0.9) == ""


def test_memories_of_another_audience_are_not_compared(seg: Segue) -> None:
    seg.remember("tests need docker to be running", scope="agent-private")
    new = seg.remember("docker has to be up for the tests").id
    found = seg.memories.compared(new)
    assert found.duplicates == found.contradictions == []


def test_without_meanings_words_are_compared(tmp_path: Path) -> None:
    with Segue(home=tmp_path / "home", folder=tmp_path, embedder=HashEmbedder()) as seg:
        known = seg.remember("retry 3 times when the server answers 502").id
        new = seg.remember("retry 5 times when the server answers 502").id
        assert [pair.other for pair in seg.memories.compared(new).contradictions] == [known]


def test_no_two_memories_about_different_things_seem_to_mean_the_same() -> None:
    texts = [text for name in ("restated", "paraphrases", "identifiers") for text, _ in pairs(f"{name}.tsv")]
    vectors = [packed(vector) for vector in StaticEmbedder().embed(texts)]
    found = [
        (texts[one], texts[other], verdict.contradicts)
        for one in range(len(texts))
        for other in range(one)
        if (near := cosine(vectors[one], vectors[other])) >= curate.SAME_SUBJECT
        and (verdict := curate.compare(texts[one], texts[other], near))
    ]
    retries = ("MAX_RETRY_DELAY is given in milliseconds", "MAX_RETRY_COUNT is three in production", True)
    assert found == [retries]
