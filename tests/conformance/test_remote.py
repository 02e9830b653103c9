"""A Segue server passes every suite that other stores pass, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.test_memories import TEXTS, memories, readers
from tests.remote_kit import Portal, server_for, stop_all

from segue.core.memory import Memory, Reader, Where
from segue.stores.base import Journal, Memories, Runs
from segue.stores.volatile import VolatileJournal
from segue.stores.volatile_memories import VolatileMemories
from segue.testing import JournalSuite, MemoriesSuite, RunsSuite
from segue.testing.memories import add, found, leaks, seen


@pytest.fixture(autouse=True)
def _no_server_outlives_its_test() -> Iterator[None]:
    yield
    stop_all()


class TestRemote(JournalSuite):
    durable = True

    def make(self, tmp_path: Path) -> Journal:
        return server_for(tmp_path).store()


class TestRemoteRuns(RunsSuite):
    durable = True

    def make(self, tmp_path: Path) -> Runs:
        return server_for(tmp_path).store().runs


class TestRemoteMemories(MemoriesSuite):
    durable = True

    def make(self, tmp_path: Path) -> Memories:
        return server_for(tmp_path).store().memories


@given(rows=memories(), reader=readers, query=st.sampled_from([*TEXTS, "pool tests"]))
@settings(max_examples=25, deadline=None)
def test_a_reader_sees_nothing_that_it_would_not_see_alone(
    rows: list[Memory], reader: Reader, query: str
) -> None:
    servers = [Portal(Path(), journal=VolatileJournal()) for _ in range(2)]
    try:
        assert leaks([server.store().memories for server in servers], rows, reader, query) == []
    finally:
        for server in servers:
            server.stop()


@given(rows=memories(), reader=readers, query=st.sampled_from([*TEXTS, "pool tests"]))
@settings(max_examples=25, deadline=None)
def test_the_same_query_gives_the_same_as_on_every_store(
    rows: list[Memory], reader: Reader, query: str
) -> None:
    server = Portal(Path(), journal=VolatileJournal())
    try:
        stores: list[Memories] = [server.store().memories, VolatileMemories()]
        for store in stores:
            add(store, *rows)
        one, other = (seen(store, reader, query) for store in stores)
        narrow = Where(agents=("a", "b"), types=("standard",))
        assert found(stores[0], reader, query, narrow) == found(stores[1], reader, query, narrow)
        assert one == other
    finally:
        server.stop()
