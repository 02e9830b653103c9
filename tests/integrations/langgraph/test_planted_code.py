"""A value that somebody else wrote to the store runs no code where it is read, whatever it names."""

from __future__ import annotations

import dataclasses
import enum
import logging
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import ormsgpack
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel
from tests.integrations.langgraph.graphs import of
from tests.integrations.places import Place

from segue.integrations.langgraph import SegueSaver

SINGLE, ARGUMENTS, NAMED, METHOD, PYDANTIC_1, PYDANTIC_2 = range(6)


class Planted:
    """LangGraph's serializer, which writes bytes that it was given for a value as they are."""

    def __init__(self) -> None:
        self._serializer = JsonPlusSerializer()

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        if isinstance(obj, tuple) and len(obj) == 2 and obj[0] in ("msgpack", "json", "pickle"):
            return str(obj[0]), bytes(obj[1])
        kind, data = self._serializer.dumps_typed(obj)
        return kind, data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return self._serializer.loads_typed(data)


def extension(code: int, *values: Any) -> tuple[str, bytes]:
    return "msgpack", ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(values)))


def planted(marker: Path) -> dict[str, tuple[str, bytes]]:
    """Values of which each leaves a file behind where it is built."""
    line, call = f"touch {marker}", f"open({str(marker)!r}, 'w')"
    constructor = (
        '{"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["' + line + '"], "kwargs": {}}'
    )
    return {
        "os.system": extension(SINGLE, "os", "system", line),
        "posix.system": extension(SINGLE, "posix", "system", line),
        "builtins.exec": extension(SINGLE, "builtins", "exec", f"{call}.close()"),
        "builtins.eval": extension(ARGUMENTS, "builtins", "eval", [call]),
        "builtins.open": extension(ARGUMENTS, "builtins", "open", [str(marker), "w"]),
        "subprocess.Popen": extension(NAMED, "subprocess", "Popen", {"args": ["touch", str(marker)]}),
        "pathlib.Path.touch": extension(METHOD, "pathlib", "Path", str(marker), "touch"),
        "runpy": extension(NAMED, "runpy", "run_path", {"path_name": str(marker.with_suffix(".py"))}),
        "as pydantic 1": extension(PYDANTIC_1, "subprocess", "Popen", {"args": ["touch", str(marker)]}),
        "as pydantic 2": extension(
            PYDANTIC_2, "subprocess", "Popen", {"args": ["touch", str(marker)]}, "model_validate_json"
        ),
        "an alias of a class": extension(SINGLE, "subprocess", "os.system", line),
        "json": ("json", constructor.encode()),
        "in a list of values": (
            "msgpack",
            ormsgpack.packb([1, ormsgpack.Ext(SINGLE, ormsgpack.packb(("os", "system", line)))]),
        ),
        "in another value": (
            "msgpack",
            ormsgpack.packb(
                ormsgpack.Ext(
                    SINGLE,
                    ormsgpack.packb(
                        ("builtins", "set", [ormsgpack.Ext(SINGLE, ormsgpack.packb(("os", "system", line)))])
                    ),
                )
            ),
        ),
    }


KINDS = list(planted(Path("x")))


@pytest.mark.parametrize("kind", KINDS)
def test_no_planted_value_runs_where_it_is_read(place: Place, tmp_path: Path, kind: str) -> None:
    marker = tmp_path / "ran"
    marker.with_suffix(".py").write_text(f"open({str(marker)!r}, 'w')")
    attacker = SegueSaver(place.segue(), serde=Planted())
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"task": planted(marker)[kind]}
    config = {"configurable": {"thread_id": "ship", "checkpoint_ns": ""}}
    attacker.put(config, checkpoint, {}, {"task": 1})
    attacker.put_writes(
        {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}},
        [("task", planted(marker)[kind])],
        "t1",
    )
    victim = SegueSaver(place.segue())
    assert victim.get_tuple(of("ship")) is not None
    assert list(victim.list(of("ship")))
    assert not marker.exists()


@pytest.mark.parametrize("kind", ["os.system", "posix.system", "builtins.exec", "in a list of values"])
def test_the_same_value_runs_in_a_serializer_that_builds_everything(tmp_path: Path, kind: str) -> None:
    marker = tmp_path / "ran"
    JsonPlusSerializer(allowed_msgpack_modules=True).loads_typed(planted(marker)[kind])
    assert marker.exists()


def test_a_pickle_is_refused(place: Place) -> None:
    attacker = SegueSaver(place.segue(), serde=Planted())
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"task": ("pickle", pickle.dumps(1))}
    attacker.put({"configurable": {"thread_id": "p", "checkpoint_ns": ""}}, checkpoint, {}, {"task": 1})
    with pytest.raises(NotImplementedError, match="pickle"):
        SegueSaver(place.segue()).get_tuple(of("p"))


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Invoice:
    number: int
    colour: Colour = Colour.RED


class Point(NamedTuple):
    x: int
    y: int


class Order(BaseModel):
    name: str
    invoice: Invoice


OWN = [Colour.RED, Invoice(3), Point(1, 2), Order(name="a", invoice=Invoice(4)), {"deep": [Invoice(5)]}]


@pytest.mark.parametrize("value", OWN, ids=lambda value: type(value).__name__)
def test_data_of_the_program_itself_comes_back_as_it_was(
    place: Place, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"task": value}
    SegueSaver(place.segue()).put(
        {"configurable": {"thread_id": "own", "checkpoint_ns": ""}}, checkpoint, {}, {"task": 1}
    )
    with caplog.at_level(logging.WARNING):
        found = SegueSaver(place.segue()).get_tuple(of("own"))
    assert found is not None and found.checkpoint["channel_values"]["task"] == value
    assert "Blocked" not in caplog.text


def test_data_that_this_program_does_not_know_comes_back_plain_with_a_warning(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    module = f"their.program{id(place)}"  # LangGraph warns once of a type
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {
        "task": extension(NAMED, module, "Invoice", {"number": 3}),
        "json": extension(SINGLE, "string", "Template", "a"),
    }
    config = {"configurable": {"thread_id": "theirs", "checkpoint_ns": ""}}
    SegueSaver(place.segue(), serde=Planted()).put(config, checkpoint, {}, {"task": 1, "json": 1})
    with caplog.at_level(logging.WARNING):
        found = SegueSaver(place.segue()).get_tuple(of("theirs"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"task": {"number": 3}, "json": "a"}
    assert f"Blocked deserialization of {module}.Invoice" in caplog.text
    assert "their" not in sys.modules


def test_a_serializer_that_is_handed_in_is_used_as_it_is(place: Place) -> None:
    mine = JsonPlusSerializer(pickle_fallback=True)
    assert SegueSaver(place.segue(), serde=mine).serde is mine
    assert InMemorySaver(serde=mine).serde is mine


def test_types_that_a_graph_allows_are_built(place: Place) -> None:
    saver = SegueSaver(place.segue()).with_allowlist([("fractions", "Fraction")])
    built = saver.serde.loads_typed(extension(SINGLE, "fractions", "Fraction", "1/3"))
    assert type(built).__name__ == "Fraction"
    assert (
        SegueSaver(place.segue()).serde.loads_typed(extension(SINGLE, "fractions", "Fraction", "1/3"))
        == "1/3"
    )


def test_reading_imports_nothing(tmp_path: Path) -> None:
    program = (
        "from segue.integrations.langgraph.serializer import ValuesSerializer\n"
        "import sys, ormsgpack\n"
        "value = ormsgpack.packb(ormsgpack.Ext(0, ormsgpack.packb(('antigravity', 'fly', 1))))\n"
        "assert ValuesSerializer().loads_typed(('msgpack', value)) == 1\n"
        "assert 'antigravity' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
