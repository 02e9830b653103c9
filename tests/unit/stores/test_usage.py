"""Shares of a quota that servers take in one database: never more than the limit, and none is lost for
long."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.postgres_store import journal_for, needs_postgres

from segue.core.server.quota import KINDS, REQUESTS, Quota, clean_limit, share_of
from segue.errors import UsageError
from segue.services.server.quotas import in_append
from segue.stores.base import Append
from segue.stores.memory_changes import MemoryChange
from segue.stores.postgres import PostgresStore
from segue.stores.postgres.usage import PostgresUsage
from segue.stores.sqlite import SqliteStore
from segue.stores.sqlite.upkeep import count_use
from segue.stores.usage import Wish
from segue.testing.memories import kept, memory
from segue.testing.stores import drafts


def test_a_share_is_a_part_of_what_is_free_and_at_least_what_is_needed() -> None:
    assert share_of(10_000_000, 1, "events") == 1_024
    assert share_of(800, 1, "events") == 100
    assert share_of(7, 1, "events") == 1
    assert share_of(7, 7, "events") == 7
    assert share_of(7, 8, "events") == share_of(0, 1, "events") == share_of(-5, 1, "events") == 0


def test_limits_are_whole_numbers_from_nought_up() -> None:
    assert clean_limit("events", 0) == 0
    for limit in (-1, 2**60):
        with pytest.raises(UsageError):
            clean_limit("events", limit)
    assert Quota("web", events=5, requests=3).limits == {"events": 5, REQUESTS: 3}


def test_holds_and_ledgers_are_never_refused_and_observed_runs_count_by_their_bytes() -> None:
    told = drafts("x" * 50)
    for stream in ("hold/s", "ledger/offline/here", "tree/t", "once/r"):
        assert set(in_append((Append(stream, 0, told),), None, None).values()) == {0}
    run = in_append((Append("run/r", 3, told),), None, None)
    assert run["events"] == run["sessions"] == 0 and run["bytes"] > 50
    begun = in_append((Append("session/s", 0, told), Append("session/s", 1, told)), {"a": b"12345"}, None)
    assert (begun["sessions"], begun["events"], begun["bytes"]) == (1, 2, 2 * run["bytes"] + 5)


def filled(store: PostgresStore | SqliteStore) -> None:
    store.append(Append("session/a", 0, drafts("one", "two")), pieces={"ab" * 32: b"12345"})
    store.append(Append("session/b", 0, drafts("three")))
    store.append(Append("ledger/x", 0, drafts("four")))
    store.memories.write(MemoryChange(adds=[kept(memory("m", "learnt"))]))


def test_an_embedded_store_is_counted(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "segue.db")
    assert [count_use(store.database, kind) for kind in KINDS] == [0, 0, 0, 0]
    filled(store)
    sessions, events, memories, size = (count_use(store.database, kind) for kind in KINDS)
    assert (sessions, events, memories) == (2, 3, 1) and size > 5
    store.drop(Append("session/a", 2))
    assert [count_use(store.database, kind) for kind in KINDS[:2]] == [1, 1]
    store.close()


@needs_postgres
class TestPostgres:
    @pytest.fixture
    def store(self, tmp_path: Path) -> PostgresStore:
        return journal_for(tmp_path)

    def wish(
        self,
        store: PostgresStore,
        server: str,
        need: int,
        *,
        kind: str = "events",
        limit: int = 100,
        **more: int,
    ) -> Wish:
        return Wish("web", store.namespace, kind, server, limit, need, **more)

    def age(self, store: PostgresStore, server: str, seconds: int) -> None:
        with store.database._connection(float("inf")) as db:
            db.execute(
                "UPDATE segue.server_usage SET at = at - %s WHERE namespace = %s AND server = %s",
                (seconds, store.namespace, server),
            )

    def test_a_store_is_counted_as_an_embedded_one_is(self, store: PostgresStore) -> None:
        filled(store)
        usage = PostgresUsage(store.database)
        sessions, events, memories, size = (usage.used("web", kind, store.namespace) for kind in KINDS)
        assert (sessions, events, memories) == (2, 3, 1) and size > 5

    def test_two_servers_have_the_limit_between_them(self, store: PostgresStore) -> None:
        usage = PostgresUsage(store.database)
        spent = {"one": 0, "two": 0}
        for turn in range(200):
            server = ("one", "two")[turn % 2]
            spent[server] += usage.draw(self.wish(store, server, 1, in_flight=spent[server])).share
        assert sum(spent.values()) == 100 and min(spent.values()) > 20
        assert usage.given("web")["events"] >= 100

    def test_what_is_not_spent_comes_back(self, store: PostgresStore) -> None:
        usage = PostgresUsage(store.database)
        first = usage.draw(self.wish(store, "one", 90))
        assert first.share == 90
        assert usage.draw(self.wish(store, "two", 20)).share == 0
        usage.draw(self.wish(store, "one", 0, unspent=90))
        assert usage.draw(self.wish(store, "two", 20)).share == 20

    def test_the_share_of_a_server_that_is_gone_is_free_after_a_minute(self, store: PostgresStore) -> None:
        usage = PostgresUsage(store.database)
        assert usage.draw(self.wish(store, "one", 90)).share == 90
        self.age(store, "", 2)
        assert usage.draw(self.wish(store, "two", 20)).share == 0, "it may still write"
        self.age(store, "one", 61)
        self.age(store, "", 2)
        assert usage.draw(self.wish(store, "two", 20)).share == 20

    def test_what_is_written_past_the_servers_is_noticed_before_it_is_too_late(
        self, store: PostgresStore
    ) -> None:
        usage = PostgresUsage(store.database)
        usage.draw(self.wish(store, "one", 0))
        store.append(Append("session/a", 0, drafts(*map(str, range(95)))))
        self.age(store, "", 4_000)
        assert usage.draw(self.wish(store, "one", 10)).share == 0
        store.drop(Append("session/a", 95))
        self.age(store, "", 2)
        assert usage.draw(self.wish(store, "one", 10)).share >= 10

    def test_writes_that_are_under_way_count_when_it_is_counted_anew(self, store: PostgresStore) -> None:
        usage = PostgresUsage(store.database)
        assert usage.draw(self.wish(store, "one", 10, in_flight=95)).share == 0

    def test_requests_are_counted_for_each_minute(self, store: PostgresStore) -> None:
        usage = PostgresUsage(store.database)
        asked = self.wish(store, "one", 1, kind=REQUESTS, limit=10)
        found = [usage.draw(asked).share for _ in range(15)]
        assert sum(found) in (10, 15) and found[-1] in (0, 1)
        self.age(store, "", 60)
        assert usage.draw(asked).share == 1
