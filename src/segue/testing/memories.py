"""The contract of ``segue.stores.base.Memories`` as tests that any store can run.

Subclass ``MemoriesSuite`` as you would ``JournalSuite``. ``leaks`` checks the rule of scopes: a reader must
get exactly what it would get if the memories that it may not see did not exist.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ..core.memories.model import (
    Memory,
    MemoryAudit,
    MemoryFilter,
    MemoryReader,
    Vote,
    audience_of,
    may_read,
    tombstone,
)
from ..core.memories.ranking import rank, with_neighbours
from ..core.memories.words import query_words, words
from ..errors import StaleVersion
from ..stores.base import Memories
from ..stores.memory_changes import MemoryChange, StoredMemory
from ..stores.vectors import packed
from .stores import in_threads

NOW = "2026-06-01T00:00:00.000000Z"
THEN = "2026-05-01T00:00:00.000000Z"
HERE = MemoryReader(agent="user", projects=("shop",), sessions=("s1",), organization="acme")
MODEL = "test"


def vector_of(text: str) -> bytes:
    """A vector of how often each letter occurs in a text."""
    return packed([float(text.count(chr(97 + place))) + 0.01 for place in range(24)])


def memory(id: str, content: str = "the pool has ten connections", **fields: Any) -> Memory:
    """A memory of the project ``shop``."""
    values = {"scope": "project", "project": "shop", "agent": "user", "created": THEN, "updated": THEN}
    return Memory(id, content, **(values | fields))


def kept(memory: Memory) -> StoredMemory:
    """The memory as it is stored, with words and a vector if it is live."""
    if not memory.live:
        return StoredMemory(memory)
    return StoredMemory(memory, " ".join(words(memory.content)), MODEL, vector_of(memory.content))


def add(store: Memories, *memories: Memory) -> list[str]:
    """Store memories in one change, and return their ids."""
    return store.write(MemoryChange(adds=[kept(memory) for memory in memories]))


def found(
    store: Memories, reader: MemoryReader, query: str, where: MemoryFilter | None = None
) -> list[tuple[str, float]]:
    """The ids and scores of what a reader finds."""
    where = where or MemoryFilter()
    text = store.match(reader, query_words(query), where, 100)
    near = dict(store.near(reader, MODEL, vector_of(query), where, 100))
    ranked = rank(query_words(query), text, near, semantic=False)
    ranked = with_neighbours(ranked, store.places([hit.no for hit in ranked[:2]], reader, 2))
    readable = store.take([hit.no for hit in ranked], reader)
    return sorted((readable[hit.no].id, round(hit.score, 6)) for hit in ranked if hit.no in readable)


def seen(store: Memories, reader: MemoryReader, query: str) -> dict[str, Any]:
    """Everything that a reader can learn from a store: results, scores, counts, lists and trails."""
    text = store.match(reader, query_words(query), MemoryFilter(), 100)
    numbers = [hit.no for hit in text.hits]
    return {
        "found": found(store, reader, query),
        "counts": (sorted(text.counts), text.total, round(text.length_mean, 6)),
        "sessions": sorted(place.session for place in store.places(numbers, reader).values()),
        "listed": [memory.id for memory in store.listing(reader, MemoryFilter(dead=True), NOW)],
        "trail": [(trace.memory, trace.act) for trace in store.trail(reader)],
    }


def leaks(
    make: Sequence[Memories], memories: Iterable[Memory], reader: MemoryReader, query: str
) -> list[str]:
    """The differences between what a reader sees of a full store and of one with only its own memories.

    ``make`` has both stores, empty."""
    full, own = make
    everything = list(memories)
    visible = [memory for memory in everything if may_read(reader, audience_of(memory))]
    for store, rows in ((full, everything), (own, visible)):
        for memory in rows:
            store.write(
                MemoryChange(adds=[kept(memory)], trail=[MemoryAudit(memory.id, "add", THEN, memory.agent)])
            )
    in_full, in_own = seen(full, reader, query), seen(own, reader, query)
    wrong = [
        f"{name}: {in_full[name]} instead of {in_own[name]}"
        for name in in_full
        if in_full[name] != in_own[name]
    ]
    hidden = [memory.id for memory in everything if memory not in visible]
    returned = full.get(hidden, reader)
    return wrong + [
        f"get gave {memory.id}" for memory in returned if not may_read(reader, audience_of(memory))
    ]


class MemoriesSuite(ABC):
    """The contract of a store of memories."""

    durable = False

    @abstractmethod
    def make(self, tmp_path: Path) -> Memories:
        """A new, empty store that keeps its files, if any, in this folder."""

    def reopen(self, store: Memories, tmp_path: Path) -> Memories:
        """The same store, opened again as another process would."""
        return self.make(tmp_path)

    def test_a_memory_comes_back_as_it_was_kept(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        stored = memory(
            "m1", "é 日本 \u2028 'quote\" \\", metadata={"a": [1, {"b": None}]}, shared_with=("x",)
        )
        assert add(store, stored) == ["m1"]
        assert store.get(["m1", "never"], HERE) == [stored]

    def test_the_same_words_for_the_same_readers_are_kept_once(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        assert add(store, memory("m1")) == ["m1"]
        assert add(store, memory("m2"), memory("m3", "the pool  has ten\nconnections")) == ["m1", "m1"]
        assert add(store, memory("m4", scope="global"), memory("m5", type="decision")) == ["m4", "m5"]
        assert len(store.listing(HERE, MemoryFilter(), NOW)) == 3

    def test_for_whom_a_memory_is_meant_is_known_by_its_id(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        private = memory("m2", scope="agent-private", agent="coder", namespace="other")
        add(store, memory("m1"), private)
        assert store.meant(["m1", "m2", "m3"]) == {
            "m1": audience_of(memory("m1")),
            "m2": audience_of(private),
        }

    def test_what_no_longer_counts_can_be_learnt_again(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        add(store, memory("m1"))
        old = replace(memory("m1"), deprecated=NOW, reason="wrong", revision=2)
        store.write(MemoryChange(puts=[kept(old)]))
        assert add(store, memory("m2")) == ["m2"]
        assert [stored.id for stored in store.listing(HERE, MemoryFilter(), NOW)] == ["m2"]
        assert {stored.id for stored in store.listing(HERE, MemoryFilter(dead=True), NOW)} == {"m1", "m2"}

    def test_a_put_that_comes_too_late_changes_nothing_at_all(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        add(store, memory("m1"))
        late = replace(memory("m1", "other words"), revision=3)
        try:
            store.write(MemoryChange(adds=[kept(memory("m9", "new"))], puts=[kept(late)]))
            raise AssertionError("a late put was taken")
        except StaleVersion as stale:
            assert (stale.expected, stale.actual) == (2, 1)
        assert [stored.id for stored in store.listing(HERE, MemoryFilter(), NOW)] == ["m1"]

    def test_a_put_that_says_what_another_memory_says_changes_nothing(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        add(store, memory("m1", "one"), memory("m2", "two"))
        try:
            store.write(MemoryChange(puts=[kept(replace(memory("m2", "one"), revision=2))]))
            raise AssertionError("the same words were kept twice")
        except StaleVersion as stale:
            assert (stale.expected, stale.actual) == (1, 1)
        assert {stored.content for stored in store.listing(HERE, MemoryFilter(), NOW)} == {"one", "two"}

    def test_full_text_finds_words_and_says_how_many_hold_them(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        add(store, memory("m1", "tests fail without JWT_SECRET"), memory("m2", "the tests are slow"))
        text = store.match(HERE, query_words("JWT_SECRET tests"), MemoryFilter(), 100)
        assert text.total == 2 and max(text.counts) == 2 and len(text.hits) == 2
        best = max(found(store, HERE, "JWT_SECRET"), key=lambda pair: pair[1])
        assert best[0] == "m1"

    def test_odd_queries_are_no_fault(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        add(store, memory("m1", 'a "quoted" NEAR(b) OR c* -d ~a1 日本語'))
        for query in ('"', "'", "NEAR(", "AND OR NOT", "*", "日本", "~a1", "a\x00b", "(" * 50, ""):
            found(store, HERE, query)

    def test_vectors_of_another_model_are_not_compared(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        add(store, memory("m1"))
        assert store.near(HERE, "other", vector_of("pool"), MemoryFilter(), 10) == []
        [(_, close)] = store.near(HERE, MODEL, vector_of("the pool has ten connections"), MemoryFilter(), 10)
        assert close > 0.99
        assert [stored.id for _, stored in store.unembedded("other", 10)] == ["m1"]
        assert store.unembedded(MODEL, 10) == []
        store.write(MemoryChange(vectors=[StoredMemory(memory("m1"), "", "other", vector_of("pool"))]))
        assert len(store.near(HERE, "other", vector_of("pool"), MemoryFilter(), 10)) == 1

    def test_neighbours_are_of_the_same_session_and_may_be_seen(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        add(
            store,
            memory("m1", "alpha", session="s1"),
            memory("other", "bravo", session="s2"),
            memory("hidden", "charlie", session="s1", project="bank"),
            memory("m2", "delta", session="s1"),
            memory("m3", "echo", session="s1"),
            memory("m4", "foxtrot", session="s1"),
            memory("none", "golf"),
        )
        store.write(
            MemoryChange(puts=[kept(replace(memory("m3", session="s1"), deprecated=NOW, revision=2))])
        )
        text = store.match(
            HERE, query_words("alpha bravo charlie delta echo foxtrot golf"), MemoryFilter(), 100
        )
        numbers = {stored.id: no for no, stored in store.take([hit.no for hit in text.hits], HERE).items()}
        places = store.places(list(numbers.values()), HERE, 2)
        names = {no: id for id, no in numbers.items()}
        neighbours = {
            names[no]: [[names[other] for other in far] for far in p.beside] for no, p in places.items()
        }
        assert neighbours == {"m1": [["m2"], ["m4"]], "other": [[], []], "m2": [["m1", "m4"], []],
                        "m4": [["m2"], ["m1"]]}  # fmt: skip
        assert store.places([numbers["m1"]], MemoryReader(agent="x"), 2) == {}
        assert [place.session for place in store.places([numbers["m1"]], HERE).values()] == ["s1"]

    def test_filters_narrow_both_kinds_of_search(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        add(
            store,
            memory("m1", "alpha one", type="decision"),
            memory("m2", "alpha two", session="s1"),
            memory("m3", "alpha three", agent="planner"),
        )
        for where, wanted in (
            (MemoryFilter(types=("decision",)), {"m1"}),
            (MemoryFilter(sessions=("s1",)), {"m2"}),
            (MemoryFilter(agents=("planner",)), {"m3"}),
            (MemoryFilter(agents=("nobody",)), set()),
        ):
            assert {id for id, _ in found(store, HERE, "alpha", where)} == wanted
            assert {stored.id for stored in store.listing(HERE, where, NOW)} == wanted

    def test_lists_filter_by_facts_time_and_life(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        add(
            store,
            memory("m1", "one", metadata={"area": "auth", "tags": ["x", "y"]}),
            memory("m2", "two", created="2026-05-20T00:00:00.000000Z"),
            memory("m3", "three", expires="2026-05-30T00:00:00.000000Z"),
        )

        def ids(**where: Any) -> list[str]:
            return [stored.id for stored in store.listing(HERE, MemoryFilter(**where), NOW)]

        assert ids() == ["m2", "m1"] and set(ids(dead=True)) == {"m1", "m2", "m3"}
        assert ids(metadata={"area": "auth"}) == ids(metadata={"tags": "y"}) == ["m1"]
        assert ids(metadata={"area": "ui"}) == [] and ids(since="2026-05-10") == ["m2"]
        assert ids(prefix="m1") == ["m1"] and len(store.listing(HERE, MemoryFilter(), NOW, 1)) == 1

    def test_one_voter_has_one_vote_and_may_change_it(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        add(store, memory("m1"))
        for voter, vote in (("a", "helpful"), ("b", "helpful"), ("a", "harmful")):
            store.write(MemoryChange(votes=[Vote("m1", voter, vote, NOW)]))
        [stored] = store.get(["m1"], HERE)
        assert (stored.helpful, stored.harmful) == (1, 1)
        store.write(MemoryChange(recalls=[("m1", 2, NOW), ("m1", 1, NOW)]))
        [stored] = store.get(["m1"], HERE)
        assert (stored.recalled, stored.recalled_at, stored.helpful) == (3, NOW, 1)

    def test_a_forgotten_memory_is_found_by_nothing_and_leaves_a_stone(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        add(store, memory("m1", "the launch code is 4711"))
        store.write(MemoryChange(puts=[StoredMemory(tombstone(memory("m1"), NOW, "asked to"))]))
        store.compact()
        assert found(store, HERE, "launch code") == []
        [stone] = store.get(["m1"], HERE)
        assert stone.forgotten and stone.content == "" and stone.reason == "asked to"

    def test_the_trail_says_what_was_done_newest_first(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        store.write(
            MemoryChange(adds=[kept(memory("m1"))], trail=[MemoryAudit("m1", "add", THEN, "user", "why")])
        )
        store.write(MemoryChange(trail=[MemoryAudit("m1", "vote", NOW, "user")]))
        assert [trace.act for trace in store.trail(HERE, "m1")] == ["vote", "add"]
        assert store.trail(HERE, "m2") == [] and store.trail(MemoryReader()) == []

    def test_what_is_carried_away_is_all_that_is_kept(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        first, trace = memory("m1"), MemoryAudit("m1", "add", THEN, "user", "why")
        vote = Vote("m1", "ann", "helpful", NOW, "it was of help")
        add(store, first, memory("m2", "dead", deprecated=NOW), memory("m3", "third"))
        store.write(MemoryChange(votes=[vote], trail=[trace], recalls=[("m1", 2, NOW)]))
        stored, two = store.carried(0, 2)
        assert stored.kept.memory == replace(first, helpful=1, recalled=2, recalled_at=NOW)
        assert (stored.kept.model, stored.kept.vector) == (MODEL, vector_of(first.content))
        assert (list(stored.votes), list(stored.trail)) == ([vote], [trace])
        assert two.kept.memory.id == "m2" and not two.kept.vector and not two.votes
        assert [row.kept.memory.id for row in store.carried(two.no)] == ["m3"]

    def test_nobody_reads_what_is_not_meant_for_them(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        add(
            store,
            memory("private", "secret pool", scope="agent-private", agent="planner"),
            memory("shared", "shared pool", scope="agent-shared", agent="planner", shared_with=("coder",)),
            memory("session", "session pool", scope="session", session="s9"),
            memory("elsewhere", "other pool", project="bank"),
            memory("walled", "walled pool", scope="global", namespace="other"),
            memory("personal", "personal pool", scope="global", user="ann"),
        )
        readers = {
            "nobody": (MemoryReader(agent="x"), set()),
            "planner": (MemoryReader(agent="planner", projects=("shop",), user="x"), {"private", "shared"}),
            "coder": (MemoryReader(agent="coder", projects=("shop",)), {"shared"}),
            "planner elsewhere": (MemoryReader(agent="planner", projects=("bank",)), {"elsewhere"}),
            "coder elsewhere": (MemoryReader(agent="coder"), set()),
            "session": (MemoryReader(agent="x", sessions=("s9",)), {"session"}),
            "bank": (MemoryReader(agent="x", projects=("bank",)), {"elsewhere"}),
            "other": (MemoryReader(agent="x", namespace="other"), {"walled"}),
            "ann": (MemoryReader(agent="x", user="ann"), {"personal"}),
        }
        for reader, wanted in readers.values():
            assert {id for id, _ in found(store, reader, "pool")} == wanted
            assert {stored.id for stored in store.listing(reader, MemoryFilter(), NOW)} == wanted
            assert store.match(reader, query_words("pool"), MemoryFilter(), 10).total == len(wanted)

    def test_writers_beside_each_other_lose_nothing(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        add(store, memory("m0"))

        def write(name: int) -> None:
            for place in range(10):
                add(store, memory(f"m{name}-{place}", f"fact {name} {place}"))

        in_threads(4, write)
        assert len(store.listing(HERE, MemoryFilter(), NOW)) == 41

    def test_what_was_kept_is_there_when_the_store_is_opened_anew(self, tmp_path: Path) -> None:
        if not self.durable:
            return
        store = self.make(tmp_path)
        add(store, memory("m1", "one pool"), memory("m2", "two pools"))
        again = self.reopen(store, tmp_path)
        assert {id for id, _ in found(again, HERE, "pool")} == {"m1", "m2"}
        add(store, memory("m3", "three pools"))
        assert {id for id, _ in found(again, HERE, "pool")} == {"m1", "m2", "m3"}
