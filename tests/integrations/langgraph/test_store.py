"""`SegueStore`: what graphs remember across threads."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from tests.integrations.places import Place

from segue.errors import UsageError
from segue.integrations.langgraph import SegueStore


def test_what_was_put_is_found_by_another_process(place: Place) -> None:
    SegueStore(place.segue()).put(("users", "ada"), "food", {"text": "likes sushi", "n": [1, {"a": None}]})
    found = SegueStore(place.segue()).get(("users", "ada"), "food")
    assert found is not None
    assert (found.namespace, found.key) == (("users", "ada"), "food")
    assert found.value == {"text": "likes sushi", "n": [1, {"a": None}]}


def _steps(store: BaseStore) -> list[Any]:
    """What a store answers to a number of questions, without times and scores."""
    for user, key, number in (("a", "x", 1), ("a", "y", 2), ("b", "x", 3), ("b", "z", 4)):
        store.put(("users", user, "facts"), key, {"number": number, "tag": key, "deep": {"user": user}})
    store.put(("users", "a", "facts"), "x", {"number": 9, "tag": "x", "deep": {"user": "a"}})
    store.delete(("users", "b", "facts"), "z")
    store.delete(("users", "b", "facts"), "never")

    def keys(**wish: Any) -> list[Any]:
        prefix = wish.pop("prefix", ("users",))
        return sorted((one.namespace, one.key, one.value["number"]) for one in store.search(prefix, **wish))

    return [
        keys(), keys(prefix=("users", "a")), keys(prefix=()), keys(prefix=("user",)),
        keys(filter={"tag": "x"}), keys(filter={"number": {"$gte": 2, "$lt": 9}}),
        keys(filter={"number": {"$ne": 9}}), keys(filter={"nothing": 1}),
        len(store.search(("users",), limit=2)), len(store.search(("users",), limit=2, offset=2)),
        sorted(store.list_namespaces()), sorted(store.list_namespaces(prefix=("users", "a"))),
        sorted(store.list_namespaces(suffix=("facts",))), sorted(store.list_namespaces(max_depth=2)),
        sorted(store.list_namespaces(prefix=("*", "b"))), store.get(("users", "b", "facts"), "z"),
    ]  # fmt: skip


def test_it_answers_as_langgraphs_own_store_does(place: Place) -> None:
    assert _steps(SegueStore(place.segue())) == _steps(InMemoryStore())


def test_a_search_puts_what_fits_the_query_first(place: Place) -> None:
    store = SegueStore(place.segue(), index={"fields": ["text"]})
    store.put(("m",), "1", {"text": "The deploy script needs a token", "hidden": "pizza"})
    store.put(("m",), "2", {"text": "She likes pizza with olives"})
    store.put(("m",), "3", {"text": "pizza pizza pizza"}, index=False)
    found = store.search(("m",), query="pizza olives")
    assert found[0].key == "2" and found[0].score is not None
    assert found[-1].score is None


def test_a_search_finds_by_meaning_what_has_none_of_the_words(place: Place) -> None:
    store = SegueStore(place.segue())
    store.put(("m",), "car", {"text": "The automobile is at the garage for repair"})
    store.put(("m",), "food", {"text": "She prefers rice with vegetables for dinner"})
    store.put(("m",), "trip", {"text": "The flight to Lisbon leaves on Monday"})
    found = store.search(("m",), query="vehicles")
    assert found[0].key == "car" and found[0].score is not None


def test_an_item_is_gone_when_its_time_is_over_and_reading_it_lets_it_begin_again(local: Place) -> None:
    store = SegueStore(local.segue(), ttl={"refresh_on_read": True})
    store.put(("t",), "read", {"a": 1}, ttl=2.5 / 60)
    store.put(("t",), "unread", {"a": 2}, ttl=2.5 / 60)
    deadline = time.monotonic() + 3.5
    while time.monotonic() < deadline:
        assert store.get(("t",), "read") is not None
        time.sleep(0.3)
    assert store.get(("t",), "unread") is None
    assert [item.key for item in store.search(("t",))] == ["read"]
    assert store.sweep_ttl() == 1


def test_it_works_for_programs_that_do_not_wait(local: Place) -> None:
    store = SegueStore(local.segue())

    async def run() -> Any:
        await asyncio.gather(*(store.aput(("n",), str(i), {"i": i}) for i in range(10)))
        return await store.asearch(("n",), limit=20)

    assert sorted(item.value["i"] for item in asyncio.run(run())) == list(range(10))


def test_a_value_that_is_too_large_is_refused_in_words(local: Place) -> None:
    with pytest.raises(UsageError, match="bytes"):
        SegueStore(local.segue()).put(("n",), "k", {"text": "x" * 50_000})
