"""A graph that pays, two numbers at a time in parallel, and whose checkpoints are kept."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Send
from tests.integrations.chain_of_kills import PAYMENTS, note

from segue import Segue
from segue.integrations.langgraph import SegueSaver

AT_ONCE = 2


class Payments(TypedDict):
    paid: Annotated[list[int], operator.add]


class Payment(TypedDict):
    number: int


class AcknowledgedSaver(SegueSaver):
    """Notes each checkpoint, and what a task wrote, after it was kept."""

    def __init__(self, segue: Segue, folder: Path, name: str) -> None:
        super().__init__(segue)
        self._folder, self._name = folder, name

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        kept = super().put(config, checkpoint, metadata, new_versions)
        note(self._folder / "acknowledged", f"{self._name} checkpoint {checkpoint['id']}")
        return kept

    def put_writes(
        self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        super().put_writes(config, writes, task_id, task_path)
        where = f"{config['configurable']['checkpoint_id']}/{task_id}"
        note(self._folder / "acknowledged", f"{self._name} writes {where}")


def graph_of(saver: SegueSaver, folder: Path, name: str) -> Any:
    def more(state: Payments) -> list[Send] | str:
        first = len(state["paid"])
        numbers = range(first, min(first + AT_ONCE, PAYMENTS))
        return [Send("pay", {"number": number}) for number in numbers] or "end"

    def pay(payment: Payment) -> Payments:
        note(folder / "payments", f"{name} {payment['number']}")
        return {"paid": [payment["number"]]}

    builder = StateGraph(Payments)
    builder.add_node("plan", lambda state: {"paid": []})
    builder.add_node("pay", pay)
    builder.add_node("end", lambda state: {"paid": []})
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", more, ["pay", "end"])
    builder.add_edge("pay", "plan")
    return builder.compile(checkpointer=saver)


def main(folder: Path, url: str, name: str) -> None:
    saver = AcknowledgedSaver(Segue(home=folder / "segue", folder=folder), folder, name)
    graph = graph_of(saver, folder, name)
    thread: Any = {"configurable": {"thread_id": name}}
    given: Any = None if saver.get_tuple(thread) else {"paid": []}
    assert graph.invoke(given, thread, durability="sync")["paid"] == list(range(PAYMENTS))
