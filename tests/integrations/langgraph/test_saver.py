"""Graphs on `SegueSaver`: they go on, wait, go back, and are sessions."""

from __future__ import annotations

import asyncio
import operator
import pickle
import random
import subprocess
import sys
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from tests.integrations.langgraph.graphs import asking, chain, of
from tests.integrations.places import Place

from segue.integrations.langgraph import SegueSaver


def test_a_graph_that_failed_goes_on_where_it_stopped_in_another_process(place: Place) -> None:
    runs: list[str] = []

    def once(name: str, state: Any) -> None:
        runs.append(name)
        if name == "build" and runs.count(name) == 1:
            raise RuntimeError("the compiler is not there")

    graph = chain(SegueSaver(place.segue()), "read", "build", "test", before=once)
    with pytest.raises(RuntimeError):
        graph.invoke({"task": "Ship it", "done": []}, of("a"))
    again = chain(SegueSaver(place.segue()), "read", "build", "test", before=once)
    assert again.invoke(None, of("a"))["done"] == ["read", "build", "test"]
    assert runs == ["read", "build", "build", "test"]


def test_an_interrupted_graph_waits_as_an_open_question_until_it_is_answered(place: Place) -> None:
    segue = place.segue()
    asking(SegueSaver(segue)).invoke({"task": "Deploy the shop"}, of("deploy"))
    asked = segue.session("deploy").state
    assert asked.goal == "Deploy the shop"
    assert [(q.text, q.answer) for q in asked.questions] == [("May it be deployed on a Friday?", "")]
    other = place.segue()
    assert asking(SegueSaver(other)).invoke(Command(resume="no"), of("deploy"))["answer"] == "no"
    assert [q.answer for q in other.session("deploy").state.questions] == ["no"]


def test_time_travel_goes_on_from_an_old_checkpoint_and_leaves_what_came_after(place: Place) -> None:
    graph = chain(SegueSaver(place.segue()), "a", "b", "c")
    graph.invoke({"task": "x", "done": []}, of("t"))
    history = list(graph.get_state_history(of("t")))
    old = next(one for one in history if one.next == ("b",))
    forked = graph.update_state(old.config, {"done": ["instead"]})
    assert graph.invoke(None, forked)["done"] == ["a", "instead", "b", "c"]
    after = list(graph.get_state_history(of("t")))
    assert after[-len(history) :] == history
    assert graph.get_state(old.config).values == old.values


def test_a_thread_is_a_session_that_is_listed_briefed_and_searched(local: Place) -> None:
    segue = local.segue()
    graph = chain(SegueSaver(segue), "a")
    graph.invoke({"task": "Move the invoices to the new ledger", "done": []}, of("invoices"))
    graph.invoke({"task": "Now the receipts", "done": []}, of("invoices"))
    assert [(card.id, card.goal) for card in segue.list()] == [
        ("invoices", "Move the invoices to the new ledger")
    ]
    words = [sys.executable, "-m", "segue", "brief", "invoices"]
    shown = subprocess.run(words, env=local.environment(), cwd=local.folder, capture_output=True, text=True)
    assert "Move the invoices to the new ledger" in shown.stdout, shown
    assert any(hit.session == "invoices" for hit in segue.search("receipts").hits)


def test_a_thread_may_have_any_id(local: Place) -> None:
    saver = SegueSaver(local.segue())
    names = ["a/b", "über alles", "x" * 300, "../..", "con", " "]
    for name in names:
        chain(saver, "a").invoke({"task": name, "done": []}, of(name))
    for name in names:
        assert chain(saver, "a").get_state(of(name)).values["task"] == name
    assert len({saver.session_id(name) for name in names}) == len(names)


class Messages(TypedDict):
    messages: Annotated[list[Any], operator.add]


def test_what_is_loaded_equals_what_langgraph_itself_keeps_in_memory(place: Place) -> None:
    """A long run with growing, shrinking and changing values, beside LangGraph's own saver."""
    draw, segue = random.Random(7), place.segue()
    savers = [SegueSaver(segue), InMemorySaver()]
    configs: list[Any] = [{"configurable": {"thread_id": "t", "checkpoint_ns": ""}} for _ in savers]
    items: list[Any] = []
    ids: list[str] = []
    for step in range(40):
        items = [*items, HumanMessage(content="w" * draw.randrange(900), id=str(step)), {"n": step}]
        if step % 7 == 6:
            items = items[draw.randrange(4) :]
        if step % 5 == 4:
            items[draw.randrange(len(items))] = AIMessage(content="changed " * draw.randrange(90))
        made = empty_checkpoint()
        made["channel_values"] = {"items": items, "step": step, "text": "abc" * step}
        made["channel_versions"] = dict.fromkeys(made["channel_values"], step)
        ids.append(made["id"])
        metadata: Any = {"source": "loop", "step": step}
        configs = [
            saver.put(config, made, metadata, made["channel_versions"])
            for saver, config in zip(savers, configs, strict=True)
        ]
    fresh = SegueSaver(place.segue())
    for id in [*ids, ""]:
        where: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": id}}
        if not id:
            del where["configurable"]["checkpoint_id"]
        mine, theirs = fresh.get_tuple(where), savers[1].get_tuple(where)
        assert mine == theirs
    assert [one.checkpoint["id"] for one in fresh.list(configs[0] | of("t"), limit=10)] == ids[:-11:-1]


def test_a_long_thread_is_resumed_from_few_pieces(place: Place) -> None:
    """Its values are packed beside the pieces; what is there of them is not read piece by piece."""
    draw, segue = random.Random(5), place.segue()
    saver, items = SegueSaver(segue), [str(draw.random()) * 30 for _ in range(60)]
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for step in range(220):
        items = [*items[1:], str(draw.random()) * 30]
        made = empty_checkpoint()
        made["channel_values"] = {"items": items}
        config = saver.put(config, made, {"source": "loop", "step": step}, {})
    fresh = place.segue()
    asked: list[str] = []
    pieces = fresh.workspace.store.pieces

    def counting(addresses: Any) -> Any:
        wanted = list(addresses)
        asked.extend(wanted)
        return pieces(wanted)

    fresh.workspace.store.pieces = counting  # type: ignore[method-assign]
    found = SegueSaver(fresh).get_tuple({"configurable": {"thread_id": "t", "checkpoint_ns": ""}})
    assert found is not None and found.checkpoint["channel_values"]["items"] == items
    assert found.parent_config is not None and 0 < len(asked) < 55
    older = SegueSaver(place.segue()).get_tuple(found.parent_config)
    assert older is not None and older.checkpoint["channel_values"]["items"][1:] == items[:-1]


def appended(state: list[Any], writes: Any) -> list[Any]:
    return [*state, *(one for write in writes for one in (write if isinstance(write, list) else [write]))]


class Deltas(TypedDict):
    messages: Annotated[list[Any], DeltaChannel(appended, list, snapshot_frequency=4)]


def test_delta_channels_are_rebuilt_also_after_pruning(place: Place) -> None:
    segue = place.segue()
    saver = SegueSaver(segue)
    builder = StateGraph(Deltas)
    builder.add_node("echo", lambda state: {"messages": [len(state["messages"])]})
    builder.add_edge(START, "echo")
    builder.add_edge("echo", END)
    graph = builder.compile(checkpointer=saver)
    for turn in range(7):
        graph.invoke({"messages": [f"turn {turn}"]}, of("d"))
    before = graph.get_state(of("d")).values["messages"]
    assert len(before) == 14
    saver.prune(["d"])
    assert builder.compile(checkpointer=SegueSaver(place.segue())).get_state(of("d")).values[
        "messages"
    ] == before  # fmt: skip
    assert graph.invoke({"messages": ["more"]}, of("d"))["messages"][:14] == before


def test_pruning_leaves_the_newest_and_frees_the_rest(local: Place) -> None:
    segue = local.segue()
    saver = SegueSaver(segue)
    graph = chain(saver, *"abcdefgh")
    state = graph.invoke({"task": "t" * 5000, "done": []}, of("t"))
    store = segue.workspace.store
    old = dict(store.streams("graph/t/"))
    saver.prune(["t"])
    assert len(list(saver.list(of("t")))) == 1
    assert graph.get_state(of("t")).values == state
    assert old.keys().isdisjoint(dict(store.streams("graph/t/")))
    assert store.database.fetch("SELECT count(*) FROM pieces") == [(1,)]  # type: ignore[attr-defined]


def test_a_copied_thread_goes_its_own_way(place: Place) -> None:
    saver = SegueSaver(place.segue())
    graph = chain(saver, "a", "b")
    graph.invoke({"task": "x", "done": []}, of("one"))
    saver.copy_thread("one", "two")
    graph.invoke({"task": "y", "done": []}, of("two"))
    saver.delete_thread("one")
    assert graph.get_state(of("two")).values["done"] == ["a", "b", "a", "b"]
    assert graph.get_state(of("one")).values == {}


def test_async_graphs_with_graphs_inside_them_are_kept(place: Place) -> None:
    saver = SegueSaver(place.segue())
    inner = chain(True, "x", "y")
    builder = StateGraph(Messages)

    async def call(state: Messages) -> Messages:
        return {"messages": (await inner.ainvoke({"task": "t", "done": []}))["done"]}

    builder.add_node("call", call)
    builder.add_edge(START, "call")
    graph = builder.compile(checkpointer=saver)

    async def run() -> Any:
        await graph.ainvoke({"messages": ["go"]}, of("n"))
        return [one async for one in saver.alist(of("n"))]

    found = asyncio.run(run())
    assert len({one.config["configurable"]["checkpoint_ns"] for one in found}) == 2
    assert graph.get_state(of("n")).values["messages"] == ["go", "x", "y"]


class Evil:
    def __reduce__(self) -> Any:
        return (print, ("run",))


def test_nothing_is_unpickled_that_was_not_asked_for(local: Place, capsys: Any) -> None:
    segue = local.segue()
    trusting = SegueSaver(segue, serde=JsonPlusSerializer(pickle_fallback=True))
    made = empty_checkpoint()
    made["channel_values"] = {"evil": Evil()}
    assert trusting.serde.dumps_typed(Evil()) == ("pickle", pickle.dumps(Evil()))
    where: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    trusting.put(where, made, {}, {})
    with pytest.raises(NotImplementedError):
        SegueSaver(segue).get_tuple(where)
    assert capsys.readouterr().out == ""
