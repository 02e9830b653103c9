"""Graphs that the tests run."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt


class Work(TypedDict, total=False):
    task: str
    done: Annotated[list[str], operator.add]
    answer: str


def chain(saver: Any, *names: str, before: Any = None, **options: Any) -> Any:
    """A graph whose nodes run one after the other; ``before`` is called at the begin of each."""

    def node(name: str) -> Any:
        def run(state: Work) -> Work:
            if before is not None:
                before(name, state)
            return {"done": [name]}

        return run

    builder = StateGraph(Work)
    for name in names:
        builder.add_node(name, node(name))
    for first, second in zip((START, *names), (*names, END), strict=True):
        builder.add_edge(first, second)
    return builder.compile(checkpointer=saver, **options)


def asking(saver: Any) -> Any:
    """A graph that asks whether it may deploy."""

    def ask(state: Work) -> Work:
        return {"answer": interrupt({"question": "May it be deployed on a Friday?"})}

    builder = StateGraph(Work)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=saver)


def of(thread: str) -> dict[str, Any]:
    """The config of a thread."""
    return {"configurable": {"thread_id": thread}}
