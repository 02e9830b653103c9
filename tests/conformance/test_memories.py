"""Every store of memories passes the suite that we ship, and two of them say the same."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings, strategies as st

from segue.core.memories.model import SCOPES, Memory, MemoryFilter, MemoryReader
from segue.stores.base import Memories
from segue.stores.memory.memories import VolatileMemories
from segue.stores.sqlite import SqliteStore
from segue.testing.memories import MemoriesSuite, add, found, leaks, memory, seen

NAMES = ["a", "b", "c"]
TEXTS = [
    "pool size",
    "JWT_SECRET is set",
    "tests fail",
    "the pool fails",
    "parse_user_id",
    "retry twice",
    "CI",
]


class TestVolatileMemories(MemoriesSuite):
    def make(self, tmp_path: Path) -> Memories:
        return VolatileMemories()


class TestSqliteMemories(MemoriesSuite):
    durable = True

    def make(self, tmp_path: Path) -> Memories:
        return SqliteStore(tmp_path / "segue.db").memories


@st.composite
def memories(draw: st.DrawFn) -> list[Memory]:
    return [
        memory(
            f"m{place}",
            draw(st.sampled_from(TEXTS)) + f" {draw(st.integers(0, 4))}",
            scope=draw(st.sampled_from(SCOPES)),
            agent=draw(st.sampled_from(NAMES)),
            session=draw(st.sampled_from(NAMES)),
            project=draw(st.sampled_from(NAMES)),
            organization=draw(st.sampled_from(NAMES)),
            namespace=draw(st.sampled_from(["default", "default", "other"])),
            user=draw(st.sampled_from(["", "", "ann"])),
            shared_with=tuple(draw(st.lists(st.sampled_from(NAMES), max_size=2))),
            created=f"2026-05-{draw(st.integers(1, 28)):02d}T00:00:00.{place:06d}Z",
        )
        for place in range(draw(st.integers(1, 12)))
    ]


readers = st.builds(
    MemoryReader,
    agent=st.sampled_from([*NAMES, ""]),
    namespace=st.sampled_from(["default", "other"]),
    user=st.sampled_from(["", "ann"]),
    sessions=st.lists(st.sampled_from(NAMES), max_size=2).map(tuple),
    projects=st.lists(st.sampled_from(NAMES), max_size=2).map(tuple),
    organization=st.sampled_from([*NAMES, ""]),
)


@given(memories(), readers, st.sampled_from([*TEXTS, "pool tests", "set of JWT_SECRET", "nothing"]))
@settings(max_examples=150, deadline=None)
def test_a_reader_sees_nothing_that_it_would_not_see_alone(
    rows: list[Memory], reader: MemoryReader, query: str
) -> None:
    assert leaks([VolatileMemories(), VolatileMemories()], rows, reader, query) == []


@given(rows=memories(), reader=readers, query=st.sampled_from([*TEXTS, "pool tests"]))
@settings(max_examples=40, deadline=None)
def test_neither_does_it_on_sqlite(
    tmp_path_factory, rows: list[Memory], reader: MemoryReader, query: str
) -> None:
    folder = tmp_path_factory.mktemp("leaks")
    stores = [SqliteStore(folder / f"{name}.db") for name in ("full", "own")]
    try:
        assert leaks([store.memories for store in stores], rows, reader, query) == []
    finally:
        for store in stores:
            store.close()


@given(rows=memories(), reader=readers, query=st.sampled_from([*TEXTS, "pool tests"]))
@settings(max_examples=30, deadline=None)
def test_the_same_query_gives_the_same_on_every_store(
    tmp_path_factory, rows: list[Memory], reader: MemoryReader, query: str
) -> None:
    journal = SqliteStore(tmp_path_factory.mktemp("same") / "segue.db")
    stores: list[Memories] = [journal.memories, VolatileMemories()]
    for store in stores:
        add(store, *rows)
    one, other = (seen(store, reader, query) for store in stores)
    narrow = MemoryFilter(agents=("a", "b"), types=("standard",))
    assert found(stores[0], reader, query, narrow) == found(stores[1], reader, query, narrow)
    journal.close()
    assert one == other
