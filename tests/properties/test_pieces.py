"""Agents' states in pieces: any value, any edit, from any process, comes back with its exact types."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st
from tests.properties.strategies import json_values, scalars, texts
from tests.support.examples import examples

from segue.core.base import canonical
from segue.core.journal import pieces

entries = st.lists(scalars | json_values, min_size=14, max_size=60) | st.dictionaries(
    texts, scalars | json_values, min_size=14, max_size=40
)
values = (
    json_values
    | entries
    | st.dictionaries(st.sampled_from("abcd"), entries | json_values, max_size=4)
    | st.text(min_size=4000, max_size=9000)
)


def exact(value: Any) -> Any:
    """The value in a form in which 1, 1.0 and True differ, and the order of keys counts."""
    if isinstance(value, dict):
        return ("dict", [(key, exact(inner)) for key, inner in value.items()])
    if isinstance(value, list):
        return ("list", [exact(inner) for inner in value])
    return (type(value).__name__, repr(value))


@st.composite
def edits(draw: st.DrawFn, value: Any) -> Any:
    """The value with something in it changed, added, removed or moved."""
    if isinstance(value, list) and value:
        place = draw(st.integers(0, len(value) - 1))
        kind = draw(st.sampled_from(["inner", "set", "add", "drop", "head", "turn"]))
        if kind == "inner":
            return [*value[:place], draw(edits(value[place])), *value[place + 1 :]]
        if kind == "set":
            return [*value[:place], draw(scalars), *value[place + 1 :]]
        if kind == "add":
            return [*value[:place], *draw(st.lists(scalars, max_size=20)), *value[place:]]
        return {"drop": value[:place] + value[place + 1 :], "head": value[place:]}.get(kind, value[::-1])
    if isinstance(value, dict) and value:
        name = draw(st.sampled_from(list(value)))
        kind = draw(st.sampled_from(["inner", "add", "drop"]))
        if kind == "inner":
            return {**value, name: draw(edits(value[name]))}
        if kind == "add":
            return {**value, draw(texts): draw(scalars)}
        return {key: inner for key, inner in value.items() if key != name}
    if isinstance(value, str) and len(value) > 1000:
        place = draw(st.integers(0, len(value)))
        return value[:place] + draw(st.text(max_size=5)) + value[place + draw(st.integers(0, 5)) :]
    twins: dict[Any, list[Any]] = {0: [0, 0.0, False, -0.0], 1: [1, 1.0, True]}
    same = twins.get(value) if isinstance(value, int | float) else None
    return draw(st.sampled_from(same) if same else json_values)


@st.composite
def histories(draw: st.DrawFn) -> list[Any]:
    """Some values of one agent's state, one after the other."""
    history = [draw(values)]
    for _ in range(draw(st.integers(1, 4))):
        history.append(draw(edits(history[-1]) | st.just(history[-1])))
    return history


def spliced(addresses: tuple[str, ...], splices: pieces.Splices) -> tuple[str, ...]:
    """As the fold of a session applies them."""
    result = list(addresses)
    for place, gone, come in splices:
        result[place : place + gone] = come
    return tuple(result)


def read_back(history: list[Any]) -> list[Any]:
    """Save the values of a history one after the other; what the stored pieces give after each save."""
    rope, store = pieces.Rope(), dict[str, bytes]()
    addresses: tuple[str, ...] = ()
    found: list[Any] = []
    for value in history:
        saving = pieces.save(rope, value)
        addresses = spliced(addresses, saving.splices)
        store |= saving.fresh
        rope = saving.settle()
        assert addresses == rope.addresses
        assert all(pieces.address(body) == address for address, body in saving.fresh.items())
        body = b"".join(store[address] for address in addresses)
        assert exact(rope.value()) == exact(value)
        assert saving.size == len(body)
        found.append(pieces.decode(body))
    return found


@examples(150)
@given(histories())
def test_every_save_of_a_history_comes_back_exactly(history: list[Any]) -> None:
    assert [exact(value) for value in read_back(history)] == [exact(value) for value in history]


@examples(150)
@given(histories())
def test_another_process_that_loads_and_saves_comes_to_the_same_value(history: list[Any]) -> None:
    store = dict[str, bytes]()
    addresses: tuple[str, ...] = ()
    for value in history:
        rope, aligned = pieces.Rope(), True
        if addresses:
            rope, aligned = pieces.load([store[a] for a in addresses], addresses)
        saving = pieces.save(rope, value)
        splices, fresh, rope = saving.splices, saving.fresh, saving.settle()
        if not aligned:
            splices, fresh = pieces.resplice(addresses, rope)
        store |= fresh
        addresses = spliced(addresses, splices)
        assert addresses == rope.addresses
        assert exact(pieces.decode(b"".join(store[a] for a in addresses))) == exact(value)


@examples(100)
@given(values)
def test_saving_the_same_value_again_changes_nothing(value: Any) -> None:
    first = pieces.save(pieces.Rope(), value)
    again = pieces.save(first.settle(), pieces.decode(pieces.encode(value)))
    assert again.splices == ()
    assert again.fresh == {}


@examples(100)
@given(histories())
def test_a_rope_keeps_its_value_when_the_caller_changes_his(history: list[Any]) -> None:
    value = history[0]
    before = canonical.encode(value)
    rope = pieces.save(pieces.Rope(), value).settle()
    if isinstance(value, list):
        value.append("more")
    elif isinstance(value, dict):
        value["more"] = "more"
    assert canonical.encode(rope.value()) == before
    saving = pieces.save(rope, value)
    assert canonical.encode(saving.settle().value()) == canonical.encode(value)


def message(number: int) -> dict[str, Any]:
    return {"id": number, "content": f"{number:04} " * 120, "tokens": number % 3}


@st.composite
def conversations(draw: st.DrawFn) -> list[Any]:
    """States with a list of large elements that loses some at its beginning and gains some at its end, or in
    which one changes."""
    first, length = 0, draw(st.integers(16, 40))
    history: list[Any] = []
    for _ in range(draw(st.integers(2, 6))):
        turns = [message(number) for number in range(first, first + length)]
        if draw(st.booleans()):
            place = draw(st.integers(0, length - 1))
            turns[place] |= {"tokens": draw(st.sampled_from([0, 1, True, 1.0, 0.0, "seen"]))}
        tail = draw(st.sampled_from(["", "short", {"x": 1}]))
        history.append({"turns": turns + [tail] * (tail != ""), "step": draw(st.integers(0, 3))})
        first += draw(st.integers(0, 20))
        length = max(16, length + draw(st.integers(-4, 4)))
    return history


@examples(150)
@given(conversations())
def test_every_save_of_a_conversation_comes_back_exactly(history: list[Any]) -> None:
    assert [exact(value) for value in read_back(history)] == [exact(value) for value in history]


def test_a_turn_of_a_conversation_stores_its_new_message_alone() -> None:
    turns = [message(number) for number in range(60)]
    rope = pieces.save(pieces.Rope(), {"turns": turns, "step": 1}).settle()
    saving = pieces.save(rope, {"turns": [*turns[1:], message(60)], "step": 1})
    assert [pieces.decode(body) for body in saving.fresh.values()] == [message(60)]
    assert [(gone, len(come)) for _, gone, come in saving.splices] == [(1, 0), (0, 1)]
