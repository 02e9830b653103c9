"""Whoever remembers something is told the same, by the library, a command, a tool and a request."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.rest import done, serving
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.surfaces.mcp.calls import Calls

Remember = Callable[[str], Any]
TEXTS = (
    "tests need docker to be running",
    "the cache timeout is 30 seconds",
    "docker has to be up for the tests",
    "cached entries expire after 60 seconds",
    "the cache timeout is 30 seconds",
    "invoices are mailed by a worker",
)
EXPECTED = [
    ("m0", False, [], []),
    ("m1", False, [], []),
    ("m2", False, [("m0", "they seem to mean the same")], []),
    ("m3", False, [], [("m1", "they say the same with different numbers")]),
    ("m1", True, [], []),
    ("m5", False, [], []),
]


def told(remember: Remember) -> Any:
    """What is said of each text, with ids by the place of the text that they were given for."""
    ids: dict[str, str] = {}
    answers = []
    for place, text in enumerate(TEXTS):
        answer = remember(text)
        ids.setdefault(answer["id"], f"m{place}")
        answers.append(answer)
    whole = json.dumps(answers)
    for id, name in ids.items():
        whole = whole.replace(id, name)
    return json.loads(whole)


@pytest.fixture
def answers(
    cli: Cli, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, list[dict[str, Any]]]:
    """By surface, each on a store of its own."""
    monkeypatch.setenv("SEGUE_EMBEDDER", "static")
    found = {"command": told(lambda text: cli("remember", text, "--json").value)}
    monkeypatch.setenv("SEGUE_HOME", str(tmp_path / "tool"))
    found["tool"] = told(lambda text: Calls().call("remember", {"text": text}).value)
    with Segue(home=tmp_path / "library", folder=project) as segue:
        found["library"] = told(lambda text: msgspec.to_builtins(segue.remember(text)))
    with Segue(home=tmp_path / "memories", folder=project) as segue:
        found["memories"] = told(lambda text: msgspec.to_builtins(segue.memories.remember(text)))
    with serving("", tmp_path / "server") as server:
        found["request"] = told(lambda text: done(server.ask("POST", "/v1/memories", {"content": text}), 201))
    return found


def test_every_surface_says_the_same_of_what_is_remembered(answers: dict[str, list[dict[str, Any]]]) -> None:
    for surface, answer in answers.items():
        assert answer == answers["command"], surface
    assert [
        (
            one["id"],
            one["known"],
            [(pair["other"], pair["why"]) for pair in one["duplicates"]],
            [(pair["other"], pair["why"]) for pair in one["contradictions"]],
        )
        for one in answers["command"]
    ] == EXPECTED


def test_a_reflection_is_compared_on_the_server_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEGUE_EMBEDDER", "static")
    with serving("", tmp_path) as server:
        first = done(server.ask("POST", "/v1/memories/reflection", {"content": TEXTS[1]}), 201)
        second = done(server.ask("POST", "/v1/memories/reflection", {"content": TEXTS[3]}), 201)
        assert [pair["other"] for pair in second["contradictions"]] == [first["id"]]


def test_what_is_kept_for_an_agent_alone_is_compared_with_its_own(tmp_path: Path) -> None:
    with Segue(home=tmp_path / "home", folder=tmp_path) as segue:
        own = {"scope": "agent-private", "agent": "coder"}
        segue.remember(TEXTS[1])
        first = segue.remember(TEXTS[1], **own)
        assert [pair.other for pair in segue.remember(TEXTS[3], **own).contradictions] == [first.id]


def test_what_cannot_be_compared_is_kept_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Any:
        raise OSError("no")

    with Segue(home=tmp_path / "home", folder=tmp_path) as segue:
        monkeypatch.setattr(segue.memories.store, "near", broken)
        kept = segue.remember("the pool has ten connections")
        assert not kept.known and kept.duplicates == kept.contradictions == []
        assert segue.memories.get(kept.id).content == "the pool has ten connections"
