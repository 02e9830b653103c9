"""A program of the recipe's shape runs on Segue: it starts, dies, goes on, is refused and completes.

All of it on the store of this machine, and on a server."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.aegis_recipe import CodingSession, RecoverableCodingAgent
from tests.support.server import SegueServer

from segue.aegis import AegisClient
from segue.errors import UnverifiedFeatures, UsageError

_numbers = itertools.count()
Open = Callable[..., AegisClient]
TASKS = ["analyse codebase", "user model", "auth middleware", "token validation"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegueServer]:
    with SegueServer(tmp_path_factory.mktemp("server"), options=["--rate", "0"]) as one:
        yield one


@pytest.fixture(params=["embedded", "server"])
def given(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """What a client is given: a folder of its own, and maybe a server with a project of its own."""
    (tmp_path / "shop").mkdir()
    own = {"home": str(tmp_path / "home"), "folder": str(tmp_path / "shop")}
    if request.param == "embedded":
        return own
    server: SegueServer = request.getfixturevalue("server")
    key = server.key(role="writer", project=f"p{next(_numbers)}")
    return own | {"base_url": server.url, "api_key": key}


@pytest.fixture
def opened(given: dict[str, Any]) -> Open:
    return lambda: AegisClient(agent_id="coder", **given)


@pytest.fixture
def aegis(opened: Open) -> Iterator[AegisClient]:
    with opened() as client:
        yield client


def session_of(aegis: AegisClient) -> CodingSession:
    return CodingSession(aegis, "auth-refactor", "Refactor authentication to JWT", "coder")


def test_a_session_that_is_not_there_is_nothing(aegis: AegisClient) -> None:
    assert aegis.progress.get("nobody") is None
    assert aegis.features.get("nothing") is None


def test_the_recipe_goes_on_in_another_process_where_it_stopped(opened: Open) -> None:
    with opened() as aegis:
        session = session_of(aegis)
        session.initialize(TASKS, [{"id": "jwt", "description": "Log in", "test_steps": ["accepted"]}])
        session.checkpoint(TASKS[0], TASKS[1], "read it all", ["HS256: one issuer only"])
        session.mark_blocked(TASKS[1], "waiting for the schema")
    with opened() as aegis:
        state = session_of(aegis).resume()
        assert state is not None
        assert (state["status"], state["completed"], state["in_progress"]) == (
            "resuming",
            TASKS[:1],
            TASKS[2],
        )
        assert state["next"] == TASKS[3:] and state["last_action"]
        assert state["blocked"] == [{"item": TASKS[1], "reason": "waiting for the schema"}]
        assert state["features"] == {"total": 1, "passing": 0, "incomplete": ["jwt"]}
        assert "HS256: one issuer only" in state["relevant_memories"]


def test_a_failing_feature_counts_and_keeps_the_session_open(aegis: AegisClient) -> None:
    session = session_of(aegis)
    session.initialize(TASKS[:1], [{"id": "jwt", "description": "Log in", "test_steps": ["accepted"]}])
    session.checkpoint(TASKS[0], None, "done")
    session.update_feature("jwt", False, "expired token accepted")
    assert aegis.features.list("auth-refactor").failing == 1
    with pytest.raises(RuntimeError):
        session.complete("all good")
    with pytest.raises(UnverifiedFeatures):
        aegis.progress.update("auth-refactor", status="completed")
    session.update_feature("jwt", True)
    jwt = aegis.features.get("jwt")
    assert jwt is not None and jwt["passes"] and jwt.verified_by == "coder"
    session.complete("all good")
    assert session.resume() == {"status": "completed", "summary": "all good"}


def test_a_claim_without_a_name_does_not_pass(aegis: AegisClient) -> None:
    session_of(aegis).initialize(TASKS, [{"id": "jwt", "description": "Log in", "test_steps": ["accepted"]}])
    assert not aegis.features.update("jwt", status="complete", passes=True).passes


def test_an_agent_that_fails_raises_keeps_why_and_goes_on_next_time(aegis: AegisClient) -> None:
    asked: list[tuple[str, list[str]]] = []

    def execute(task: str, known: list[str]) -> str:
        asked.append((task, known))
        if task == TASKS[2] and len(asked) == 3:
            raise ValueError("no SECRET_KEY in the environment")
        return "worked"

    agent = RecoverableCodingAgent(session_of(aegis), execute)
    with pytest.raises(ValueError, match="SECRET_KEY"):
        agent.run(TASKS)
    state = session_of(aegis).resume()
    assert state is not None and state["completed"] == TASKS[:2] and state["in_progress"] == TASKS[2]
    assert agent.run(TASKS)["status"] == "completed"
    assert [task for task, _ in asked] == [*TASKS[:3], *TASKS[2:]]
    assert any("SECRET_KEY" in text for text in asked[3][1]), "the failure is known to the next try"
    assert len(asked[-1][1]) <= 5
    assert any("fails" in one.content for one in aegis.playbook(TASKS[2], "coder"))


def test_more_memories_than_the_other_server_gives_are_pruned_to_the_recent(aegis: AegisClient) -> None:
    session = session_of(aegis)
    session.initialize(TASKS, [])
    for number in range(70):
        session._remember(f"finding number {number}", "standard")
    assert session.prune() == 21
    left = aegis.query("*", "coder", 1000, {"session_id": "auth-refactor"})
    assert len(left) == 50 and left[0].content == "finding number 69"


def test_a_summary_by_nobody_leaves_a_query_without_an_agent_as_it_was(aegis: AegisClient) -> None:
    session = session_of(aegis)
    session.initialize(TASKS, [])
    session._remember("a finding", "standard")
    about = {"session_id": "auth-refactor"}
    before = len(aegis.query("*", top_k=1000, filter_metadata=about))
    aegis.add("a summary", agent_id="system", metadata=about)
    assert before and len(aegis.query("*", top_k=1000, filter_metadata=about)) >= before


def test_next_and_blocked_replace_and_completed_adds_in_order(aegis: AegisClient) -> None:
    update = aegis.progress.update
    update("s", summary="g", completed=["b"], in_progress="c", next_items=["d", "e"])
    update(
        "s", completed=["a"], next_items=["c", "f"], in_progress="d", blocked=[{"item": "x", "reason": "y"}]
    )
    now = update("s", blocked=[])
    assert now.completed_items == ["b", "a"]
    assert (now.in_progress_item, now.next_items, now.blocked_items) == ("d", ["c", "f"], [])
    assert now["completed_items"] == now.completed_items


def test_an_unknown_status_is_refused_and_changes_nothing(aegis: AegisClient) -> None:
    aegis.progress.update("s", summary="g", status="in_progress")
    with pytest.raises(UsageError):
        aegis.progress.update("s", status="bananas", completed=["a"])
    now = aegis.progress.get("s")
    assert now is not None and (now.status, now.completed_items) == ("in_progress", [])


def test_four_clients_of_twenty_five_completions_each_keep_a_hundred(
    opened: Open, given: dict[str, str]
) -> None:
    with opened() as aegis:
        aegis.progress.update("many", summary="count", next_items=[])
        code = (
            "import json, sys; from segue.aegis import AegisClient; n, given = sys.argv[1:];"
            "a = AegisClient(agent_id='w' + n, **json.loads(given));"
            "[a.progress.mark_complete('many', f'{n}-{i}') for i in range(25)]"
        )
        words = [sys.executable, "-c", code]
        workers = [subprocess.Popen([*words, str(n), json.dumps(given)]) for n in range(4)]
        assert [worker.wait(120) for worker in workers] == [0] * 4
    with opened() as aegis:
        now = aegis.progress.get("many")
        assert now is not None and now.completed_count == 100
        for n in range(4):
            mine = [item for item in now.completed_items if item.startswith(f"{n}-")]
            assert mine == [f"{n}-{i}" for i in range(25)]
