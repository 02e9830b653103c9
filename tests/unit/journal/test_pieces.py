"""What is loaded is what was saved, and a small change costs few pieces."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from segue.core.journal import pieces
from segue.errors import UsageError


def apply(addresses: tuple[str, ...], splices: pieces.Splices) -> tuple[str, ...]:
    for place, gone, come in splices:
        addresses = (*addresses[:place], *come, *addresses[place + gone :])
    return addresses


class Shelf:
    """A store of one value: what is named by splices and kept by address."""

    def __init__(self) -> None:
        self.rope = pieces.Rope()
        self.addresses: tuple[str, ...] = ()
        self.bodies: dict[str, bytes] = {}

    def save(self, value: Any) -> pieces.Saving:
        saving = pieces.save(self.rope, value)
        self.bodies.update(saving.fresh)
        self.addresses = apply(self.addresses, saving.splices)
        self.rope = saving.settle()
        return saving

    def load(self) -> Any:
        return pieces.decode(b"".join(self.bodies[a] for a in self.addresses))


VALUES: list[Any] = [
    None, True, 0, 1.5, "", "text", [], {}, [1, "a", None], {"a": {"b": [1, 2, {"c": 3}]}},
    "long " * 10_000, list(range(500)), {str(i): i for i in range(500)}, [["x" * 1000] * 20] * 20,
    {"rows": [{"id": i, "t": "t" * 50} for i in range(300)], "tail": "end"}, [[[[[[[[1]]]]]]]],
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda v: repr(v)[:30])
def test_a_value_comes_back_equal_and_of_the_same_types(value: Any) -> None:
    shelf = Shelf()
    saving = shelf.save(value)
    assert shelf.load() == value == saving.rope.value()
    assert pieces.encode(shelf.load()) == pieces.encode(value)
    assert saving.size == len(pieces.encode(value)) == sum(len(shelf.bodies[a]) for a in shelf.addresses)


@pytest.mark.parametrize("seed", range(10))
def test_random_edits_are_saved_exactly_and_the_saved_value_is_not_the_callers(seed: int) -> None:
    rng = random.Random(seed)
    value: dict[str, Any] = {"rows": [{"id": i, "text": "x" * rng.randrange(60)} for i in range(200)], "n": 0}
    shelf = Shelf()
    shelf.save(value)
    for step in range(40):
        before = copy.deepcopy(value)
        rows = value["rows"]
        match rng.randrange(6):
            case 0:
                rows.insert(rng.randrange(len(rows) + 1), {"id": step, "text": "new"})
            case 1 if rows:
                del rows[rng.randrange(len(rows))]
            case 2 if rows:
                rows[rng.randrange(len(rows))]["text"] = f"changed {step}"
            case 3:
                value["n"] = rng.choice([0, False, 1, True, 1.0, 0.0])
            case 4:
                del rows[: rng.randrange(5)]
            case _:
                value[f"key{step}"] = [step] * rng.randrange(40)
        assert shelf.load() == before
        shelf.save(value)
        assert pieces.encode(shelf.load()) == pieces.encode(value), f"seed {seed}, step {step}"
        assert shelf.addresses == shelf.rope.addresses


def test_a_small_change_of_a_large_value_names_few_pieces() -> None:
    value = {"rows": [{"id": i, "text": f"{i} " * 30} for i in range(5000)]}
    shelf = Shelf()
    whole = shelf.save(value)
    value["rows"][2500]["text"] = "changed"
    del value["rows"][0]
    change = shelf.save(value)
    assert sum(map(len, change.fresh.values())) < whole.size / 100
    assert shelf.load() == value


TWINS = [(1, True), (0, False), (1, 1.0), (True, 1), (0.0, 0), (0.0, -0.0), (False, 0.0), (1.0, True)]
PLACES: list[Callable[[Any], Any]] = [
    lambda v: [v] * 40, lambda v: [{"v": v}] * 40, lambda v: [{"a": [v, "x"]}] * 40,
    lambda v: [{v: "x"}] * 40, lambda v: [{"a": {v: ["x"]}, "b": "y"}] * 40,
    lambda v: {f"key {n}": v for n in range(40)}, lambda v: {"v": v},
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), TWINS)
@pytest.mark.parametrize("place", PLACES)
def test_values_that_python_holds_equal_are_still_a_change(
    place: Callable[[Any], Any], old: Any, new: Any
) -> None:
    shelf = Shelf()
    shelf.save(place(old))
    assert shelf.save(place(old)).splices == ()
    assert shelf.save(place(new)).splices != ()
    assert repr(shelf.load()) == repr(place(new))


def test_a_save_that_failed_leaves_the_rope_as_it_was() -> None:
    shelf = Shelf()
    shelf.save({"rows": [{"id": n, "text": "x" * 600} for n in range(40)]})
    before = (shelf.rope.addresses, shelf.rope.value())
    changed: dict[str, Any] = shelf.load()
    changed["rows"][3]["text"] = "changed"
    del changed["rows"][0]
    lost = pieces.save(shelf.rope, changed)
    assert lost.splices and (shelf.rope.addresses, shelf.rope.value()) == before
    changed["rows"].append({"id": 40, "text": "more"})
    shelf.save(changed)
    assert shelf.load() == changed == shelf.rope.value()


def test_saving_the_same_again_changes_nothing() -> None:
    shelf = Shelf()
    shelf.save(VALUES)
    assert shelf.save(copy.deepcopy(VALUES)).splices == ()


def test_a_loaded_rope_goes_on_whatever_its_cuts_are() -> None:
    shelf = Shelf()
    value = {"rows": list(range(1000))}
    shelf.save(value)
    del value["rows"][3:700]
    shelf.save(value)
    rope, aligned = pieces.load([shelf.bodies[a] for a in shelf.addresses], shelf.addresses)
    assert rope.value() == value and aligned == (rope.addresses == shelf.addresses)
    splices, fresh = pieces.resplice(shelf.addresses, rope)
    assert apply(shelf.addresses, splices) == rope.addresses
    assert all(a in fresh or a in shelf.bodies for a in rope.addresses)


@pytest.mark.parametrize("value", [object(), {"x": object()}, [2**70], {"a": {1, 2}, "b": lambda: 0}])
def test_what_cannot_be_stored_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="cannot be saved"):
        pieces.save(pieces.Rope(), value)
