"""A Segue server passes every suite that other stores pass, over HTTP, and its projects are walls."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from hypothesis import given, settings, strategies as st
from tests.conformance.test_memories import TEXTS, memories, readers
from tests.support.remote import journal_for

from segue.core.memories.model import Memory, MemoryFilter, MemoryReader
from segue.stores.base import Append, Journal, Memories, ProjectFacts, Runs
from segue.stores.memory.memories import VolatileMemories
from segue.testing import JournalSuite, MemoriesSuite, ProjectFactsSuite, RunsSuite
from segue.testing.memories import HERE, NOW, add, found, leaks, memory, seen
from segue.testing.runs import row
from segue.testing.stores import drafts


class TestRemote(JournalSuite):
    durable = True

    def make(self, tmp_path: Path) -> Journal:
        return journal_for(tmp_path)


class TestRemoteRuns(RunsSuite):
    durable = True

    def make(self, tmp_path: Path) -> Runs:
        return journal_for(tmp_path).runs


class TestRemoteProjectFacts(ProjectFactsSuite):
    durable = True

    def make(self, tmp_path: Path) -> ProjectFacts:
        return journal_for(tmp_path).project_facts


class TestRemoteMemories(MemoriesSuite):
    durable = True

    def make(self, tmp_path: Path) -> Memories:
        return journal_for(tmp_path).memories


def fresh() -> Memories:
    return journal_for(str(uuid4())).memories


@given(rows=memories(), reader=readers, query=st.sampled_from([*TEXTS, "pool tests"]))
@settings(max_examples=15, deadline=None)
def test_a_reader_sees_nothing_that_it_would_not_see_alone(
    rows: list[Memory], reader: MemoryReader, query: str
) -> None:
    assert leaks([fresh(), fresh()], rows, reader, query) == []


@given(rows=memories(), reader=readers, query=st.sampled_from([*TEXTS, "pool tests"]))
@settings(max_examples=15, deadline=None)
def test_the_same_query_gives_the_same_as_on_every_store(
    rows: list[Memory], reader: MemoryReader, query: str
) -> None:
    stores: list[Memories] = [fresh(), VolatileMemories()]
    for store in stores:
        add(store, *rows)
    one, other = (seen(store, reader, query) for store in stores)
    narrow = MemoryFilter(agents=("a", "b"), types=("standard",))
    assert found(stores[0], reader, query, narrow) == found(stores[1], reader, query, narrow)
    assert one == other


def test_what_is_written_in_one_project_is_in_no_other(tmp_path: Path) -> None:
    one, other = journal_for(tmp_path / "one"), journal_for(tmp_path / "other")
    one.append(Append("session/a", 0, drafts("x")))
    one.runs.put([row("k1")])
    add(one.memories, memory("m1"))
    assert other.streams() == [] and other.runs.rows() == []
    assert other.memories.listing(HERE, MemoryFilter(dead=True), NOW) == []
    assert one.memories.listing(HERE, MemoryFilter(), NOW) and one.about().project != other.about().project
