"""Every public function of the library, given values of wrong kinds, raises an error of ours or none.

Which functions there are is read from the public modules, so that a new one is tried too. An UnexpectedError
counts as a fault: somebody has to say what is wrong with such a value.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, strategies as st
from tests.support.examples import examples

import segue
from segue import RecoverableAgent, Segue, SegueError, UnexpectedError, aegis, handover


class Deep(list[Any]):
    """A list in lists, which even a report on a failure could not print."""

    def __repr__(self) -> str:
        return "DEEP"


DEEP = Deep()
for _ in range(3_000):
    DEEP = Deep([DEEP])
WRONG: list[Any] = [
    None, 3, -1, 10**30, 2**63 - 1, 1.5, math.nan, math.inf, 1e300, True, "", "x", "\0", "\ud800",
    "a" * 300_000, "../x", "99999-01-01T00:00:00Z", "1e999", b"x", b"\xff", [], [None], [3], ["a"], [b"a"],
    [["a", "b"]], {},
    {"a": 1}, {1: 2}, [{"reason": "x"}], [{"type": "add"}], (), ("a", None), {"a"}, object(), object, len,
    Path("/nonexistent/x"), range(3), 3 + 4j, ..., DEEP, {"a": DEEP},
]  # fmt: skip
"""Which of these are wrong depends on the function; each is for most."""
RIGHT: dict[str, Any] = {
    "goal": "g", "id": "one", "items": ["a"], "ids": ["f1"], "item": "a", "session_id": "one",
    "session": "one", "feature_id": "f1", "layer": 1, "budget": "minimal", "data": b"{}", "format": "json",
}  # fmt: skip
ENDS = {"close", "of"}
"""Methods that end an object, or make one of an open workspace."""


class World(NamedTuple):
    """An object of each public class, by the name under which users find it."""

    objects: dict[str, Any]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch, Segue(home=folder / "home", folder=folder) as seg:
        patch.chdir(folder)
        session = seg.start("goal", id="one", items=["a"])
        client = aegis.AegisClient(store=seg)
        steps = [handover.Step("a", lambda: None)]
        yield World({
            "Segue": seg, "Session": session,
            "RecoverableAgent": RecoverableAgent(session, lambda item: None),
            "features": session.features, "memories": seg.memories, "handoffs": seg.handoffs,
            "cleanup": seg.cleanup(), "AegisClient": client, "progress": client.progress,
            "aegis features": client.features, "MemoryStore": handover.MemoryStore(folder / "memory"),
            "Checkpoint": handover.Checkpoint(folder / "checkpoint.json"),
            "HandoverEngine": handover.HandoverEngine(steps, handover.Checkpoint(folder / "engine.json")),
            "Task": handover.Task("a", lambda work: None),
            "NullBackend": handover.NullBackend(), "GitBackend": handover.GitBackend(folder),
        })  # fmt: skip


def kinds() -> dict[str, type]:
    from segue.api.features import SessionFeatures
    from segue.api.memories import Memories
    from segue.services.handoff.offers import Handoffs
    from segue.services.upkeep.archive_sessions import Cleanup

    more = {
        "features": SessionFeatures, "memories": Memories, "handoffs": Handoffs, "cleanup": Cleanup,
        "progress": aegis.ProgressApi, "aegis features": aegis.FeaturesApi, "AegisClient": aegis.AegisClient,
    }  # fmt: skip
    public = {name: getattr(segue, name) for name in segue.__all__}
    public |= {name: getattr(handover, name) for name in handover.__all__}
    doing = {name: one for name, one in public.items() if isinstance(one, type) and "__init__" in vars(one)}
    return {name: one for name, one in doing.items() if not issubclass(one, SegueError)} | more


def methods(kind: type) -> list[str]:
    names = [name for name in dir(kind) if not name.startswith("_") and name not in ENDS]
    return [name for name in names if inspect.isfunction(inspect.getattr_static(kind, name))]


KINDS = kinds()
FUNCTIONS = [(name, method) for name, kind in KINDS.items() for method in methods(kind)]
DATA = {"Step", "Work", "Gate"}
"""Public classes that only hold values."""


@st.composite
def calls(draw: st.DrawFn, function: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments for a function: those that it needs and some of the others, right and wrong ones."""
    args: list[Any] = []
    named: dict[str, Any] = {}
    for one in inspect.signature(function).parameters.values():
        right = RIGHT.get(one.name, "one")
        value = draw(st.sampled_from([*WRONG, *[right] * (len(WRONG) // 2)]))
        if one.kind is one.VAR_POSITIONAL:
            args += draw(st.lists(st.sampled_from(WRONG), max_size=2))
        elif one.kind is one.VAR_KEYWORD:
            words = st.sampled_from(["nonsense", "types", "agent", "metadata", "top_k", "notes", "count"])
            named |= draw(st.dictionaries(words, st.sampled_from(WRONG), max_size=1))
        elif one.default is one.empty and one.kind is not one.KEYWORD_ONLY:
            args.append(value)
        elif one.default is one.empty or draw(st.booleans()):
            named[one.name] = value
    return args, named


def tried(function: Callable[..., Any], args: list[Any], named: dict[str, Any]) -> None:
    try:
        function(*args, **named)
    except UnexpectedError as fault:
        raise AssertionError(f"nobody says what is wrong: {fault}") from fault
    except SegueError:
        pass
    except Exception as fault:
        if not type(fault).__module__.startswith("segue."):
            raise


def test_every_public_class_that_does_something_is_tried(world: World) -> None:
    assert set(KINDS) - DATA <= set(world.objects), "make one of the new class"
    assert len(FUNCTIONS) > 120


@pytest.mark.filterwarnings("ignore")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("name", "method"), FUNCTIONS, ids=lambda value: value)
def test_wrong_kinds_of_values_give_errors_of_ours(world: World, name: str, method: str) -> None:
    function = getattr(world.objects[name], method)

    @examples(12, deadline=None, suppress_health_check=list(HealthCheck))
    @given(calls(function))
    def check(call: tuple[list[Any], dict[str, Any]]) -> None:
        tried(function, *call)

    check()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(KINDS) - DATA - {"features", "memories", "handoffs", "cleanup"}))
def test_nothing_can_be_made_of_values_of_wrong_kinds_without_an_error_of_ours(
    world: World, name: str
) -> None:
    @examples(40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(calls(KINDS[name]))
    def check(call: tuple[list[Any], dict[str, Any]]) -> None:
        tried(KINDS[name], *call)

    check()
