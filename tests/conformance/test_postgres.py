"""Postgres passes every suite that other stores pass, with pgvector and without it, and holds its walls."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given, settings, strategies as st
from tests.conformance.test_memories import TEXTS, memories, readers
from tests.support.postgres_store import journal_for, needs_postgres, shared

from segue.core.journal.event import Draft
from segue.core.journal.pieces import address
from segue.core.memories.model import Memory, MemoryFilter, MemoryReader
from segue.stores.base import Append, Journal, Memories, ProjectFacts, Runs, Snapshot
from segue.stores.memory.memories import VolatileMemories
from segue.testing import JournalSuite, MemoriesSuite, ProjectFactsSuite, RunsSuite
from segue.testing.memories import HERE, add, found, kept, leaks, memory, seen
from segue.testing.runs import row
from segue.testing.stores import AT, drafts, verify_chain

pytestmark = [needs_postgres, pytest.mark.xdist_group("postgres")]


class TestPostgres(JournalSuite):
    durable = True

    def make(self, tmp_path: Path) -> Journal:
        return journal_for(tmp_path)


class TestPostgresRuns(RunsSuite):
    durable = True

    def make(self, tmp_path: Path) -> Runs:
        return journal_for(tmp_path).runs


class TestPostgresProjectFacts(ProjectFactsSuite):
    durable = True

    def make(self, tmp_path: Path) -> ProjectFacts:
        return journal_for(tmp_path).project_facts


class TestPostgresMemories(MemoriesSuite):
    durable = True

    def make(self, tmp_path: Path) -> Memories:
        return journal_for(tmp_path).memories


class TestPlainPostgresMemories(MemoriesSuite):
    """Without pgvector."""

    durable = True

    def make(self, tmp_path: Path) -> Memories:
        return journal_for(tmp_path, plain=True).memories


def fresh(*, plain: bool = False) -> Memories:
    return journal_for(str(uuid4()), plain=plain).memories


@given(rows=memories(), reader=readers, query=st.sampled_from([*TEXTS, "pool tests"]))
@settings(max_examples=25, deadline=None)
def test_a_reader_sees_nothing_that_it_would_not_see_alone(
    rows: list[Memory], reader: MemoryReader, query: str
) -> None:
    assert leaks([fresh(), fresh()], rows, reader, query) == []


@pytest.mark.parametrize("plain", [False, True], ids=["pgvector", "plain"])
@given(rows=memories(), reader=readers, query=st.sampled_from([*TEXTS, "pool tests"]))
@settings(max_examples=20, deadline=None)
def test_the_same_query_gives_the_same_as_on_every_store(
    plain: bool, rows: list[Memory], reader: MemoryReader, query: str
) -> None:
    stores: list[Memories] = [fresh(plain=plain), VolatileMemories()]
    for store in stores:
        add(store, *rows)
    one, other = (seen(store, reader, query) for store in stores)
    narrow = MemoryFilter(agents=("a", "b"), types=("standard",))
    assert ids(found(stores[0], reader, query, narrow)) == ids(found(stores[1], reader, query, narrow))
    assert ids(one.pop("found")) == ids(other.pop("found")), (
        "pgvector computes distances a last digit otherwise"
    )
    assert one == other


def ids(scored: list[tuple[str, float]]) -> list[str]:
    return [id for id, _ in scored]


def test_words_that_thousands_hold_are_found_as_on_sqlite(tmp_path: Path) -> None:
    from segue.stores.sqlite import SqliteStore

    rows = [memory(f"m{n}", f"pool {'rare' if n % 400 == 0 else 'usual'} number {n}") for n in range(1500)]
    sqlite = SqliteStore(tmp_path / "segue.db")
    stores: list[Memories] = [journal_for(tmp_path).memories, sqlite.memories]
    for store in stores:
        add(store, *rows)
    for query in ("pool", "pool rare", "pool usual", "rare number 800"):
        one, other = (store.match(HERE, query.split(), MemoryFilter(), 100) for store in stores)
        assert (one.counts, one.total) == (other.counts, other.total), query
        assert [(h.held, h.length) for h in one.hits] == [(h.held, h.length) for h in other.hits], query
    sqlite.close()


# -- walls between namespaces ----------------------------------------------------------------------

names = st.sampled_from(["session/a", "session/b", "hold/a", "tree/x"])
writes = st.lists(st.tuples(st.integers(0, 1), names, st.integers(1, 3)), min_size=1, max_size=12)


@given(writes)
@settings(max_examples=30, deadline=None)
def test_what_is_written_in_one_namespace_is_in_no_other(plan: list[tuple[int, str, int]]) -> None:
    place = str(uuid4())
    journals = [journal_for(f"{place}/{side}") for side in (0, 1)]
    wanted: list[dict[str, list[str]]] = [{}, {}]
    for number, (side, name, count) in enumerate(plan):
        journal, own = journals[side], wanted[side].setdefault(name, [])
        texts = [f"{number}-{place}" for place in range(count)]
        piece = f"piece of {side} {number}".encode()
        journal.append(Append(name, len(own), drafts(*texts)), pieces={address(piece): piece})
        own += texts
        journal.keep(Snapshot(name, len(own), 1, f"{side}".encode(), b""))
        journal.runs.put([row(f"{name}-{side}", project=str(side))])
        journal.memories.write(_learnt(side, number))
    for side, journal in enumerate(journals):
        assert dict(journal.streams()) == {name: len(texts) for name, texts in wanted[side].items()}
        for name in wanted[side]:
            verify_chain(journal.read(name))
            assert journal.snapshots([name])[name].state == f"{side}".encode()
        assert {one.project for one in journal.runs.rows()} <= {str(side)}
        theirs = [f"piece of {1 - side} {n}".encode() for n, (s, _, _) in enumerate(plan) if s != side]
        assert journal.pieces(address(body) for body in theirs) == {}
        told = {one.content.split()[-1] for one in journal.memories.listing(HERE, MemoryFilter(), AT)}
        assert told <= {str(side)}
        assert {id for id, _ in found(journal.memories, HERE, "fact")} == {
            f"m{n}" for n, (s, _, _) in enumerate(plan) if s == side
        }
    gone = [Append(name, version) for name, version in journals[0].streams()]
    before = journals[1].streams()
    journals[0].drop(*gone, beside={})
    assert journals[0].streams() == [] and journals[1].streams() == before


def _learnt(side: int, number: int):
    from segue.stores.memory_changes import MemoryChange

    return MemoryChange(adds=[kept(memory(f"m{number}", f"fact {number} of side {side}"))])


def test_every_table_has_the_namespace_first_in_its_key(tmp_path: Path) -> None:
    journal_for(tmp_path).streams()
    rows = shared().query(
        "SELECT c.relname, (SELECT a.attname FROM pg_attribute a"
        " WHERE a.attrelid = c.oid AND a.attnum = i.indkey[0])"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_index i ON i.indrelid = c.oid"
        " WHERE n.nspname = 'segue' AND i.indisunique AND c.relname <> 'meta'"
    )
    assert len(rows) >= 14 and {first for _, first in rows} == {"namespace"}, rows


def test_a_name_or_text_with_a_zero_byte_is_no_way_around(tmp_path: Path) -> None:
    journal = journal_for(tmp_path)
    body = Draft("raw", b"\x00", AT, "t\x00ester", "run\x00")
    [event] = journal.append(Append("s", 0, [body]))
    assert journal.read("s") == [event] and journal.head("s\x00").version == 0
